// Tables over predicted collectives. All sums run in the order of the file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collreport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "stats.h"

enum { N_WORST = 20 };

double sand_coll_error(const struct sand_coll_results *r, size_t i)
{
    const double measured_s = r->cases[i].measured_s, time_s = r->terms[i].time_s;
    return measured_s > 0 && time_s > 0 ? time_s / measured_s - 1 : NAN;
}

int sand_coll_is_scored(const struct sand_coll_results *r, size_t i)
{
    return r->cases[i].class == SAND_COLL_SCORED && r->terms[i].time_s > 0;
}

static double error_of(const void *results, size_t i)
{
    return sand_coll_error(results, i);
}

enum sand_rc sand_coll_figure_out(const struct sand_coll_results *r, const uint8_t *in,
                                  struct sand_error_figures *f)
{
    return sand_error_figure_out(r, r->n, in, error_of, f);
}

// ---- noise floor --------------------------------------------------------------------------------

static int same_place(const struct sand_comm *a, const struct sand_comm *b)
{
    return a->scaleup == b->scaleup && a->ranks == b->ranks && a->domains == b->domains &&
           a->domain_ranks == b->domain_ranks && a->options.symmetric == b->options.symmetric &&
           a->options.sharp == b->options.sharp &&
           (a->domains < 2 || (a->nic == b->nic && a->ports == b->ports &&
                               !(a->ring_Bps < b->ring_Bps) && !(a->ring_Bps > b->ring_Bps)));
}

static int same_inputs(const struct sand_coll_case *a, const struct sand_coll_case *b)
{
    return a->collective.kind == b->collective.kind &&
           !(a->collective.bytes < b->collective.bytes) &&
           !(a->collective.bytes > b->collective.bytes) && a->wish.algorithm == b->wish.algorithm &&
           a->wish.protocol == b->wish.protocol && same_place(&a->comm, &b->comm);
}

struct spread {
    size_t n_rows, n_groups;
    double sum;
};

// The group of row i among the rows from i on, if it is the first of one.
static void add_group(const struct sand_coll_results *r, const uint8_t *in, uint8_t *seen, size_t i,
                      struct spread *floor)
{
    double total = 0, n = 0;
    for (size_t j = i; j < r->n; j++)
        if (in[j] && same_inputs(&r->cases[i], &r->cases[j])) {
            total += r->cases[j].measured_s;
            n++;
        }
    if (n < 2)
        return;
    floor->n_groups++;
    for (size_t j = i; j < r->n; j++)
        if (in[j] && same_inputs(&r->cases[i], &r->cases[j])) {
            seen[j] = 1;
            floor->n_rows++;
            floor->sum += fabs(r->cases[j].measured_s * n / total - 1);
        }
}

static enum sand_rc find_floor(const struct sand_coll_results *r, const uint8_t *in,
                               struct spread *floor)
{
    uint8_t *seen = sand_calloc(r->n, 1);
    if (seen == NULL)
        return SAND_ERR_NOMEM;
    *floor = (struct spread){0};
    for (size_t i = 0; i < r->n; i++)
        if (in[i] && !seen[i])
            add_group(r, in, seen, i, floor);
    sand_free(seen);
    return SAND_OK;
}

// ---- tables -------------------------------------------------------------------------------------

static void print_heading(FILE *out, const char *what)
{
    fprintf(out, "\n%-24s %5s %8s %8s %8s %6s %6s  %s\n", what, "rows", "median", "mean", "bias",
            "<=5%", "<=10%", "noise floor (rows equal in every input)");
}

static enum sand_rc print_line(const struct sand_coll_results *r, const char *name,
                               const uint8_t *in, FILE *out)
{
    struct sand_error_figures f;
    struct spread floor;
    SAND_TRY(sand_coll_figure_out(r, in, &f));
    SAND_TRY(find_floor(r, in, &floor));
    if (f.n == 0)
        return SAND_OK;
    fprintf(out, "%-24s %5zu %7.1f%% %7.1f%% %+7.1f%% %5.0f%% %5.0f%%  ", name, f.n, 100 * f.median,
            100 * f.mean, 100 * f.bias, 100.0 * (double)f.within5 / (double)f.n,
            100.0 * (double)f.within10 / (double)f.n);
    if (floor.n_rows > 0)
        fprintf(out, "%.1f%% over %zu rows in %zu groups\n", 100 * floor.sum / (double)floor.n_rows,
                floor.n_rows, floor.n_groups);
    else
        fprintf(out, "no two rows\n");
    return SAND_OK;
}

