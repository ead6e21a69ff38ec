// The summary for people: interruptions and recovery.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "summaryparts.h"

#define HOUR_S 3600.0

enum { MOST_GROUPS = 12 };

// ---- interruptions
// ----------------------------------------------------------------------------------

// Faults strike nodes that jobs hold: a run that ends early has no more of them in what is left.
static void print_count(FILE *out, enum sand_style style, const char *label,
                        const struct sand_summary *count, const struct sand_overview *overview)
{
    static const double day_s = 24 * HOUR_S;
    const double run_s = overview->window_s > 0 ? overview->window_s : overview->duration_s;
    fputs("  ", out);
    sand_text_pad(out, label, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_grouped(count->mean).s, 9);
    if (count->mean > 0.0 || isfinite(count->ci95)) // else nothing may follow, blanks neither
        sand_summary_spread(out, style, count->ci95, sand_text_fixed(count->ci95, 1).s, 11);
    if (count->mean > 0.0)
        sand_text_remark(out, style, "one every %s, %s GPU-days held",
                         sand_text_quantity(run_s / count->mean, SAND_DIM_TIME).s,
                         sand_text_grouped(overview->allocated_gpu_s / day_s / count->mean).s);
    else
        fputc('\n', out);
}

static void print_totals(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    const struct sand_summary *const spread = &overview->dispersion;
    const struct sand_summary *const lost = &overview->lost_gpu_s;
    print_count(out, style, "unexpected", &overview->unexpected, overview);
    print_count(out, style, "planned", &overview->planned, overview);
    if (spread->n > 0) {
        fputs("  ", out);
        sand_text_pad(out, "dispersion", SAND_TEXT_LABEL);
        sand_text_pad_left(out, sand_text_fixed(spread->mean, 2).s, 9);
        sand_summary_spread(out, style, spread->ci95, sand_text_fixed(spread->ci95, 2).s, 11);
        sand_text_remark(out, style, "variance / mean of daily counts; Poisson: 1");
    }
    fputs("  ", out);
    sand_text_pad(out, "cost GPU-hours", SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_grouped(lost->mean / HOUR_S).s, 9);
    sand_summary_spread(out, style, lost->ci95, sand_text_grouped(lost->ci95 / HOUR_S).s, 11);
    sand_text_remark(out, style, "%s of the allocated: outage and work redone",
                     sand_text_percent(lost->mean / overview->allocated_gpu_s).s);
}

static void print_group(FILE *out, enum sand_style style, const struct sand_fault_group *group,
                        const struct sand_fault_group *all, double runs)
{
    const double loss_share = group->lost_gpu_s / all->lost_gpu_s;
    struct sand_text name;
    snprintf(name.s, sizeof name.s, "%s%s", group->name, group->planned == 1 ? " (planned)" : "");
    fputs("  ", out);
    sand_text_pad(out, name.s, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_grouped((double)group->n / runs).s, 9);
    sand_text_pad_left(out, sand_text_percent((double)group->n / (double)all->n).s, 11);
    sand_text_pad_left(out, sand_text_grouped(group->lost_gpu_s / HOUR_S / runs).s, 17);
    sand_text_pad_left(out, sand_text_percent(loss_share).s, 9);
    sand_text_bar(out, style, loss_share);
    fputc('\n', out);
}

static struct sand_fault_group sum_groups(const struct sand_fault_group *groups, size_t n,
                                          const char *name)
{
    struct sand_fault_group sum = {.name = name};
    for (size_t i = 0; i < n; i++) {
        sum.n += groups[i].n;
        sum.lost_gpu_s += groups[i].lost_gpu_s;
    }
    return sum;
}

static void print_groups(FILE *out, enum sand_style style, const char *title,
                         const struct sand_fault_group *groups, size_t n, double runs)
{
    const struct sand_fault_group all = sum_groups(groups, n, "all");
    const size_t shown = n <= MOST_GROUPS ? n : MOST_GROUPS - 1;
    sand_text_heading(out, style, title, "    a run      share   cost GPU-hours    share");
    for (size_t i = 0; i < shown; i++)
        print_group(out, style, &groups[i], &all, runs);
    if (shown < n) {
        char name[32];
        snprintf(name, sizeof name, "%zu others", n - shown);
        const struct sand_fault_group others = sum_groups(groups + shown, n - shown, name);
        print_group(out, style, &others, &all, runs);
    }
}

// ---- recovery
// ---------------------------------------------------------------------------------------

static void print_times(FILE *out, const char *label, double unexpected_s, double planned_s)
{
    fputs("  ", out);
    sand_text_pad(out, label, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_quantity(unexpected_s, SAND_DIM_TIME).s, 12);
    if (isfinite(planned_s))
        sand_text_pad_left(out, sand_text_quantity(planned_s, SAND_DIM_TIME).s, 9 + 14);
    fputc('\n', out);
}

static void print_recovery_part(FILE *out, enum sand_style style, size_t part,
                                const struct sand_recovery_times *unexpected,
                                const struct sand_recovery_times *planned)
{
    const double share = unexpected->parts_s[part] / unexpected->mean_s;
    fputs("    ", out);
    sand_text_pad(out, sand_recovery_part_names[part], SAND_TEXT_LABEL - 2);
    sand_text_pad_left(out, sand_text_quantity(unexpected->parts_s[part], SAND_DIM_TIME).s, 12);
    sand_text_pad_left(out, sand_text_percent(share).s, 9);
    if (planned->n > 0) {
        const double planned_share = planned->parts_s[part] / planned->mean_s;
        sand_text_pad_left(out, sand_text_quantity(planned->parts_s[part], SAND_DIM_TIME).s, 14);
        sand_text_pad_left(out, sand_text_percent(planned_share).s, 9);
    }
    sand_text_bar(out, style, share);
    fputc('\n', out);
}

