// The summary for people: what was run, efficiency, the step, where the GPU time went.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "summary.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "filegate.h"
#include "overview.h"
#include "summaryparts.h"

#define HOUR_S 3600.0
#define RULE                                                                                       \
    "----------------------------------------------------------------------------------------"

// ---- what was run
// -----------------------------------------------------------------------------------

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void print_jobs(FILE *out, const struct sand_overview *overview)
{
    const int differ = overview->fewest_jobs != overview->most_jobs;
    fprintf(out, "  %s GPUs; ", sand_text_whole(overview->capacity_gpus).s);
    if (differ)
        fprintf(out, "%s to %s jobs a run", sand_text_whole((double)overview->fewest_jobs).s,
                sand_text_whole((double)overview->most_jobs).s);
    else
        fprintf(out, "%zu job%s", overview->n_jobs, plural(overview->n_jobs));
    fprintf(out, " with %s GPUs held in all (%s)\n", sand_text_whole(overview->mean_gpus).s,
            overview->shares_nodes ? "parts of nodes shared" : "whole nodes");
}

static void print_head(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    const struct sand_meta *const meta = overview->meta;
    const char *const bold = (style & SAND_STYLE_COLOUR) != 0 ? "\033[1m" : "";
    fputs(bold, out);
    sand_text_pad(out, meta->name, (int)strnlen(meta->name, SAND_TEXT_WIDTH));
    fprintf(out, "%s\n", bold[0] != '\0' ? "\033[0m" : "");
    fprintf(out, "  %s simulated, %zu replication%s, seed %llu\n",
            sand_text_quantity(overview->duration_s, SAND_DIM_TIME).s, overview->n_runs,
            plural(overview->n_runs), (unsigned long long)meta->seed);
    print_jobs(out, overview);
    fprintf(out, "  digest %.12s, sandtable %.16s, physics %.16s\n", meta->digest,
            meta->program_version, meta->physics_version);
}

// ---- efficiency
// -------------------------------------------------------------------------------------

void sand_summary_spread(FILE *out, enum sand_style style, double half_width, const char *text,
                         int width)
{
    struct sand_text spread = {""};
    if (isfinite(half_width))
        snprintf(spread.s, sizeof spread.s, "%s %s",
                 (style & SAND_STYLE_UNICODE) != 0 ? "\u00b1" : "+-", text);
    if (strlen(spread.s) >= (size_t)width)
        fputc(' ', out); // of a figure as wide as the column before it
    sand_text_pad_left(out, spread.s, width);
}

static void print_share(FILE *out, enum sand_style style, const char *label,
                        const struct sand_summary *summary, const char *meaning)
{
    if (summary->n == 0)
        return;
    fputs("  ", out);
    sand_text_pad(out, label, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_percent(summary->mean).s, 9);
    sand_summary_spread(out, style, summary->ci95, sand_text_fixed(100.0 * summary->ci95, 2).s, 11);
    sand_text_remark(out, style, "%s", meaning);
}

static void print_interval_note(FILE *out, enum sand_style style, size_t runs)
{
    const char *const sign = (style & SAND_STYLE_UNICODE) != 0 ? "\u00b1" : "+-";
    if (runs >= 2)
        fprintf(out, "  n = %zu replications; %s is the 95 %% interval of the mean (Student's t)\n",
                runs, sign);
    else
        fputs("  n = 1 replication: no interval; replications=\"5\" in the experiment gives one\n",
              out);
}

static void print_efficiency(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    sand_text_heading(out, style, "EFFICIENCY", "");
    print_share(out, style, "MFU while stepping", &overview->mfu,
                "model FLOPs / (step time x peak of its GPUs)");
    print_share(out, style, "HFU while stepping", &overview->hfu, "the same with recomputation");
    print_share(out, style, "goodput MFU", &overview->goodput_mfu,
                "surviving model FLOPs / (peak x held GPU time)");
    print_share(out, style, "ETTR from first start", &overview->ettr_run,
                "time of surviving steps / time since");
    print_share(out, style, "ETTR from eligible", &overview->ettr_total,
                "the same with the wait in the queue");
    print_interval_note(out, style, overview->n_runs);
}

// ---- traffic on common links
// -----------------------------------------------------------------------------

// Nothing where jobs never met.
static void print_contention(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    const double days = overview->duration_s / 86400.0, asked = overview->joint_questions.mean;
    const double transfers_gpu_s = overview->transfers_gpu_s.mean;
    if (!(asked + overview->neighbours_gpu_s.mean + transfers_gpu_s > 0.0))
        return;
    sand_text_heading(out, style, "CONTENTION", "");
    print_share(out, style, "MFU on free links", &overview->mfu_alone,
                "the same MFU, had every step had its links to itself");
    fprintf(out, "  lost to neighbours     %11s GPU-hours a run, in executed steps\n",
            sand_text_grouped(overview->neighbours_gpu_s.mean / 3600.0).s);
    if (transfers_gpu_s > 0.0)
        fprintf(out, "  lost to saves and data %11s GPU-hours a run, of any job, on its links\n",
                sand_text_fixed(transfers_gpu_s / 3600.0, 1).s);
    if (!(asked > 0.0))
        return;
    fprintf(
        out,
        "  asked jointly          %11s times a run (%s a day), %s of them known, at most %s jobs "
        "at once\n",
        sand_text_grouped(asked).s, sand_text_fixed(asked / days, 1).s,
        sand_text_percent(overview->joint_known.mean / asked).s,
        sand_text_fixed(overview->joint_jobs.mean, 0).s);
}

