# Bash completion: commands and options as the program itself lists them, so that it is never behind.
# SPDX-License-Identifier: GPL-2.0-or-later

# The commands of the program, or the subcommands of one.
_sandtable_commands()
{
    "$@" --help 2>/dev/null | sed -n '/^[A-Z][a-z]*ommands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'
}

_sandtable_options()
{
    "$@" --help 2>/dev/null | grep -o -E -- '(^|[ ,])--[a-z-]+=?' | tr -d ' ,' | sort -u
}

_sandtable()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=("$1") commands i
    COMPREPLY=()
    # The words before this one, as far as each is a command of those before it.
    for ((i = 1; i < COMP_CWORD; i++)); do
        commands=$(_sandtable_commands "${before[@]}")
        grep -q -x -F -e "${COMP_WORDS[i]}" <<<"$commands" || break
        before+=("${COMP_WORDS[i]}")
    done
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_sandtable_options "${before[@]}")" -- "$word") ;;
    *) [ "$i" -lt "$COMP_CWORD" ] ||
        mapfile -t COMPREPLY < <(compgen -W "$(_sandtable_commands "${before[@]}")" -- "$word") ;;
    esac
    # Values follow a name that ends in "="; file names are what is left.
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

complete -o default -F _sandtable sandtable
