// sandtable validate-schedule: a schedule policy against a schedule that another simulator made.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "clichild.h"
#include "mem.h"
#include "schedulecheck.h"

enum { KEY_NODES = 256, KEY_EVENTS, KEY_PARAM, KEY_PLUGIN, KEY_COLUMNS, KEY_GPUS, KEY_PLACE };

static const double tolerance_s = 1e-3; // simulators print milliseconds to microseconds

struct options {
    const char *file, *columns;
    uint32_t n_nodes, gpus_per_node;
    const char *place;
    struct sand_choice policy;
    enum sand_events events;
    struct sand_choice_param *params;
    size_t n_params, capacity;
    struct sand_arena arena;
};

static const char doc[] =
    "Examples:\n"
    "  sandtable validate-schedule jobs.csv --nodes 128 --policy schedule/easy-nodes\n"
    "  sandtable validate-schedule jobs.csv.xz --nodes 100 --events each "
    "--policy schedule/easy-counted-cqsim\n"
    "\n"
    "Replays the jobs of a CSV (plain, .xz or .gz) on an empty cluster, of one-GPU nodes unless "
    "--gpus-per-node says else, and compares the start times with the file's, to a millisecond. "
    "Columns: job_id, submit_s, nodes, "
    "runtime_s, walltime_s, start_s; others are ignored. A job runs min(runtime, walltime); one "
    "whose walltime is empty, 0 or negative has none, and the report counts these. Equal "
    "submit times queue in the order of the rows. Exit status 1 if any job starts at another time.";

static const struct argp_option options[] = {
    {"nodes", KEY_NODES, "N", 0, "Nodes of the cluster", 0},
    {"gpus-per-node", KEY_GPUS, "N", 0,
     "GPUs of a node; above 1 the sizes in the file are GPUs and jobs of less than a node share "
     "nodes (allocation=\"gpus\")",
     0},
    {"place", KEY_PLACE, "NAME", 0, "Place policy; default: place/first-fit", 0},
    {"policy", 'p', "NAME", 0, "Schedule policy; `sandtable policy list' names them", 0},
    {"param", KEY_PARAM, "NAME=VALUE", 0, "A parameter of the policy; may be given more than once",
     0},
    {"plugin", KEY_PLUGIN, "FILE.so", 0, "The policy is in this plug-in", 0},
    {"events", KEY_EVENTS, "HOW", 0,
     "instant: one decision for all events of a time (default); each: one after every event", 0},
    {"columns", KEY_COLUMNS, "MAP", 0,
     "Other column names: id=JOB,submit=SUBMIT,nodes=GPUS,run=DURATION,request=LIMIT,start=START",
     0},
    {0}};

static void add_param(struct options *o, struct argp_state *state, const char *text)
{
    const char *equals = strchr(text, '=');
    void *array = o->params;
    if (!equals || equals == text)
        argp_error(state, "--param is \"%s\"; write NAME=VALUE", text);
    char *name = sand_arena_strdup(&o->arena, text);
    if (!name || sand_grow(&array, &o->capacity, o->n_params + 1, sizeof *o->params) != SAND_OK)
        argp_failure(state, sand_rc_exit_status(SAND_ERR_NOMEM), 0, "out of memory");
    o->params = array;
    name[equals - text] = '\0';
    o->params[o->n_params++] =
        (struct sand_choice_param){.name = name, .text = name + (equals - text) + 1};
}

static enum sand_events events_of(struct argp_state *state, const char *text)
{
    if (strcmp(text, "each") == 0)
        return SAND_EVENTS_EACH;
    if (strcmp(text, "instant") != 0)
        argp_error(state, "--events is \"%s\"; write instant or each", text);
    return SAND_EVENTS_INSTANT;
}