// ---- the step
// ---------------------------------------------------------------------------------------

enum { MOST_SPLITS = 4 };

static void print_part(FILE *out, enum sand_style style, const char *label, double part_s,
                       double step_s)
{
    if (!(part_s > 0.0))
        return;
    fputs("  ", out);
    sand_text_pad(out, label, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_quantity(part_s, SAND_DIM_TIME).s, 9);
    sand_text_pad_left(out, sand_text_percent(part_s / step_s).s, 11);
    sand_text_bar(out, style, part_s / step_s);
    fputc('\n', out);
}

// The parts are those of the step alone; what the steps took stands beside it where that differs.
static void print_split(FILE *out, enum sand_style style, const struct sand_overview *overview,
                        const struct sand_step_split *split)
{
    sand_text_heading(out, style, "STEP", "alone on its nodes");
    fputs("  ", out);
    sand_text_pad(out, split->job, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_quantity(split->step_s, SAND_DIM_TIME).s, 9);
    fprintf(out, "    healthy %s, fullest GPU %s\n",
            sand_text_quantity(split->healthy_step_s, SAND_DIM_TIME).s,
            sand_text_quantity(split->memory_B, SAND_DIM_BYTES).s);
    if (fabs(split->observed_step_s - split->step_s) > 1e-3 * split->step_s) {
        fputs("  ", out);
        sand_text_pad(out, "observed mean step", SAND_TEXT_LABEL);
        sand_text_pad_left(out, sand_text_quantity(split->observed_step_s, SAND_DIM_TIME).s, 9);
        fputs("    which MFU uses: with neighbours and faulty parts\n", out);
    }
    if (split->alone)
        fprintf(out, "  of replication %" PRIu32 " alone: other replications have other jobs\n",
                overview->first_run);
    print_part(out, style, "compute", split->compute_s, split->step_s);
    print_part(out, style, "exposed tensor parallel", split->exposed_tp_s, split->step_s);
    print_part(out, style, "exposed context parallel", split->exposed_cp_s, split->step_s);
    print_part(out, style, "exposed pipeline parallel", split->exposed_pp_s, split->step_s);
    print_part(out, style, "exposed data parallel", split->exposed_dp_s, split->step_s);
    print_part(out, style, "pipeline bubble", split->bubble_s, split->step_s);
    print_part(out, style, "data stall", split->data_stall_s, split->step_s);
}

static void print_steps(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    for (size_t i = 0; i < overview->n_splits && i < MOST_SPLITS; i++)
        print_split(out, style, overview, &overview->splits[i]);
    if (overview->n_splits > MOST_SPLITS)
        fprintf(out, "  and %zu more jobs with less GPU time\n",
                overview->n_splits - MOST_SPLITS + overview->n_untold);
}

// ---- GPU time
// ---------------------------------------------------------------------------------------

static void print_class(FILE *out, enum sand_style style, const struct sand_overview *overview,
                        const char *name, double gpu_s, int allocated)
{
    fputs("  ", out);
    sand_text_pad(out, name, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_grouped(gpu_s / HOUR_S).s, 15);
    sand_text_pad_left(out, sand_text_percent(gpu_s / overview->capacity_gpu_s).s, 14);
    sand_text_pad_left(out, allocated ? sand_text_percent(gpu_s / overview->allocated_gpu_s).s : "",
                       15);
    sand_text_bar(out, style, gpu_s / overview->capacity_gpu_s);
    fputc('\n', out);
}

static void print_time(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    if (overview->n_classes == 0)
        return;
    sand_text_heading(out, style, "WHERE THE GPU TIME WENT",
                      "GPU-hours a run   of capacity   of allocated");
    for (size_t i = 0; i < overview->n_classes; i++) {
        const struct sand_time_class *const class = &overview->classes[i];
        print_class(out, style, overview, class->name, class->gpu_s, class->allocated);
    }
    fprintf(out, "  %.*s\n", SAND_TEXT_LABEL + 44, RULE);
    print_class(out, style, overview, "allocated", overview->allocated_gpu_s, 1);
    print_class(out, style, overview, "capacity", overview->capacity_gpu_s, 0);
}

// ---- all
// --------------------------------------------------------------------------------------------

static void print_all(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    print_head(out, style, overview);
    print_efficiency(out, style, overview);
    print_steps(out, style, overview);
    print_time(out, style, overview);
    print_contention(out, style, overview);
    sand_summary_print_faults(out, style, overview);
    sand_summary_print_rest(out, style, overview);
}

enum sand_rc sand_summary_print(struct sand_results *results, enum sand_style style, FILE *out,
                                struct sand_diag *diag)
{
    struct sand_arena arena = {0};
    struct sand_overview overview;
    enum sand_rc rc = sand_overview_make(results, &arena, &overview, diag);
    if (rc == SAND_OK) {
        const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        const locale_t before = uselocale(c);
        print_all(out, style, &overview);
        uselocale(before);
        if (c != (locale_t)0)
            freelocale(c);
        rc = sand_stream_finish(out, "the summary", diag);
    }
    sand_arena_clear(&arena);
    return rc;
}
