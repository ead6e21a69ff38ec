// The summary for people: saves, jobs, power, assumptions.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "summaryparts.h"

static void print_label(FILE *out, const char *label)
{
    fputs("  ", out);
    sand_text_pad(out, label, SAND_TEXT_LABEL);
}

// ---- saves
// ------------------------------------------------------------------------------------------

static void print_saves(FILE *out, enum sand_style style, const struct sand_saves *saves)
{
    if (!(saves->durable.mean + saves->undurable.mean > 0.0))
        return;
    sand_text_heading(out, style, "CHECKPOINTS", "    a run");
    print_label(out, "durable");
    sand_text_pad_left(out, sand_text_grouped(saves->durable.mean).s, 9);
    sand_summary_spread(out, style, saves->durable.ci95, sand_text_fixed(saves->durable.ci95, 1).s,
                        11);
    sand_text_remark(out, style, "%s after it began",
                     sand_text_quantity(saves->to_durable_s, SAND_DIM_TIME).s);
    print_label(out, "cut off");
    sand_text_pad_left(out, sand_text_grouped(saves->undurable.mean).s, 9);
    fprintf(out, "%11s", "");
    sand_text_remark(out, style, "a fault or the end came first");
    print_label(out, "interval");
    sand_text_pad_left(out, sand_text_quantity(saves->interval_s, SAND_DIM_TIME).s, 9);
    fprintf(out, "%11s", "");
    sand_text_remark(out, style, "useful time from save to save, as planned");
    print_label(out, "stall");
    sand_text_pad_left(out, sand_text_quantity(saves->stall_s, SAND_DIM_TIME).s, 9);
    fprintf(out, "%11s", "");
    sand_text_remark(out, style, "each; %s of the allocated GPU time",
                     sand_text_percent(saves->share).s);
    if (saves->slow_job == NULL)
        return;
    print_label(out, "warning");
    fprintf(out, "%s: %s until a save is durable,", saves->slow_job,
            sand_text_quantity(saves->slow_durable_s, SAND_DIM_TIME).s);
    fprintf(out, " %s between saves\n",
            sand_text_quantity(saves->slow_interval_s, SAND_DIM_TIME).s);
}

// ---- jobs
// -------------------------------------------------------------------------------------------

static void print_state(FILE *out, const char *label, size_t n, double runs, int always)
{
    if (n == 0 && !always)
        return;
    print_label(out, label);
    sand_text_pad_left(out, sand_text_grouped((double)n / runs).s, 9);
    fputc('\n', out);
}

static void print_states(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    const struct sand_job_states *const states = &overview->states;
    const double runs = (double)overview->n_runs;
    sand_text_heading(out, style, "JOBS", "    a run");
    print_state(out, "finished", states->finished, runs, 1);
    print_state(out, "failed, as recorded", states->ended_failed, runs, 0);
    print_state(out, "cancelled, as recorded", states->ended_cancelled, runs, 0);
    print_state(out, "killed, as recorded", states->ended_killed, runs, 0);
    print_state(out, "running at the end", states->running, runs, 0);
    print_state(out, "unfinished", states->unfinished, runs, 0);
    print_state(out, "never started", states->waiting, runs, 0);
    print_state(out, "failed", states->failed, runs, 0);
    print_state(out, "in another state", states->other, runs, 0);
}

// ---- power
// ------------------------------------------------------------------------------------------

static void print_figure(FILE *out, enum sand_style style, const char *label,
                         const struct sand_summary *summary, double unit, int decimals,
                         const char *text)
{
    print_label(out, label);
    const double mean = summary->mean / unit;
    const double spread = summary->ci95 / unit;
    sand_text_pad_left(
        out, decimals > 0 ? sand_text_fixed(mean, decimals).s : sand_text_grouped(mean).s, 9);
    sand_summary_spread(
        out, style, spread,
        decimals > 0 ? sand_text_fixed(spread, decimals).s : sand_text_grouped(spread).s, 11);
    sand_text_remark(out, style, "%s", text);
}

static void print_power(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    const int big = overview->power_W.mean >= 1e6;
    if (overview->energy_J.n == 0)
        return;
    sand_text_heading(out, style, "POWER AND ENERGY", "");
    print_figure(out, style, "mean facility power", &overview->power_W, big ? 1e6 : 1e3,
                 big ? 2 : 0, big ? "MW" : "kW");
    print_figure(out, style, "energy", &overview->energy_J, big ? 3.6e9 : 3.6e6, 0,
                 big ? "MWh a run" : "kWh a run");
    if (overview->token_energy_J.n > 0) {
        print_figure(out, style, "energy per token", &overview->token_energy_J, 1.0, 2,
                     "J, tokens of surviving steps");
        print_figure(out, style, "tokens", &overview->tokens, 1e9, 1,
                     "billion a run, of surviving steps");
        print_label(out, "a million tokens");
        sand_text_pad_left(
            out,
            sand_text_fixed(overview->allocated_gpu_s / 3600 / overview->tokens.mean * 1e6, 2).s,
            9);
        fprintf(out, "%11s", "");
        sand_text_remark(out, style, "GPU-hours held; times the price of one: its cost");
    }
}

// ---- assumptions
// ------------------------------------------------------------------------------------

static void print_assumptions(FILE *out, enum sand_style style, const struct sand_meta *meta)
{
    sand_text_heading(out, style, "ASSUMED, WITHOUT A SOURCE", "");
    if (meta->n_assumptions == 0)
        fputs("  nothing: every hardware figure in use has a source\n", out);
    sand_text_assumptions(out, meta->assumptions, meta->n_assumptions);
}

void sand_summary_print_rest(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    print_saves(out, style, &overview->saves);
    print_states(out, style, overview);
    sand_summary_print_groups(out, style, overview);
    print_power(out, style, overview);
    print_assumptions(out, style, overview->meta);
}
