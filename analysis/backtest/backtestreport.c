// Tables of two schedules side by side.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "backtestreport.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grouplines.h"
#include "json.h"
#include "textout.h"
#include "units.h"

enum { FIRST_JOBS = 5, FIGURE_WIDTH = 9, LABEL_WIDTH = 38 };

static const char definitions[] =
    "sim: as simulated, rec: as recorded; both over the same jobs. wait: start - submit; "
    "completion: end - submit, where a recorded end is the recorded start + the recorded run time; "
    "slowdown: mean of the bounded one, max(1, completion / max(completion - wait, 10 s)); p50, "
    "p95: nearest rank over jobs; shift: mean of |simulated - recorded start|. Below WAITS each "
    "kind of end stands in lines of its own.";

// ---- people -------------------------------------------------------------------------------------

static void put_time(FILE *out, double time_s)
{
    sand_text_pad_left(out, sand_text_quantity(time_s, SAND_DIM_TIME).s, FIGURE_WIDTH);
}

static void put_pair(FILE *out, double simulated_s, double recorded_s)
{
    put_time(out, simulated_s);
    put_time(out, recorded_s);
}

static struct sand_group_line line_of(const void *groups, size_t i)
{
    const struct sand_backtest_group *group = (const struct sand_backtest_group *)groups + i;
    return (struct sand_group_line){group->by, group->name, group->ending, group->gpu_s, group};
}

static void print_waits(FILE *out, const struct sand_group_line *line)
{
    const struct sand_backtest_group *group = line->row;
    sand_text_pad_left(out, sand_text_whole((double)group->jobs).s, FIGURE_WIDTH);
    put_pair(out, group->simulated.wait_mean_s, group->recorded.wait_mean_s);
    put_pair(out, group->simulated.wait_p95_s, group->recorded.wait_p95_s);
    put_time(out, group->shift_s);
}

static void put_row(FILE *out, const char *label, struct sand_text simulated,
                    struct sand_text recorded)
{
    fputs("  ", out);
    sand_text_pad(out, label, LABEL_WIDTH);
    sand_text_pad_left(out, simulated.s, FIGURE_WIDTH + 3);
    sand_text_pad_left(out, recorded.s, FIGURE_WIDTH + 3);
    fputc('\n', out);
}

static void put_times(FILE *out, const char *label, double simulated_s, double recorded_s)
{
    put_row(out, label, sand_text_quantity(simulated_s, SAND_DIM_TIME),
            sand_text_quantity(recorded_s, SAND_DIM_TIME));
}

static void print_whole(const struct sand_backtest *b, FILE *out)
{
    const struct sand_backtest_side *s = &b->whole.simulated, *r = &b->whole.recorded;
    put_times(out, "wait, mean", s->wait_mean_s, r->wait_mean_s);
    put_times(out, "wait, p50", s->wait_p50_s, r->wait_p50_s);
    put_times(out, "wait, p95", s->wait_p95_s, r->wait_p95_s);
    put_times(out, "completion, mean", s->completion_mean_s, r->completion_mean_s);
    put_times(out, "completion, p95", s->completion_p95_s, r->completion_p95_s);
    put_row(out, "slowdown, mean", sand_text_fixed(s->slowdown_mean, 2),
            sand_text_fixed(r->slowdown_mean, 2));
    put_row(out, "utilisation", sand_text_percent(s->use), sand_text_percent(r->use));
    fprintf(out, "      GPU time held / (%s GPUs x %s from the first submit to the last)\n",
            sand_text_whole(b->capacity_gpus).s, sand_text_quantity(b->window_s, SAND_DIM_TIME).s);
}

static void print_counts(const struct sand_backtest *b, FILE *out)
{
    fprintf(out, "%" PRIu64 " of %zu jobs compared", b->n_compared, b->n_jobs);
    if (b->n_unrecorded > 0)
        fprintf(out, "; %" PRIu64 " have no recorded start", b->n_unrecorded);
    if (b->n_unstarted > 0)
        fprintf(out, "; %" PRIu64 " never started in the simulation", b->n_unstarted);
    if (b->n_unended > 0)
        fprintf(out, "; %" PRIu64 " did not end in the simulation", b->n_unended);
    fprintf(out, "\n%" PRIu64 " start as recorded, to a millisecond; mean shift of a start: %s\n",
            b->whole.same, sand_text_quantity(b->whole.shift_s, SAND_DIM_TIME).s);
}

static int starts_elsewhere(const struct sand_backtest_job *job)
{
    return sand_backtest_compares(job) && llabs(job->start_ns - job->record_ns) > 1000000;
}

static void print_first(const struct sand_backtest *b, FILE *out)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_jobs && n < FIRST_JOBS; i++) {
        const struct sand_backtest_job *job = &b->jobs[i];
        if (!starts_elsewhere(job))
            continue;
        if (n++ == 0)
            fputs("the first that start at another time:\n", out);
        fprintf(out, "  job %s (line %ld): recorded at %.3f s, simulated at %.3f s (%+.3f s)\n",
                job->id, job->line, sand_s_from_ns(job->record_ns), sand_s_from_ns(job->start_ns),
                sand_s_from_ns(job->start_ns - job->record_ns));
    }
}

