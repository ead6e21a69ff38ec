// Explains a step profile: each part with its share and the equation behind it.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "account.h"
#include "explaintext.h"
#include "json.h"
#include "textout.h"
#include "units.h"

#define PART(member, label, equation)                                                              \
    {                                                                                              \
#member, label, equation, offsetof(struct sand_steps_row, member)                          \
    }

// Means over the job's GPUs.
static const struct {
    const char *name, *label, *equation;
    size_t offset;
} parts[] = {
    PART(compute_s, "compute",
         "its micro-batches x (FLOPs / achieved rate + bytes / memory rate), optimizer, overhead"),
    PART(exposed_tp_s, "exposed tensor parallel",
         "the software's exposed share of the traffic: messages x latency + bytes / shared rate"),
    PART(exposed_cp_s, "exposed context parallel",
         "the software's exposed share of the ring of keys and values: as tensor parallel"),
    PART(exposed_pp_s, "exposed pipeline parallel",
         "waiting for activations and gradients on their way: latency + bytes / shared rate"),
    PART(exposed_dp_s, "exposed data parallel",
         "reduce and gather, latency + bytes / shared rate a ring step, less what compute hides"),
    PART(bubble_s, "pipeline bubble",
         "waiting for other stages; equal stages: work x (pp - 1) / (chunks x micro-batches)"),
    PART(data_stall_s, "data stall", "time it waits for training data from the storage"),
};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

static double part_s(const struct sand_steps_row *row, size_t part)
{
    return *(const double *)(const void *)((const char *)row + parts[part].offset);
}

// What the parts leave of the step; a step given without a split is all of it.
static double rest_s(const struct sand_steps_row *row)
{
    double rest = row->step_s;
    for (size_t i = 0; i < N_PARTS; i++)
        if (isfinite(part_s(row, i)))
            rest -= part_s(row, i);
    return fabs(rest) < 1e-9 ? 0 : rest; // steps are kept to the nanosecond
}

static const struct sand_steps_row *find(const struct sand_explain_rows *rows, uint32_t replication,
                                         uint32_t profile)
{
    for (size_t i = 0; i < rows->n_steps; i++)
        if (rows->steps[i].replication == replication && rows->steps[i].profile == profile)
            return &rows->steps[i];
    return NULL;
}

static enum sand_rc no_such_step(const struct sand_explain_rows *rows, uint32_t replication,
                                 uint32_t profile, struct sand_diag *diag)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_steps; i++)
        n += rows->steps[i].replication == replication;
    return sand_fail(diag, SAND_ERR_USAGE,
                     "--step is %" PRIu32 ": replication %" PRIu32
                     " of the results has %zu step profiles, numbered from 0",
                     profile, replication, n);
}

static const struct sand_jobs_row *job_of(const struct sand_explain_rows *rows,
                                          const struct sand_steps_row *row)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == row->replication && rows->jobs[i].job == row->job)
            return &rows->jobs[i];
    return NULL;
}

// ---- text ---------------------------------------------------------------------------------------

static void print_head(const struct sand_explain_output *output,
                       const struct sand_explain_rows *rows, const struct sand_steps_row *row)
{
    const struct sand_jobs_row *job = job_of(rows, row);
    FILE *out = output->out;
    fprintf(out, "step profile %" PRIu32 " of replication %" PRIu32 ", job ", row->profile,
            row->replication);
    sand_explain_name(output, job ? job->id.text : "?");
    fprintf(out, "\n  step %s", sand_explain_date(row->step_s).s);
    if (job && isfinite(job->healthy_step_s))
        fprintf(out, ", healthy %s", sand_explain_date(job->healthy_step_s).s);
    fprintf(out, ", MFU %s, HFU %s\n", sand_text_percent(row->mfu).s,
            sand_text_percent(row->hfu).s);
}