static void check_complete(const struct options *o, struct argp_state *state)
{
    if (!o->file)
        argp_error(state, "a file is needed, e.g. schedule.csv");
    if (o->n_nodes == 0)
        argp_error(state, "--nodes is needed");
    if ((uint64_t)o->n_nodes * o->gpus_per_node > UINT32_MAX)
        argp_error(state, "%u nodes of %u GPUs are more than 4294967295 GPUs", o->n_nodes,
                   o->gpus_per_node);
    if (!o->policy.type)
        argp_error(state, "--policy is needed, e.g. --policy schedule/easy");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_NODES:
        o->n_nodes = sand_cli_count(state, "--nodes", arg, 1);
        return 0;
    case KEY_GPUS:
        o->gpus_per_node = sand_cli_count(state, "--gpus-per-node", arg, 1);
        return 0;
    case KEY_PLACE:
        o->place = arg;
        return 0;
    case 'p':
        o->policy.type = arg;
        return 0;
    case KEY_PARAM:
        add_param(o, state, arg);
        return 0;
    case KEY_PLUGIN:
        o->policy.plugin = arg;
        return 0;
    case KEY_EVENTS:
        o->events = events_of(state, arg);
        return 0;
    case KEY_COLUMNS:
        o->columns = arg;
        return 0;
    case ARGP_KEY_ARG:
        sand_cli_one_argument(state, &o->file, arg);
        return 0;
    case ARGP_KEY_END:
        check_complete(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_difference(const struct sand_schedule_difference *difference)
{
    const struct sand_schedule_row *row = difference->row;
    printf("  job %s (line %ld): the file says %.6f s, ", row->id, row->line, row->start_s);
    if (isnan(difference->start_s))
        printf("here it never starts\n");
    else
        printf("here it starts at %.6f s (%+.6f s)\n", difference->start_s,
               difference->start_s - row->start_s);
}

// Readers who take a walltime of 0 for a limit have to learn that it is none.
static void print_unlimited(const struct sand_schedule_trace *trace)
{
    const struct sand_schedule_row *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < trace->n; i++) {
        if (trace->rows[i].request_ns > 0)
            continue;
        if (!first)
            first = &trace->rows[i];
        n++;
    }
    if (first)
        printf(
            "%zu of %zu jobs have no walltime (empty, 0 or negative), the first in line %ld: they "
            "run their run time, and no policy that goes by requests knows their end\n",
            n, trace->n, first->line);
}

static void print_report(const struct options *o, const struct sand_schedule_trace *trace,
                         const struct sand_schedule_report *report)
{
    printf("%s: %zu jobs on %" PRIu32 " nodes ", o->file, trace->n, o->n_nodes);
    if (o->gpus_per_node > 1)
        printf("of %" PRIu32 " GPUs, %s, ", o->gpus_per_node, o->place);
    printf("under %s, a decision per %s\n", o->policy.type,
           o->events == SAND_EVENTS_EACH ? "event" : "instant");
    print_unlimited(trace);
    printf("mean wait %.3f s; of the file %.3f s\n", report->mean_wait_s, report->file_mean_wait_s);
    printf("%zu of %zu jobs start at another time than the file says%s\n", report->n_differ,
           trace->n, report->n_differ > 0 ? "; the first:" : "");
    for (size_t i = 0; i < report->n_differ && i < SAND_SCHEDULE_FIRST; i++)
        print_difference(&report->first[i]);
}

static enum sand_rc check(void *self, struct sand_diag *diag)
{
    struct options *o = self;
    struct sand_schedule_trace trace;
    struct sand_schedule_report report;
    o->policy.params = o->params;
    o->policy.n_params = o->n_params;
    const struct sand_schedule_check what = {.n_nodes = o->n_nodes,
                                             .gpus_per_node = o->gpus_per_node,
                                             .place = o->place,
                                             .policy = o->policy,
                                             .events = o->events,
                                             .tolerance_s = tolerance_s};
    enum sand_rc rc =
        sand_schedule_read(o->file, o->columns, o->n_nodes * o->gpus_per_node, &trace, diag);
    if (rc == SAND_OK)
        rc = sand_schedule_compare(&trace, &what, &report, diag);
    if (rc == SAND_OK) {
        print_report(o, &trace, &report);
        rc = report.n_differ > 0 ? SAND_ERR_UNIT : SAND_OK;
    }
    sand_schedule_clear(&trace);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "FILE.csv[.xz]", doc, NULL, NULL, NULL};
    struct options o = {.gpus_per_node = 1, .place = "place/first-fit"};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &o);
    const enum sand_rc rc =
        o.policy.plugin ? sand_cli_in_child(check, &o, o.policy.type, &diag) : check(&o, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_free(o.params);
    sand_arena_clear(&o.arena);
    return rc;
}

const struct sand_verb sand_verb_validate_schedule = {
    "validate-schedule", "compare a schedule policy with a published schedule", run};
