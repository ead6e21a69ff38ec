// Explains an incident: its parts in the order in which they come, as dates.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stddef.h>

#include "account.h"
#include "explaintext.h"
#include "textout.h"
#include "units.h"

#define NO_INDEX UINT32_MAX
#define PART(member, label)                                                                        \
    {                                                                                              \
#member, label, offsetof(struct sand_incidents_row, member)                                \
    }

static const struct {
    const char *name, *label; // the label says what begins
    size_t offset;
} parts[] = {
    PART(detect_s, "fault; until it is detected"),
    PART(diagnose_s, "detected; diagnosing"),
    PART(wait_nodes_s, "diagnosed; waiting for nodes"),
    PART(restart_s, "nodes there; restarting"),
    PART(restore_s, "restarted; restoring"),
    PART(recompute_s, "restored; doing steps again"),
    PART(catch_up_s, "at the old mark; one step more"),
};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

static double part_s(const struct sand_incidents_row *row, size_t part)
{
    return *(const double *)(const void *)((const char *)row + parts[part].offset);
}

static const struct sand_incidents_row *find(const struct sand_explain_rows *rows,
                                             uint32_t replication, uint32_t incident)
{
    for (size_t i = 0; i < rows->n_incidents; i++)
        if (rows->incidents[i].replication == replication &&
            rows->incidents[i].incident == incident)
            return &rows->incidents[i];
    return NULL;
}

static enum sand_rc no_such_incident(const struct sand_explain_rows *rows, uint32_t replication,
                                     uint32_t incident, struct sand_diag *diag)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_incidents; i++)
        n += rows->incidents[i].replication == replication;
    return sand_fail(diag, SAND_ERR_USAGE,
                     "--incident is %" PRIu32 ": replication %" PRIu32
                     " of the results has %zu incidents, numbered from 0",
                     incident, replication, n);
}

static const char *job_id(const struct sand_explain_rows *rows,
                          const struct sand_incidents_row *row)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].replication == row->replication && rows->jobs[i].job == row->job)
            return rows->jobs[i].id.text;
    return "?";
}

// ---- text ---------------------------------------------------------------------------------------

static void print_head(const struct sand_explain_output *output,
                       const struct sand_explain_rows *rows, const struct sand_incidents_row *row)
{
    FILE *out = output->out;
    fprintf(out, "incident %" PRIu32 " of replication %" PRIu32 ": ", row->incident,
            row->replication);
    sand_explain_name(output, row->fault_class.text);
    fprintf(out, "\n  %s, cause ", row->planned ? "planned" : "unexpected");
    sand_explain_name(output, row->cause.text);
    fprintf(out, ", node %" PRIu32, row->node);
    if (row->component != NO_INDEX)
        fprintf(out, ", component %" PRIu32, row->component);
    fputs("\n  job ", out);
    sand_explain_name(output, job_id(rows, row));
    if (row->replacement != NO_INDEX)
        fprintf(out, "\n  node %" PRIu32 " took its place", row->replacement);
    fprintf(out, "\n  node in repair: %s\n",
            row->repair_s > 0 ? sand_explain_date(row->repair_s).s : "no, it stayed");
    if (row->parent != NO_INDEX)
        fprintf(out, "  struck during the recovery from incident %" PRIu32 "\n", row->parent);
}

static void print_timeline(const struct sand_explain_output *output,
                           const struct sand_incidents_row *row)
{
    double date_s = sand_s_from_ns(row->fault_ns);
    sand_text_heading(output->out, output->style, "TIMELINE", "");
    for (size_t i = 0; i < N_PARTS; i++) {
        const double length_s = part_s(row, i);
        if (length_s <= 0)
            continue;
        fputs("  ", output->out);
        sand_text_pad(output->out, sand_explain_date(date_s).s, 14);
        sand_explain_time(output, parts[i].label, length_s, row->recovery_s);
        date_s += length_s;
    }
    fputs("  ", output->out);
    sand_text_pad(output->out, sand_explain_date(date_s).s, 14);
    sand_explain_time(output, row->recovered_ns >= 0 ? "recovered" : "not over at the end",
                      row->recovery_s, 0);
}

// Whether `row` struck during the recovery from `ancestor`, or from one that did. Numbers follow
// the dates of the faults, so that those of ancestors fall and the walk ends in any file.
static int descends(const struct sand_explain_rows *rows, const struct sand_incidents_row *row,
                    const struct sand_incidents_row *ancestor)
{
    if (row->replication != ancestor->replication || row->job != ancestor->job)
        return 0;
    while (row != NULL && row->parent != NO_INDEX && row->parent < row->incident &&
           row->parent > ancestor->incident)
        row = find(rows, row->replication, row->parent);
    return row != NULL && row->parent == ancestor->incident;
}

