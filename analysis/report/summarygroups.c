// The summary for people: waits, completion times and slowdowns, with what they mean.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "grouplines.h"
#include "summaryparts.h"

enum { FIGURE_WIDTH = 9 };

static const char definitions[] =
    "means, p50 and p95 over jobs; wait: first start - submit; completion: end - submit; slowdown: "
    "bounded, max(1, completion / "
    "max(completion - wait, 10 s)); p50, p95: nearest rank; with several replications each figure "
    "is the mean over those that have such jobs. Jobs that ended otherwise than finished stand in "
    "lines of their own and enter no other line.";

static void put_time(FILE *out, double time_s)
{
    sand_text_pad_left(out, sand_text_quantity(time_s, SAND_DIM_TIME).s, FIGURE_WIDTH);
}

static struct sand_group_line line_of(const void *groups, size_t i)
{
    const struct sand_job_group *group = (const struct sand_job_group *)groups + i;
    const int finished = strcmp(group->ending, "finished") == 0;
    return (struct sand_group_line){group->by, group->name, finished ? NULL : group->ending,
                                    group->gpu_s, group};
}

static void print_waits(FILE *out, const struct sand_group_line *line)
{
    const struct sand_job_group *group = line->row;
    sand_text_pad_left(out, sand_text_whole(group->jobs).s, FIGURE_WIDTH);
    put_time(out, group->wait_mean_s);
    put_time(out, group->wait_p50_s);
    put_time(out, group->wait_p95_s);
    put_time(out, group->completion_mean_s);
    put_time(out, group->completion_p95_s);
    sand_text_pad_left(out, sand_text_fixed(group->slowdown_mean, 2).s, FIGURE_WIDTH);
}

// ---- use ----------------------------------------------------------------------------------------

// The whole is the same for all: GPUs x the time in which there were jobs.
static const char use_definitions[] = "All of GPUs x window, the window from first submit to last "
                                      "end, means over replications. held: "
                                      "GPU time held by jobs; useful: of surviving steps at the "
                                      "healthy step's pace, on GPUs asked for, "
                                      "no wait for data; not asked: held beyond what was asked "
                                      "for, since a job that does not fill its "
                                      "last node holds all of it";
static const char shared_definition[] =
    ", unless it asks for less than one node, which it then shares";
static const char use_rest[] =
    "; fragment: free GPUs of nodes that jobs hold in part; no job: nodes that are idle, set apart "
    "or "
    "down. held, fragment and no job add up to all. Lines of groups: their part of held and of "
    "useful, and not asked over what they held themselves. Every ending counts.";

static void put_share(FILE *out, enum sand_style style, const char *label,
                      const struct sand_summary *share)
{
    fputs("  ", out);
    sand_text_pad(out, label, SAND_TEXT_LABEL + 6);
    sand_text_pad_left(out, sand_text_percent(share->mean).s, FIGURE_WIDTH);
    if (share->n >= 2)
        sand_summary_spread(out, style, share->ci95, sand_text_fixed(100.0 * share->ci95, 2).s, 11);
    fputc('\n', out);
}

static struct sand_group_line use_of(const void *uses, size_t i)
{
    const struct sand_group_use *use = (const struct sand_group_use *)uses + i;
    return (struct sand_group_line){use->by, use->name, NULL, use->gpu_s, use};
}

static void print_use_of(FILE *out, const struct sand_group_line *line)
{
    const struct sand_group_use *use = line->row;
    sand_text_pad_left(out, sand_text_percent(use->gpu_s / use->whole_gpu_s).s, FIGURE_WIDTH);
    sand_text_pad_left(out, sand_text_percent(use->useful_gpu_s / use->whole_gpu_s).s,
                       FIGURE_WIDTH);
    const double unasked = use->gpu_s > 0 ? fmax(0, 1 - use->asked_gpu_s / use->gpu_s) : NAN;
    sand_text_pad_left(out, sand_text_percent(unasked).s, FIGURE_WIDTH + 2);
}

static void print_use(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    static const char *const kinds[] = {"class", "size", "user"};
    const struct sand_group_lines lines = {overview->n_uses, use_of, print_use_of, overview->uses,
                                           SAND_TEXT_LABEL + 6};
    sand_text_heading(out, style, "USE OF THE GPUS", "    share");
    put_share(out, style, "utilisation (held)", &overview->use);
    put_share(out, style, "useful utilisation", &overview->useful_use);
    put_share(out, style, "held, not asked for", &overview->unasked);
    put_share(out, style, "fragment", &overview->fragment);
    put_share(out, style, "no job", &overview->jobless);
    fprintf(out, "  %-32s%9s%9s%11s\n", "by group", "held", "useful", "not asked");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        sand_group_lines_print(out, &lines, kinds[i]);
    char text[sizeof use_definitions + sizeof shared_definition + sizeof use_rest];
    fprintf(out, "  all: %s GPUs x %s from first submit to last end\n",
            sand_text_whole(overview->capacity_gpus).s,
            sand_text_quantity(overview->window_s, SAND_DIM_TIME).s);
    snprintf(text, sizeof text, "%s%s%s", use_definitions,
             overview->shares_nodes ? shared_definition : "", use_rest);
    sand_text_wrap(out, text, 0);
}

void sand_summary_print_groups(FILE *out, enum sand_style style,
                               const struct sand_overview *overview)
{
    static const char *const kinds[] = {"all", "class", "size", "user"};
    const struct sand_group_lines lines = {overview->n_groups, line_of, print_waits,
                                           overview->groups, SAND_TEXT_LABEL + 6};
    if (overview->n_groups == 0 || overview->n_jobs < 2)
        return;
    sand_text_heading(out, style, "WAITS AND COMPLETION",
                      "           jobs     wait      p50      p95 complet.      p95 slowdown");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        sand_group_lines_print(out, &lines, kinds[i]);
    sand_text_wrap(out, definitions, 0);
    print_use(out, style, overview);
}
