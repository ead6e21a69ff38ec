# Bash completion: commands and options as the program itself lists them, so that it is never behind.
# SPDX-License-Identifier: GPL-2.0-or-later

_sandtable_commands()
{
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'
}

_sandtable_options()
{
    "$@" --help 2>/dev/null | grep -o -E -- '(^|[ ,])--[a-z-]+=?' | tr -d ' ,'
}

_sandtable()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        case $word in
        -*) mapfile -t COMPREPLY < <(compgen -W "$(_sandtable_options "$1")" -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(_sandtable_commands "$1")" -- "$word") ;;
        esac
    elif [ "${word#-}" != "$word" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_sandtable_options "$1" "$command")" -- "$word")
    fi
    # Values follow a name that ends in "="; file names are what is left.
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

complete -o default -F _sandtable sandtable