static void print_recovery_notes(FILE *out, const struct sand_recovery_times recovery[2])
{
    const size_t children = recovery[0].n_children + recovery[1].n_children;
    const size_t open = recovery[0].n_open + recovery[1].n_open;
    if (children > 0)
        fprintf(out, "  %zu more struck during a recovery and lengthened it\n", children);
    if (open > 0)
        fprintf(out, "  %zu recover%s not over at the end of the run, not counted here\n", open,
                open == 1 ? "y was" : "ies were");
}

static void print_recovery(FILE *out, enum sand_style style, const struct sand_overview *overview)
{
    const struct sand_recovery_times *const unexpected = &overview->recovery[0];
    const struct sand_recovery_times *const planned = &overview->recovery[1];
    char head[SAND_TEXT_WIDTH];
    if (unexpected->n + planned->n == 0)
        return;
    if (planned->n > 0)
        snprintf(head, sizeof head, "  unexpected (n = %zu)   planned (n = %zu)", unexpected->n,
                 planned->n);
    else
        snprintf(head, sizeof head, "  unexpected (n = %zu)", unexpected->n);
    sand_text_heading(out, style, "RECOVERY TIME", head);
    print_times(out, "mean", unexpected->mean_s, planned->mean_s);
    for (size_t i = 0; i < SAND_RECOVERY_PARTS; i++)
        print_recovery_part(out, style, i, unexpected, planned);
    print_times(out, "median", unexpected->median_s, planned->median_s);
    print_times(out, "95 % are over within", unexpected->p95_s, planned->p95_s);
    print_recovery_notes(out, overview->recovery);
}

// ---- degradations
// -----------------------------------------------------------------------------------

static void print_degradation(FILE *out, enum sand_style style,
                              const struct sand_degradation_group *group, double all_gpu_s,
                              double runs)
{
    struct sand_text name;
    snprintf(name.s, sizeof name.s, "%s (%s)", group->name, group->effect);
    fputs("  ", out);
    sand_text_pad(out, name.s, SAND_TEXT_LABEL);
    sand_text_pad_left(out, sand_text_grouped((double)group->n / runs).s, 9);
    sand_text_pad_left(out, sand_text_grouped((double)group->n_jobs / runs).s, 11);
    sand_text_pad_left(out, sand_text_grouped(group->lost_gpu_s / HOUR_S / runs).s, 17);
    sand_text_pad_left(out, sand_text_percent(group->lost_gpu_s / all_gpu_s).s, 9);
    if (all_gpu_s > 0.0)
        sand_text_bar(out, style, group->lost_gpu_s / all_gpu_s);
    fputc('\n', out);
}

static void print_degradations(FILE *out, enum sand_style style,
                               const struct sand_overview *overview)
{
    const double runs = (double)overview->n_runs;
    double n = 0, n_unnoticed = 0, still_s = 0, slow_s = 0, lost_gpu_s = 0;
    if (overview->n_degradations == 0)
        return;
    for (size_t i = 0; i < overview->n_degradations; i++) {
        const struct sand_degradation_group *group = &overview->degradations[i];
        n += (double)group->n;
        n_unnoticed += (double)group->n_unnoticed;
        still_s += group->still_s;
        slow_s += group->slow_s;
        lost_gpu_s += group->lost_gpu_s;
    }
    sand_text_heading(out, style, "DEGRADATIONS", "    a run   jobs hit   cost GPU-hours    share");
    for (size_t i = 0; i < overview->n_degradations && i < MOST_GROUPS; i++)
        print_degradation(out, style, &overview->degradations[i], lost_gpu_s, runs);
    if (overview->n_degradations > MOST_GROUPS)
        fprintf(out, "  and %zu classes more that cost less\n",
                overview->n_degradations - MOST_GROUPS);
    fprintf(out, "  a run: jobs stood still for %s and were slow for %s, %s of the allocated;\n",
            sand_text_quantity(still_s / runs, SAND_DIM_TIME).s,
            sand_text_quantity(slow_s / runs, SAND_DIM_TIME).s,
            sand_text_percent(lost_gpu_s / runs / overview->allocated_gpu_s).s);
    fprintf(out, "  %s of %s strikes were over before anybody noticed\n",
            sand_text_grouped(n_unnoticed / runs).s, sand_text_grouped(n / runs).s);
}

void sand_summary_print_faults(FILE *out, enum sand_style style,
                               const struct sand_overview *overview)
{
    const double runs = (double)overview->n_runs;
    sand_text_heading(out, style, "INTERRUPTIONS", "    a run");
    print_totals(out, style, overview);
    if (overview->n_causes > 0) {
        print_groups(out, style, "BY CAUSE", overview->causes, overview->n_causes, runs);
        print_groups(out, style, "BY CLASS", overview->fault_classes, overview->n_fault_classes,
                     runs);
    }
    print_recovery(out, style, overview);
    print_degradations(out, style, overview);
}
