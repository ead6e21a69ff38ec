// Results of an earlier run beside what is asked now.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "finished.h"

#include <stdio.h>
#include <string.h>

#include "store.h"

#define WAYS_OUT "overwrite it with --force, or choose another directory with -o"

// The tag on whose line the byte at `at` stands: canonical texts have one a line.
static const char *tag_at(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n')
        at--;
    return at + strspn(at, " ");
}

// `nodes="8"`: the attribute, or what stands instead of one, that holds the byte at `at`. Values
// hold blanks: an attribute begins behind the blank that follows a quote or the tag's name.
static const char *word_before(const char *tag, const char *at)
{
    const char *word = tag;
    int quoted = 0;
    for (const char *c = tag; c < at; c++) {
        quoted ^= *c == '"';
        if (*c == ' ' && !quoted)
            word = c + 1;
    }
    return word;
}

static int word_length(const char *word)
{
    enum { MOST = 80 };
    int n = 0, quoted = 0;
    for (; word[n] != '\0' && word[n] != '\n' && n < MOST; n++) {
        if (!quoted && n > 0 && strchr(" />", word[n]))
            break;
        quoted ^= word[n] == '"';
    }
    return n;
}

// `job "a"`: the tag's name, and its id or name where it begins with one; `end of jobs`.
static void name_tag(const char *tag, char *text, size_t size)
{
    const int is_end = tag[1] == '/';
    const char *name = tag + 1 + is_end;
    const int length = (int)strcspn(name, " />\n");
    const char *after = name + length;
    const int prefix = strncmp(after, " id=", 4) == 0     ? 4
                       : strncmp(after, " name=", 6) == 0 ? 6
                                                          : 0;
    snprintf(text, size, "%s%.*s%s%.*s", is_end ? "end of " : "", length, name, prefix ? " " : "",
             prefix ? word_length(after + prefix) : 0, after + prefix);
}

void sand_finished_difference(const char *mine, const char *theirs, char *text, size_t size)
{
    size_t same = 0;
    char names[2][128];
    while (mine[same] != '\0' && mine[same] == theirs[same])
        same++;
    text[0] = '\0';
    if (mine[same] == theirs[same])
        return;
    const char *tag = tag_at(mine, mine + same), *other = tag_at(theirs, theirs + same);
    const char *here = word_before(tag, mine + same), *there = word_before(other, theirs + same);
    name_tag(tag, names[0], sizeof names[0]);
    name_tag(other, names[1], sizeof names[1]);
    if (here == tag || there == other)
        snprintf(text, size, "%s here, %s there", names[0], names[1]);
    else
        snprintf(text, size, "%s: %.*s here, %.*s there", names[0], word_length(here), here,
                 word_length(there), there);
}

static enum sand_rc compare(const char *path, const struct sand_meta *meta,
                            const struct sand_experiment *experiment, const char *physics,
                            struct sand_diag *diag)
{
    char difference[384];
    if (strcmp(meta->digest, experiment->digest) != 0) {
        sand_finished_difference(experiment->canonical, meta->canonical, difference,
                                 sizeof difference);
        return sand_fail(diag, SAND_ERR_USAGE,
                         "%s: exists and is of another experiment (%s); " WAYS_OUT, path,
                         difference);
    }
    if (strcmp(meta->physics_version, physics) != 0)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "%s: exists and is of physics version %s, not %s: the same experiment "
                         "may give other results now; " WAYS_OUT,
                         path, meta->physics_version, physics);
    return SAND_OK;
}

enum sand_rc sand_finished_check(const char *path, const struct sand_experiment *experiment,
                                 const char *physics, struct sand_diag *diag)
{
    struct sand_results *results = NULL;
    const enum sand_rc opened = sand_results_open(path, &results, diag);
    if (opened == SAND_ERR_NOMEM)
        return opened;
    if (opened != SAND_OK)
        return sand_fail(diag, SAND_ERR_USAGE, "%s: exists; " WAYS_OUT, path);
    const enum sand_rc rc = compare(path, sand_results_meta(results), experiment, physics, diag);
    sand_results_close(results);
    return rc;
}