void sand_backtest_print(const struct sand_backtest *b, const struct sand_backtest_title *title,
                         enum sand_style style, FILE *out)
{
    static const char *const kinds[] = {"all", "class", "size", "user"};
    const struct sand_group_lines lines = {b->n_groups, line_of, print_waits, b->groups,
                                           LABEL_WIDTH};
    fprintf(out, "%s under %s, beside its record\n", title->experiment, title->policy);
    print_counts(b, out);
    print_first(b, out);
    sand_text_heading(out, style, "ALL JOBS, HOWEVER THEY ENDED",
                      "                        simulated    recorded");
    print_whole(b, out);
    sand_text_heading(out, style, "WAITS",
                      "                     jobs sim mean rec mean  sim p95  rec p95    shift");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        sand_group_lines_print(out, &lines, kinds[i]);
    sand_text_wrap(out, definitions, 0);
}

// ---- programs -----------------------------------------------------------------------------------

static void json_figure(FILE *out, const char *name, double value)
{
    fprintf(out, "\"%s\": ", name);
    sand_json_number(out, value);
}

static void json_side(FILE *out, const char *name, const struct sand_backtest_side *side)
{
    fprintf(out, ", \"%s\": {", name);
    json_figure(out, "wait_mean_s", side->wait_mean_s);
    fputs(", ", out);
    json_figure(out, "wait_p50_s", side->wait_p50_s);
    fputs(", ", out);
    json_figure(out, "wait_p95_s", side->wait_p95_s);
    fputs(", ", out);
    json_figure(out, "completion_mean_s", side->completion_mean_s);
    fputs(", ", out);
    json_figure(out, "completion_p95_s", side->completion_p95_s);
    fputs(", ", out);
    json_figure(out, "slowdown_mean", side->slowdown_mean);
    fputs(", ", out);
    json_figure(out, "utilisation", side->use);
    fputc('}', out);
}

static void json_group(FILE *out, const struct sand_backtest_group *group)
{
    fputs("{\"by\": ", out);
    sand_json_string(out, group->by);
    fputs(", \"name\": ", out);
    sand_json_string(out, group->name);
    fputs(", \"ending\": ", out);
    if (group->ending)
        sand_json_string(out, group->ending);
    else
        fputs("null", out);
    fprintf(out, ", \"jobs\": %" PRIu64 ", \"same\": %" PRIu64 ", ", group->jobs, group->same);
    json_figure(out, "shift_s", group->shift_s);
    fputs(", ", out);
    json_figure(out, "gpu_s", group->gpu_s);
    json_side(out, "simulated", &group->simulated);
    json_side(out, "recorded", &group->recorded);
    fputc('}', out);
}

void sand_backtest_json(const struct sand_backtest *b, const struct sand_backtest_title *title,
                        FILE *out)
{
    fputs("{\"experiment\": ", out);
    sand_json_string(out, title->experiment);
    fputs(", \"policy\": ", out);
    sand_json_string(out, title->policy);
    fprintf(out,
            ",\n \"jobs\": %zu, \"compared\": %" PRIu64 ", \"without_record\": %" PRIu64
            ", \"never_started\": %" PRIu64 ", \"not_ended\": %" PRIu64 ",\n ",
            b->n_jobs, b->n_compared, b->n_unrecorded, b->n_unstarted, b->n_unended);
    json_figure(out, "capacity_gpus", b->capacity_gpus);
    fputs(", ", out);
    json_figure(out, "window_s", b->window_s);
    fputs(",\n \"all\": ", out);
    json_group(out, &b->whole);
    fputs(",\n \"groups\": [", out);
    for (size_t i = 0; i < b->n_groups; i++) {
        fputs(i > 0 ? ",\n  " : "\n  ", out);
        json_group(out, &b->groups[i]);
    }
    fputs("]}\n", out);
}

// RFC 4180: quoted where it has to be.
static void csv_text(FILE *out, const char *text)
{
    if (!text || !strpbrk(text, ",\"\r\n")) {
        fputs(text ? text : "", out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

static void csv_date(FILE *out, int64_t date_ns, int has)
{
    fputc(',', out);
    if (has)
        fprintf(out, "%.9f", sand_s_from_ns(date_ns));
}

void sand_backtest_csv(const struct sand_backtest *b, FILE *out)
{
    fputs("job,line,class,user,ending,gpus,submit_s,run_s,recorded_start_s,simulated_start_s,"
          "simulated_end_s,shift_s\n",
          out);
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct sand_backtest_job *job = &b->jobs[i];
        csv_text(out, job->id);
        fprintf(out, ",%ld,", job->line);
        csv_text(out, job->job_class);
        fputc(',', out);
        csv_text(out, job->user);
        fputc(',', out);
        csv_text(out, job->ending);
        fprintf(out, ",%" PRIu64, job->gpus);
        csv_date(out, job->submit_ns, 1);
        csv_date(out, job->run_ns, 1);
        csv_date(out, job->record_ns, job->record_ns >= 0);
        csv_date(out, job->start_ns, job->start_ns >= 0);
        csv_date(out, job->end_ns, job->end_ns >= 0);
        csv_date(out, job->start_ns - job->record_ns, job->record_ns >= 0 && job->start_ns >= 0);
        fputc('\n', out);
    }
}