static enum sand_rc print_sizes(const struct sand_coll_results *r, uint8_t *in, FILE *out)
{
    static const struct {
        const char *name;
        double from, below;
    } sizes[] = {{"below 64 KiB", 0, 65536},
                 {"64 KiB to 1 MiB", 65536, 1048576},
                 {"from 1 MiB", 1048576, 1e300},
                 {"of it, from 64 MiB", 67108864, 1e300}};
    print_heading(out, "by message size");
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (size_t i = 0; i < r->n; i++) {
            const double bytes = r->cases[i].collective.bytes;
            in[i] = sand_coll_is_scored(r, i) && bytes >= sizes[k].from && bytes < sizes[k].below;
        }
        SAND_TRY(print_line(r, sizes[k].name, in, out));
    }
    return SAND_OK;
}

typedef const char *key_fn(const struct sand_coll_case *c);

static const char *key_source(const struct sand_coll_case *c)
{
    return c->source;
}
static const char *key_machine(const struct sand_coll_case *c)
{
    return c->machine->id;
}
static const char *key_network(const struct sand_coll_case *c)
{
    return c->comm.domains < 2 ? "one domain" : c->comm.nic->id;
}
static const char *key_kind(const struct sand_coll_case *c)
{
    return sand_collective_name(c->collective.kind);
}

// One line per key, in the order in which they come.
static enum sand_rc print_by(const struct sand_coll_results *r, const char *what, key_fn *key,
                             uint8_t *in, FILE *out)
{
    print_heading(out, what);
    for (size_t i = 0; i < r->n; i++) {
        int first = sand_coll_is_scored(r, i);
        for (size_t j = 0; j < r->n; j++) {
            in[j] = first && sand_coll_is_scored(r, j) &&
                    strcmp(key(&r->cases[j]), key(&r->cases[i])) == 0;
            if (in[j] && j < i)
                first = 0;
        }
        if (first)
            SAND_TRY(print_line(r, key(&r->cases[i]), in, out));
    }
    return SAND_OK;
}

// ---- rows ---------------------------------------------------------------------------------------

static void print_row(const struct sand_coll_results *r, size_t i, const char *text, FILE *out)
{
    const struct sand_coll_case *c = &r->cases[i];
    const struct sand_coll_terms *t = &r->terms[i];
    char predicted[64] = "no prediction";
    if (t->time_s > 0)
        snprintf(predicted, sizeof predicted, "%11.1f us %+6.1f%% %s", 1e6 * t->time_s,
                 100 * sand_coll_error(r, i), t->kernel->id);
    fprintf(out, "  %-20s %12.0f B %11.1f us %-36s  %.70s\n", c->cell[SAND_COLL_ID],
            c->collective.bytes, 1e6 * c->measured_s, predicted, text);
}

struct ranked {
    double size;
    size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->size < y->size || x->size > y->size)
        return x->size < y->size ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

static enum sand_rc print_worst(const struct sand_coll_results *r, FILE *out)
{
    struct ranked *list = sand_calloc(r->n, sizeof *list);
    size_t n = 0;
    if (list == NULL)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < r->n; i++)
        if (sand_coll_is_scored(r, i))
            list[n++] = (struct ranked){fabs(sand_coll_error(r, i)), i};
    qsort(list, n, sizeof *list, compare_ranked);
    fprintf(out, "\nworst rows (size, measured, predicted, error, kernel)\n");
    for (size_t k = 0; k < n && k < N_WORST; k++)
        print_row(r, list[k].row, r->cases[list[k].row].cell[SAND_COLL_PLATFORM], out);
    sand_free(list);
    return SAND_OK;
}

static void print_listed(const struct sand_coll_results *r, FILE *out)
{
    fprintf(out, "\nlisted without score\n");
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].class == SAND_COLL_LISTED)
            print_row(r, i, r->cases[i].why, out);
}

