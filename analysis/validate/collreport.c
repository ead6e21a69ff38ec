// Tables over predicted collectives. All sums run in the order of the file.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "collreport.h"

#include <string.h>

#include "mem.h"

enum { N_WORST = 20 };

// ---- what the rows answer -----------------------------------------------------------------------

static double measured_s(const void *results, size_t i)
{
    const struct sand_coll_results *r = results;
    return r->cases[i].measured_s;
}

static double predicted_s(const void *results, size_t i)
{
    const struct sand_coll_results *r = results;
    return r->terms[i].time_s;
}

static int is_specified(const void *results, size_t i)
{
    const struct sand_coll_results *r = results;
    return r->cases[i].class == SAND_COLL_SCORED;
}

static int same_place(const struct sand_comm *a, const struct sand_comm *b)
{
    return a->scaleup == b->scaleup && a->ranks == b->ranks && a->domains == b->domains &&
           a->domain_ranks == b->domain_ranks && a->options.symmetric == b->options.symmetric &&
           a->options.sharp == b->options.sharp &&
           (a->domains < 2 || (a->nic == b->nic && a->ports == b->ports &&
                               !(a->ring_Bps < b->ring_Bps) && !(a->ring_Bps > b->ring_Bps)));
}

static int is_equal(const void *results, size_t i, size_t j)
{
    const struct sand_coll_results *r = results;
    const struct sand_coll_case *a = &r->cases[i], *b = &r->cases[j];
    return a->collective.kind == b->collective.kind &&
           !(a->collective.bytes < b->collective.bytes) &&
           !(a->collective.bytes > b->collective.bytes) && a->wish.algorithm == b->wish.algorithm &&
           a->wish.protocol == b->wish.protocol && same_place(&a->comm, &b->comm);
}

static const char *id(const void *results, size_t i)
{
    const struct sand_coll_results *r = results;
    return r->cases[i].cell[SAND_COLL_ID];
}

static const char *reason(const void *results, size_t i)
{
    const struct sand_coll_results *r = results;
    if (r->cases[i].class == SAND_COLL_SKIPPED)
        return r->cases[i].why;
    return r->terms[i].time_s > 0 ? NULL : "no kernel of the catalogue can do it";
}

static void print_row(const void *results, size_t i, const char *text, FILE *out)
{
    const struct sand_coll_results *r = results;
    const struct sand_predicted_rows rows = sand_coll_predicted(r);
    char predicted[64] = "no prediction";
    if (r->terms[i].time_s > 0)
        snprintf(predicted, sizeof predicted, "%11.1f us %+6.1f%% %s", 1e6 * r->terms[i].time_s,
                 100 * sand_predicted_error(&rows, i), r->terms[i].kernel->id);
    fprintf(out, "  %-20s %12.0f B %11.1f us %-36s  %.70s\n", id(r, i),
            r->cases[i].collective.bytes, 1e6 * r->cases[i].measured_s, predicted, text);
}

struct sand_predicted_rows sand_coll_predicted(const struct sand_coll_results *r)
{
    static const struct sand_predicted_kind kind = {.measured_s = measured_s,
                                                    .predicted_s = predicted_s,
                                                    .is_specified = is_specified,
                                                    .is_equal = is_equal,
                                                    .id = id,
                                                    .reason = reason,
                                                    .print = print_row};
    return (struct sand_predicted_rows){.kind = &kind, .results = r, .n = r->n};
}

int sand_coll_is_scored(const struct sand_coll_results *r, size_t i)
{
    return is_specified(r, i) && predicted_s(r, i) > 0;
}

// ---- tables -------------------------------------------------------------------------------------

static enum sand_rc print_sizes(const struct sand_coll_results *r, uint8_t *in, FILE *out)
{
    static const struct {
        const char *name;
        double from, below;
    } sizes[] = {{"below 64 KiB", 0, 65536},
                 {"64 KiB to 1 MiB", 65536, 1048576},
                 {"from 1 MiB", 1048576, 1e300},
                 {"of it, from 64 MiB", 67108864, 1e300}};
    const struct sand_predicted_rows rows = sand_coll_predicted(r);
    sand_predicted_heading("by message size", out);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        for (size_t i = 0; i < r->n; i++) {
            const double bytes = r->cases[i].collective.bytes;
            in[i] = sand_coll_is_scored(r, i) && bytes >= sizes[k].from && bytes < sizes[k].below;
        }
        SAND_TRY(sand_predicted_line(&rows, sizes[k].name, in, out));
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
    const struct sand_predicted_rows rows = sand_coll_predicted(r);
    sand_predicted_heading(what, out);
    for (size_t i = 0; i < r->n; i++) {
        int first = sand_coll_is_scored(r, i);
        for (size_t j = 0; j < r->n; j++) {
            in[j] = first && sand_coll_is_scored(r, j) &&
                    strcmp(key(&r->cases[j]), key(&r->cases[i])) == 0;
            if (in[j] && j < i)
                first = 0;
        }
        if (first)
            SAND_TRY(sand_predicted_line(&rows, key(&r->cases[i]), in, out));
    }
    return SAND_OK;
}

// ---- rows ---------------------------------------------------------------------------------------

static const char *platform_of(const void *results, size_t i)
{
    const struct sand_coll_results *r = results;
    return r->cases[i].cell[SAND_COLL_PLATFORM];
}

static void print_listed(const struct sand_coll_results *r, FILE *out)
{
    fprintf(out, "\nlisted without score\n");
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].class == SAND_COLL_LISTED)
            print_row(r, i, r->cases[i].why, out);
}

static enum sand_rc print_all(const struct sand_coll_results *r, uint8_t *in, FILE *out)
{
    const struct sand_predicted_rows rows = sand_coll_predicted(r);
    struct sand_error_figures all;
    SAND_TRY(print_sizes(r, in, out));
    SAND_TRY(print_by(r, "by source", key_source, in, out));
    SAND_TRY(print_by(r, "by machine", key_machine, in, out));
    SAND_TRY(print_by(r, "by network", key_network, in, out));
    SAND_TRY(print_by(r, "by collective", key_kind, in, out));
    for (size_t i = 0; i < r->n; i++)
        in[i] = (uint8_t)sand_coll_is_scored(r, i);
    SAND_TRY(sand_predicted_line(&rows, "all", in, out));
    fprintf(out, "\nworst rows (size, measured, predicted, error, kernel)\n");
    SAND_TRY(sand_predicted_worst(&rows, N_WORST, platform_of, out));
    SAND_TRY(sand_predicted_figures(&rows, in, &all));
    print_listed(r, out);
    sand_predicted_skipped(&rows, out);
    fputc('\n', out);
    sand_predicted_overall("overall", &all, out);
    return SAND_OK;
}

enum sand_rc sand_coll_report_print(const struct sand_coll_results *r, FILE *out)
{
    uint8_t *in = sand_calloc(r->n, 1);
    const enum sand_rc rc = in == NULL ? SAND_ERR_NOMEM : print_all(r, in, out);
    sand_free(in);
    return rc;
}
