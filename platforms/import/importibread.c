// Reads what ibnetdiscover writes: switches, channel adapters, ports and the rate of every link.
// Source of the grammar: ibnetdiscover(8), "Topology file format", infiniband-diags 43.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "importib.h"

// ---- lines ----

// The text between the next pair of quotes after *at, which then stands behind it; NULL: there is
// none.
static const char *quoted(struct import_job *job, const char **at)
{
    const char *begin = strchr(*at, '"');
    const char *end = begin ? strchr(begin + 1, '"') : NULL;
    if (end == NULL)
        return NULL;
    *at = end + 1;
    return sand_arena_printf(&job->arena, "%.*s", (int)(end - begin - 1), begin + 1);
}

static int read_number(const char **at, uint32_t *value)
{
    char *end;
    if (**at < '0' || **at > '9')
        return 0;
    unsigned long number = strtoul(*at, &end, 10);
    if (number > 1000000)
        return 0;
    *value = (uint32_t)number;
    *at = end;
    return 1;
}

// Data rate of one lane, one direction, as the speeds are called (InfiniBand Trade Association,
// roadmap): 8b/10b up to QDR, 64b/66b from FDR on.
static const struct {
    const char *name;
    double Gbps;
} lanes[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
             {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

// "4xNDR" at the end of a line; 0 if it does not say.
static double rate_of(const char *text)
{
    for (const char *x = strchr(text, 'x'); x != NULL; x = strchr(x + 1, 'x')) {
        const char *width = x;
        while (width > text && width[-1] >= '0' && width[-1] <= '9')
            width--;
        size_t length = strcspn(x + 1, " \t");
        for (size_t i = 0; width < x && i < sizeof lanes / sizeof *lanes; i++)
            if (strlen(lanes[i].name) == length && strncmp(x + 1, lanes[i].name, length) == 0)
                return strtod(width, NULL) * lanes[i].Gbps * 1e9 / 8;
    }
    return 0;
}

enum ib_kind { IB_SWITCH, IB_ADAPTER, IB_ROUTER };

static int read_machine(struct import_job *job, struct ib_fabric *f, const struct import_line *line,
                        enum ib_kind kind)
{
    struct ib_machine made = {
        .line = line->number, .is_switch = kind == IB_SWITCH, .is_aside = kind == IB_ROUTER};
    const char *at = line->text + strcspn(line->text, " \t");
    at += strspn(at, " \t");
    if (!read_number(&at, &made.n_ports) || (made.guid = quoted(job, &at)) == NULL)
        return import_refuse(job, line->number,
                             "\"%.200s\" breaks off: a port count and a quoted id must follow; the "
                             "file is truncated",
                             line->text);
    made.name = quoted(job, &at);
    if (made.name == NULL || *made.name == '\0')
        made.name = made.guid;
    void *machines = f->machines;
    if (sand_grow(&machines, &f->capacity, f->n + 1, sizeof *f->machines) != SAND_OK)
        return import_no_memory(job);
    f->machines = machines;
    f->machines[f->n++] = made;
    return 1;
}

// A way to other subnets, which are not in the file.
static void read_router(struct import_job *job, struct ib_fabric *f, const struct import_line *line)
{
    if (read_machine(job, f, line, IB_ROUTER))
        import_unknown(job, line->number, "router \"%.100s\" is left out: no other subnet is here",
                       f->machines[f->n - 1].name);
}

// [1](guid) "S-0002"[19](guid)   # "name" lid 5 4xNDR
static int read_port(struct import_job *job, struct ib_fabric *f, const struct import_line *line)
{
    struct ib_port made = {.line = line->number};
    const char *at = line->text + 1;
    if (f->n == 0)
        return import_refuse(job, line->number,
                             "a port stands before any Switch or Ca line; the "
                             "file has no beginning");
    made.owner = (uint32_t)f->n - 1;
    int whole = read_number(&at, &made.number) && *at == ']';
    whole = whole && (made.peer = quoted(job, &at)) != NULL && *at++ == '[';
    whole = whole && read_number(&at, &made.peer_port) && *at == ']';
    if (!whole)
        return import_refuse(
            job, line->number,
            "\"%.200s\" breaks off: [port] \"id\"[port] must stand there; the file "
            "is truncated",
            line->text);
    made.Bps = rate_of(at);
    if (!(made.Bps > 0))
        import_unknown(job, line->number,
                       "port %" PRIu32 " of \"%s\" shows no width and speed such as 4xNDR",
                       made.number, f->machines[made.owner].name);
    void *ports = f->ports;
    if (sand_grow(&ports, &f->ports_capacity, f->n_ports + 1, sizeof *f->ports) != SAND_OK)
        return import_no_memory(job);
    f->ports = ports;
    f->ports[f->n_ports++] = made;
    return 1;
}

static int starts_with(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0;
}

// Lines that only repeat ids.
static int is_passed_over(const char *text)
{
    static const char *const words[] = {
        "vendid=", "devid=",       "sysimgguid=", "switchguid=", "caguid=",
        "rtguid=", "switchguids=", "caguids=",    "DR path ",    "#"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts_with(text, words[i]))
            return 1;
    return *text == '\0';
}

static int read_all(struct import_job *job, struct ib_fabric *f)
{
    struct import_lines lines;
    if (!import_lines_of(job, &lines))
        return 0;
    for (size_t i = 0; i < lines.n && job->rc == SAND_OK; i++) {
        const struct import_line *line = &lines.lines[i];
        if (starts_with(line->text, "Switch\t") || starts_with(line->text, "Switch "))
            read_machine(job, f, line, IB_SWITCH);
        else if (starts_with(line->text, "Ca\t") || starts_with(line->text, "Ca "))
            read_machine(job, f, line, IB_ADAPTER);
        else if (starts_with(line->text, "Rt\t") || starts_with(line->text, "Rt "))
            read_router(job, f, line);
        else if (*line->text == '[')
            read_port(job, f, line);
        else if (!is_passed_over(line->text))
            import_unknown(job, line->number, "\"%.200s\" is not understood; passed over",
                           line->text);
    }
    if (f->n == 0 && job->n_refused == 0)
        return import_refuse(job, 0, "holds no Switch and no Ca; this is no ibnetdiscover output");
    return job->n_refused == 0 && job->rc == SAND_OK;
}

// ---- checks ----

static int index_guids(struct import_job *job, struct ib_fabric *f)
{
    size_t a, b;
    for (size_t i = 0; i < f->n; i++)
        if (!import_index_add(job, &f->guids, f->machines[i].guid, i))
            return 0;
    import_index_sort(&f->guids);
    const char *twice = import_index_twice(&f->guids, &a, &b);
    if (twice == NULL)
        return 1;
    return import_refuse(job, f->machines[b].line,
                         "\"%s\" (\"%s\") is described twice, first in line %ld", twice,
                         f->machines[b].name, f->machines[a].line);
}

static int by_owner(const void *left, const void *right)
{
    const struct ib_port *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

const struct ib_port *import_ib_port(const struct ib_fabric *f, uint32_t owner, uint32_t number)
{
    size_t low = 0, high = f->n_ports;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct ib_port *p = &f->ports[middle];
        if (p->owner < owner || (p->owner == owner && p->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    const struct ib_port *p = low < f->n_ports ? &f->ports[low] : NULL;
    return p && p->owner == owner && p->number == number ? p : NULL;
}

// Every link is written at both its ends: a half that lacks the other means a truncated file.
static void check_port(struct import_job *job, const struct ib_fabric *f, const struct ib_port *p)
{
    const struct ib_machine *owner = &f->machines[p->owner];
    size_t peer = import_index_find(&f->guids, p->peer);
    if (p->number == 0 || p->number > owner->n_ports)
        import_refuse(job, p->line,
                      "\"%s\" has %" PRIu32 " ports, but port %" PRIu32 " is described",
                      owner->name, owner->n_ports, p->number);
    if (peer == SIZE_MAX) {
        import_refuse(job, p->line,
                      "port %" PRIu32
                      " of \"%s\" leads to \"%s\", which the file does not describe: "
                      "it is truncated",
                      p->number, owner->name, p->peer);
        return;
    }
    const struct ib_port *back = import_ib_port(f, (uint32_t)peer, p->peer_port);
    if (back == NULL || strcmp(back->peer, owner->guid) != 0 || back->peer_port != p->number)
        import_refuse(job, p->line,
                      "port %" PRIu32 " of \"%s\" leads to port %" PRIu32
                      " of \"%s\", which does not "
                      "lead back: the file is truncated or joined from two",
                      p->number, owner->name, p->peer_port, f->machines[peer].name);
}

static int check_ports(struct import_job *job, struct ib_fabric *f)
{
    if (f->n_ports > 1)
        qsort(f->ports, f->n_ports, sizeof *f->ports, by_owner);
    for (size_t i = 1; i < f->n_ports; i++)
        if (f->ports[i].owner == f->ports[i - 1].owner &&
            f->ports[i].number == f->ports[i - 1].number)
            import_refuse(job, f->ports[i].line, "port %" PRIu32 " of \"%s\" is described twice",
                          f->ports[i].number, f->machines[f->ports[i].owner].name);
    for (size_t i = 0; i < f->n_ports; i++)
        check_port(job, f, &f->ports[i]);
    return job->n_refused == 0;
}

int import_ib_read(struct import_job *job, struct ib_fabric *fabric)
{
    return read_all(job, fabric) && index_guids(job, fabric) && check_ports(job, fabric);
}

void import_ib_clear(struct ib_fabric *fabric)
{
    sand_free(fabric->machines);
    sand_free(fabric->ports);
    import_index_free(&fabric->guids);
}