static void print_split(const struct sand_explain_output *output, const struct sand_steps_row *row)
{
    sand_text_heading(output->out, output->style, "WHERE THE STEP GOES, ON THE CRITICAL STAGE", "");
    for (size_t i = 0; i < N_PARTS; i++) {
        if (!isfinite(part_s(row, i)) || part_s(row, i) == 0)
            continue;
        sand_explain_time(output, parts[i].label, part_s(row, i), row->step_s);
        fprintf(output->out, "      = %s\n", parts[i].equation);
    }
    if (rest_s(row) != 0)
        sand_explain_time(output, "not split", rest_s(row), row->step_s);
    sand_explain_time(output, "step: the sum", row->step_s, 0);
}

static void print_links(const struct sand_explain_output *output,
                        const struct sand_explain_rows *rows, const struct sand_steps_row *row)
{
    FILE *out = output->out;
    size_t n = 0;
    for (size_t i = 0; i < rows->n_links; i++) {
        const struct sand_links_row *link = &rows->links[i];
        if (link->replication != row->replication || link->profile != row->profile)
            continue;
        if (n++ == 0)
            sand_text_heading(out, output->style, "LINKS", "   bytes a step   busiest link");
        fputs("  ", out);
        sand_text_pad(out, link->link_class.text, SAND_TEXT_LABEL);
        sand_text_pad_left(out, sand_text_quantity(link->step_B, SAND_DIM_BYTES).s, 15);
        sand_text_pad_left(out, sand_text_percent(link->utilisation).s, 15);
        fputc('\n', out);
    }
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_links(const struct sand_explain_output *output,
                      const struct sand_explain_rows *rows, const struct sand_steps_row *row)
{
    const char *comma = "";
    fputs(", \"links\": {", output->out);
    for (size_t i = 0; i < rows->n_links; i++) {
        const struct sand_links_row *link = &rows->links[i];
        if (link->replication != row->replication || link->profile != row->profile)
            continue;
        fputs(comma, output->out);
        sand_json_string(output->out, link->link_class.text);
        fputs(": {\"step_B\": ", output->out);
        sand_json_number(output->out, link->step_B);
        sand_explain_number(output, "utilisation", link->utilisation);
        fputs("}", output->out);
        comma = ", ";
    }
    fputs("}", output->out);
}

static void put_json(const struct sand_explain_output *output, const struct sand_explain_rows *rows,
                     const struct sand_steps_row *row)
{
    const struct sand_jobs_row *job = job_of(rows, row);
    fprintf(output->out, "{\"replication\": %" PRIu32 ", \"profile\": %" PRIu32, row->replication,
            row->profile);
    sand_explain_text(output, "job", job ? job->id.text : "?");
    sand_explain_number(output, "step_s", row->step_s);
    sand_explain_number(output, "healthy_step_s", job ? job->healthy_step_s : (double)NAN);
    for (size_t i = 0; i < N_PARTS; i++)
        sand_explain_number(output, parts[i].name, part_s(row, i));
    sand_explain_number(output, "rest_s", rest_s(row));
    sand_explain_number(output, "mfu", row->mfu);
    sand_explain_number(output, "hfu", row->hfu);
    put_links(output, rows, row);
    fputs("}\n", output->out);
}

// ---- both ---------------------------------------------------------------------------------------

enum sand_rc sand_explain_step(struct sand_results *results, uint32_t replication, uint32_t profile,
                               const struct sand_explain_output *output, struct sand_diag *diag)
{
    struct sand_explain_rows rows;
    SAND_TRY(sand_explain_load(results, &rows, diag));
    const struct sand_steps_row *row = find(&rows, replication, profile);
    if (row == NULL)
        return no_such_step(&rows, replication, profile, diag);
    if (output->format == SAND_EXPLAIN_JSON) {
        put_json(output, &rows, row);
        return sand_explain_finish(output, diag);
    }
    print_head(output, &rows, row);
    print_split(output, row);
    print_links(output, &rows, row);
    return sand_explain_finish(output, diag);
}