static void print_descendant(const struct sand_explain_output *output,
                             const struct sand_incidents_row *row, uint32_t ancestor)
{
    fprintf(output->out, "  incident %" PRIu32 " at %s: ", row->incident,
            sand_explain_date(sand_s_from_ns(row->fault_ns)).s);
    sand_explain_name(output, row->fault_class.text);
    fprintf(output->out, ", node %" PRIu32, row->node);
    if (row->parent != ancestor)
        fprintf(output->out, ", during incident %" PRIu32, row->parent);
    fputs("\n", output->out);
}

static void print_descendants(const struct sand_explain_output *output,
                              const struct sand_explain_rows *rows,
                              const struct sand_incidents_row *row)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_incidents; i++) {
        if (!descends(rows, &rows->incidents[i], row))
            continue;
        if (n++ == 0)
            sand_text_heading(output->out, output->style, "STRUCK MEANWHILE", "");
        print_descendant(output, &rows->incidents[i], row->incident);
    }
    if (n > 0)
        fputs("  the recovery began again: parts are sums, and dates above no longer moments\n",
              output->out);
}

static void print_cost(const struct sand_explain_output *output,
                       const struct sand_incidents_row *row)
{
    sand_text_heading(output->out, output->style, "COST", "");
    fprintf(output->out, "  %" PRIu64 " steps to do again, %s in the step cut off\n",
            row->steps_lost, sand_explain_date(row->partial_step_s).s);
    fprintf(output->out, "  %s GPU-hours lost\n", sand_text_grouped(row->lost_gpu_s / 3600.0).s);
    if (row->parent != NO_INDEX)
        fprintf(output->out, "  the cost of incident %" PRIu32 " contains this: do not add them\n",
                row->parent);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_index(const struct sand_explain_output *output, const char *name, uint32_t index)
{
    if (index == NO_INDEX)
        fprintf(output->out, ", \"%s\": null", name);
    else
        fprintf(output->out, ", \"%s\": %" PRIu32, name, index);
}

static void put_struck(const struct sand_explain_output *output,
                       const struct sand_explain_rows *rows, const struct sand_incidents_row *row,
                       int direct)
{
    const char *comma = "";
    fprintf(output->out, ", \"%s\": [", direct ? "children" : "descendants");
    for (size_t i = 0; i < rows->n_incidents; i++) {
        const struct sand_incidents_row *struck = &rows->incidents[i];
        if (!descends(rows, struck, row) || (direct && struck->parent != row->incident))
            continue;
        fprintf(output->out, "%s%" PRIu32, comma, struck->incident);
        comma = ", ";
    }
    fputs("]", output->out);
}

static void put_json(const struct sand_explain_output *output, const struct sand_explain_rows *rows,
                     const struct sand_incidents_row *row)
{
    fprintf(output->out, "{\"replication\": %" PRIu32 ", \"incident\": %" PRIu32, row->replication,
            row->incident);
    sand_explain_text(output, "job", job_id(rows, row));
    sand_explain_text(output, "fault_class", row->fault_class.text);
    sand_explain_text(output, "cause", row->cause.text);
    fprintf(output->out, ", \"planned\": %s", row->planned ? "true" : "false");
    put_index(output, "node", row->node);
    put_index(output, "component", row->component);
    put_index(output, "replacement", row->replacement);
    put_index(output, "parent", row->parent);
    put_struck(output, rows, row, 1);
    put_struck(output, rows, row, 0);
    sand_explain_number(output, "fault_s", sand_s_from_ns(row->fault_ns));
    for (size_t i = 0; i < N_PARTS; i++)
        sand_explain_number(output, parts[i].name, part_s(row, i));
    sand_explain_number(output, "recovery_s", row->recovery_s);
    fprintf(output->out, ", \"recovered\": %s", row->recovered_ns >= 0 ? "true" : "false");
    sand_explain_number(output, "repair_s", row->repair_s);
    sand_explain_number(output, "steps_lost", (double)row->steps_lost);
    sand_explain_number(output, "partial_step_s", row->partial_step_s);
    sand_explain_number(output, "lost_gpu_s", row->lost_gpu_s);
    fputs("}\n", output->out);
}

// ---- both ---------------------------------------------------------------------------------------

enum sand_rc sand_explain_incident(struct sand_results *results, uint32_t replication,
                                   uint32_t incident, const struct sand_explain_output *output,
                                   struct sand_diag *diag)
{
    struct sand_explain_rows rows;
    SAND_TRY(sand_explain_load(results, &rows, diag));
    const struct sand_incidents_row *row = find(&rows, replication, incident);
    if (row == NULL)
        return no_such_incident(&rows, replication, incident, diag);
    if (output->format == SAND_EXPLAIN_JSON) {
        put_json(output, &rows, row);
        return sand_explain_finish(output, diag);
    }
    print_head(output, &rows, row);
    print_timeline(output, row);
    print_descendants(output, &rows, row);
    print_cost(output, row);
    return sand_explain_finish(output, diag);
}
