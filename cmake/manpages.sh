#!/bin/sh
# Writes a manual page for the program and one for each of its commands, from their --help.
# SPDX-License-Identifier: GPL-2.0-or-later
# Usage: manpages.sh PROGRAM DIRECTORY VERSION     (needs help2man; SOURCE_DATE_EPOCH dates the pages)
set -eu
export ARGP_HELP_FMT=rmargin=250 # lines are for man to break
program=$1
dir=$2
version=$3
mkdir -p "$dir"

# Every command, then its subcommands below it: its words joined by "-", "|", what it does. The lists
# are the lines below "Commands:" and "Subcommands:", up to an empty one: a name, then what it does.
listed()
{
    "$@" --help | sed -n '/^[A-Z][a-z]*ommands:/,/^$/s/^  \([a-z-]*\) \{1,\}\(.*\)/\1|\2/p'
}

commands()
{
    listed "$program" | while IFS='|' read -r name summary; do
        echo "$name|$summary|$name"
        listed "$program" "$name" | sed "s/^\([^|]*\)|\(.*\)/$name-\1|\2|$name \1/"
    done
}

see_also()
{
    printf '[see also]\n.BR sandtable (1)'
    commands | while IFS='|' read -r name rest; do
        printf ',\n.BR sandtable\\-%s (1)' "$(printf %s "$name" | sed 's/-/\\-/g')"
    done
    printf ',\n.BR sandtable\\-results (5)\n'
}

# Examples keep their lines, and a command's page is named like "git-log".
finish()
{
    awk -v name="$1" '
        /^\.TH / { sub(/^\.TH .* "1"/, ".TH " toupper(name) " \"1\"") }
        /^\.SH NAME/ { print; getline; sub(/^.* \\- /, name " \\- "); gsub(/^[a-z-]+/, name) }
        /^\.SH EXAMPLES/ { examples = 1 }
        examples && /^\.IP/ { print; print ".nf"; next }
        examples && /^\.(PP|SH EXIT|SH O|SS)/ { print ".fi"; examples = 0 }
        { print }'
}

page()
{
    help2man --no-info --section=1 --source="Sandtable $version" --manual="Sandtable" \
        --version-string="$version" --name="$2" --include="$dir/see-also" "$3" | finish "$1" >"$dir/$1.1"
}

see_also >"$dir/see-also"
page sandtable "simulates GPU training clusters" "'$program'"
commands | while IFS='|' read -r name summary words; do
    page "sandtable-$name" "$summary" "'$program' $words"
done
rm "$dir/see-also"
