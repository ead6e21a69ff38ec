// A comparison for people and for programs.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "comparison.h"
#include "comparisonfigures.h"
#include "filegate.h"
#include "json.h"
#include "summaryparts.h"
#include "textout.h"

enum { LABEL = 42, COLUMN = 12 };

static const char definitions[] =
    "first, second: means over the replications; difference: second - first in each replication, "
    "its mean with the 95 % interval of Student's t over the pairs; \"yes\" where the interval "
    "leaves zero out and the difference is more than rounding (1e-9 of the values). Shares are of "
    "GPUs x duration, their differences in percentage points; "
    "`show`'s utilisation is of GPUs x the time from first submit to last end; "
    "waits, "
    "completion and slowdown are of jobs that finished, as `show` defines them; recovery is the "
    "mean "
    "of unexpected interruptions that struck no other's recovery and were over by the end, in the "
    "parts that sum to it; a class of GPU time that neither run has is left out. The same seed "
    "gives "
    "both the same jobs, and every node the k-th fault at the same time in use.";

static void print_figure(FILE *out, enum sand_style style, const struct sand_compared *figure)
{
    const struct sand_summary *d = &figure->difference;
    fputs("  ", out);
    sand_text_pad(out, figure->name, LABEL - 2);
    sand_text_pad_left(out, sand_compared_text(figure->first.mean, figure->kind).s, COLUMN);
    sand_text_pad_left(out, sand_compared_text(figure->second.mean, figure->kind).s, COLUMN);
    sand_text_pad_left(out, sand_compared_text_of_part(d->mean, figure).s, COLUMN);
    if (d->n >= 2)
        sand_summary_spread(out, style, d->ci95, sand_compared_text_of_part(d->ci95, figure).s,
                            COLUMN + 2);
    else
        fprintf(out, "%*s", COLUMN + 2, "");
    fprintf(out, "  %s\n", sand_compared_is_clear(figure) ? "yes" : "");
}

// What neither run ever has is left out for people: most runs have no spares, no degradations.
static int is_nothing(const struct sand_compared *figure)
{
    return figure->difference.n == 0 || (figure->first.mean == 0 && figure->second.mean == 0);
}

static void print_side(FILE *out, const char *name, const struct sand_meta *meta)
{
    fprintf(out, "  %-8s%s, digest %.12s\n", name, meta->name, meta->digest);
}

static void print_counts(const struct sand_comparison *comparison, FILE *out)
{
    const size_t least = comparison->jobs_least, most = comparison->jobs_most;
    fprintf(out, "%zu paired replication%s of ", comparison->n_pairs,
            comparison->n_pairs == 1 ? "" : "s");
    if (least < most)
        fprintf(out, "%zu to ", least);
    fprintf(out, "%zu job%s, seed %llu\n", most, most == 1 ? "" : "s",
            (unsigned long long)comparison->first->seed);
}

enum sand_rc sand_comparison_print(const struct sand_comparison *comparison, enum sand_style style,
                                   FILE *out, struct sand_diag *diag)
{
    print_counts(comparison, out);
    print_side(out, "first", comparison->first);
    print_side(out, "second", comparison->second);
    fprintf(out, "\n%-*s%*s%*s%*s%*s  %s\n", LABEL, "", COLUMN, "first", COLUMN, "second", COLUMN,
            "difference", COLUMN + 2, "+-", "clear");
    for (size_t i = 0; i < comparison->n_figures; i++) {
        if (!is_nothing(&comparison->figures[i]))
            print_figure(out, style, &comparison->figures[i]);
    }
    fputc('\n', out);
    sand_text_wrap(out, definitions, 0);
    return sand_stream_finish(out, "the comparison", diag);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, ",\"%s\":%.17g", key, value);
    else
        fprintf(out, ",\"%s\":null", key);
}

enum sand_rc sand_comparison_json(const struct sand_comparison *comparison, FILE *out,
                                  struct sand_diag *diag)
{
    static const char *const units[] = {"share", "s", "", "GPU s", "J"};
    fprintf(out,
            "{\"pairs\":%zu,\"jobs_per_replication\":{\"least\":%zu,\"most\":%zu},\"seed\":%llu,"
            "\"figures\":[",
            comparison->n_pairs, comparison->jobs_least, comparison->jobs_most,
            (unsigned long long)comparison->first->seed);
    for (size_t i = 0; i < comparison->n_figures; i++) {
        const struct sand_compared *figure = &comparison->figures[i];
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        sand_json_string(out, figure->name);
        fprintf(out, ",\"unit\":\"%s\",\"n\":%zu", units[figure->kind], figure->difference.n);
        put_number(out, "first", figure->first.mean);
        put_number(out, "second", figure->second.mean);
        put_number(out, "difference", figure->difference.mean);
        put_number(out, "ci95", figure->difference.ci95);
        fprintf(out, ",\"clear\":%s}", sand_compared_is_clear(figure) ? "true" : "false");
    }
    fputs("]}\n", out);
    return sand_stream_finish(out, "the comparison", diag);
}
