// The groups with most GPU time, each with its label.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "grouplines.h"

#include <stdlib.h>
#include <string.h>

#include "textout.h"

enum { MOST_LINES = 8 };

struct ranked {
    struct sand_group_line line;
    size_t place; // as sorted by name
};

static int more_gpu_time(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->line.gpu_s != y->line.gpu_s)
        return x->line.gpu_s < y->line.gpu_s ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

static void print_label(FILE *out, const struct sand_group_line *line, int width)
{
    char label[160];
    const int all = strcmp(line->by, "all") == 0, size = strcmp(line->by, "size") == 0;
    snprintf(label, sizeof label, "%s%s%s%s%s%s", all ? "" : line->by, all ? "" : " ", line->name,
             size ? " held" : "", line->ending ? ", " : "", line->ending ? line->ending : "");
    fputs("  ", out);
    sand_text_pad(out, label, width);
}

void sand_group_lines_print(FILE *out, const struct sand_group_lines *lines, const char *by)
{
    struct ranked most[MOST_LINES + 1];
    size_t n = 0, total = 0;
    for (size_t i = 0; i < lines->n; i++) {
        const struct ranked next = {lines->line(lines->groups, i), i};
        if (strcmp(next.line.by, by) != 0)
            continue;
        total++;
        most[n++] = next;
        qsort(most, n, sizeof *most, more_gpu_time);
        n = n > MOST_LINES ? MOST_LINES : n;
    }
    for (size_t i = 0; i < n; i++) {
        print_label(out, &most[i].line, lines->width);
        lines->print(out, &most[i].line);
        fputc('\n', out);
    }
    if (total > n)
        fprintf(out, "  and %zu more by %s with less GPU time\n", total - n, by);
}