// Why a row has no prediction; NULL if it has one.
static const char *reason(const struct sand_coll_results *r, size_t i)
{
    if (r->cases[i].class == SAND_COLL_SKIPPED)
        return r->cases[i].why;
    return r->terms[i].time_s > 0 ? NULL : "no kernel of the catalogue can do it";
}

static void print_skipped(const struct sand_coll_results *r, FILE *out)
{
    fprintf(out, "\nskipped\n");
    for (size_t i = 0; i < r->n; i++) {
        size_t n = 0;
        int first = reason(r, i) != NULL;
        for (size_t j = 0; j < r->n && first; j++) {
            if (reason(r, j) == NULL || strcmp(reason(r, i), reason(r, j)) != 0)
                continue;
            first = j >= i;
            n++;
        }
        if (first)
            fprintf(out, "  %4zu  %s (%s%s)\n", n, reason(r, i), r->cases[i].cell[SAND_COLL_ID],
                    n > 1 ? ", ..." : "");
    }
}

void sand_coll_report_overall(const struct sand_error_figures *all, FILE *out)
{
    fprintf(out, "\noverall: %zu rows", all->n);
    if (all->n > 0)
        fprintf(out, ", median %.2f %%, mean %.2f %%, bias %+.2f %%", 100 * all->median,
                100 * all->mean, 100 * all->bias);
    fputc('\n', out);
}

static enum sand_rc print_all(const struct sand_coll_results *r, uint8_t *in, FILE *out)
{
    struct sand_error_figures all;
    SAND_TRY(print_sizes(r, in, out));
    SAND_TRY(print_by(r, "by source", key_source, in, out));
    SAND_TRY(print_by(r, "by machine", key_machine, in, out));
    SAND_TRY(print_by(r, "by network", key_network, in, out));
    SAND_TRY(print_by(r, "by collective", key_kind, in, out));
    for (size_t i = 0; i < r->n; i++)
        in[i] = (uint8_t)sand_coll_is_scored(r, i);
    SAND_TRY(print_line(r, "all", in, out));
    SAND_TRY(print_worst(r, out));
    SAND_TRY(sand_coll_figure_out(r, in, &all));
    print_listed(r, out);
    print_skipped(r, out);
    sand_coll_report_overall(&all, out);
    return SAND_OK;
}

enum sand_rc sand_coll_report_print(const struct sand_coll_results *r, FILE *out)
{
    uint8_t *in = sand_calloc(r->n, 1);
    const enum sand_rc rc = in == NULL ? SAND_ERR_NOMEM : print_all(r, in, out);
    sand_free(in);
    return rc;
}

// ---- CSV ----------------------------------------------------------------------------------------

static void write_text(FILE *out, const char *text)
{
    fputs(",\"", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_number(FILE *out, double value)
{
    if (isnan(value) || !(value > 0 || value < 0))
        fputc(',', out);
    else
        fprintf(out, ",%.9g", value);
}

void sand_coll_report_csv(const struct sand_coll_results *r, FILE *out)
{
    static const char *const classes[] = {"scored", "listed", "skipped"};
    fputs(
        "id,class,machine,network,algorithm,protocol,bytes,measured_s,predicted_s,error,latency_s,"
        "wire_s,fill_s,scaleup_B,scaleup_Bps,network_B,network_Bps,why\n",
        out);
    for (size_t i = 0; i < r->n; i++) {
        const struct sand_coll_case *c = &r->cases[i];
        const struct sand_coll_terms *t = &r->terms[i];
        const double numbers[] = {
            c->collective.bytes, c->measured_s, t->time_s,     sand_coll_error(r, i),
            t->latency_s,        t->wire_s,     t->fill_s,     t->scaleup_B,
            t->scaleup_Bps,      t->network_B,  t->network_Bps};
        fprintf(out, "%s,%s", c->cell[SAND_COLL_ID], classes[c->class]);
        write_text(out, c->machine ? c->machine->id : "");
        write_text(out, c->comm.domains > 1 ? c->comm.nic->id : "");
        write_text(out, t->kernel ? sand_algorithm_name(t->kernel->algorithm) : "");
        write_text(out, t->kernel ? sand_protocol_name(t->kernel->protocol) : "");
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            write_number(out, numbers[k]);
        write_text(out, reason(r, i) ? reason(r, i) : c->why);
        fputc('\n', out);
    }
}
