// sandtable step: one training step of one job on its fabric.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cachestore.h"
#include "cli.h"
#include "fabric.h"
#include "ids.h"
#include "mem.h"
#include "noderange.h"
#include "oracle.h"
#include "profiletable.h"
#include "spec.h"
#include "step.h"
#include "stepexplain.h"
#include "stepsearch.h"
#include "stepslow.h"
#include "train.h"

enum {
    KEY_NO_FOLD = 256,
    KEY_FORMAT,
    KEY_JOB,
    KEY_NODES,
    KEY_SLOW,
    KEY_EXPLAIN,
    KEY_STAGE,
    KEY_SEARCH,
    KEY_GPUS,
    KEY_BATCH,
    KEY_TOP,
    KEY_SIMULATE
};

static const char doc[] =
    "Examples:\n"
    "  sandtable step experiment.xml\n"
    "  sandtable step experiment.xml --set \"jobs/job/split/@pp=8\" --format=json\n"
    "  sandtable step experiment.xml --explain\n"
    "  sandtable step experiment.xml --search --gpus 1024 --batch 512\n"
    "\n"
    "Places the experiment's first training job on the first nodes of the healthy cluster (of its "
    "node group; or where --nodes says), "
    "simulates one step, and prints its time, what it consists of, the memory of the fullest GPU "
    "and the use of the links. With --search it looks for better splits of that job's model: all "
    "of them by a closed form, the best few simulated, those that exceed the memory left out.";

static const struct argp_option options[] = {
    {"job", KEY_JOB, "ID", 0, "Another job than the first training job", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default), json or csv; SI units in the latter two",
     0},
    {"nodes", KEY_NODES, "A-B,...", 0,
     "The nodes it runs on, in rank order, such as 0-255,3840-4095", 0},
    {"no-fold", KEY_NO_FOLD, NULL, 0,
     "Simulate every actor, flow and link instead of one of each class: the same answer, slowly; "
     "to a few per cent under spreading=\"hash\", whose flows are else held to one pace",
     0},
    {"slow", KEY_SLOW, "NODE[.GPU]=SPEED", 0,
     "A straggler: a node, or one GPU of it, at this share of its speed; may be repeated", 0},
    {"explain", KEY_EXPLAIN, NULL, 0,
     "Also phases, collectives and sends: algorithm, bytes of a hop, bottleneck link, latency, "
     "what "
     "overlaps, equation and source, to be redone by hand",
     0},
    {"stage", KEY_STAGE, "N", 0,
     "With --explain: the traffic of this pipeline stage; default: the one that computes longest",
     0},
    {"search", KEY_SEARCH, NULL, 0, "Rank the best splits instead of simulating the job's own", 0},
    {"gpus", KEY_GPUS, "N", 0, "With --search: on so many GPUs; default: the job's", 0},
    {"batch", KEY_BATCH, "N", 0, "With --search: sequences a step; default: the job's", 0},
    {"top", KEY_TOP, "N", 0, "With --search: shapes in the table; default: 10", 0},
    {"simulate", KEY_SIMULATE, "N", 0,
     "With --search: simulate the N best splits and those of the N best shapes; default: 12", 0},
    {0}};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, N_FORMATS };

struct step_options {
    struct sand_cli_load load;
    struct sand_cli_cache cache;
    const char *job, *nodes;
    enum format format;
    enum sand_folding folding;
    const char **slow;
    size_t n_slow, slow_capacity;
    int searches, explains;
    uint32_t stage;          // SAND_NONE: not given
    const char *search_only; // an option that was given and makes sense with --search alone
    struct sand_step_search search;
};

static enum format find_format(struct argp_state *state, const char *format)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (int i = 0; i < N_FORMATS; i++)
        if (strcmp(names[i], format) == 0)
            return (enum format)i;
    const char *nearest = sand_nearest(format, names, N_FORMATS);
    argp_error(state, "--format is \"%s\": must be text, json or csv%s%s%s", format,
               nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return FORMAT_TEXT;
}

static error_t parse_search(struct step_options *step, int key, char *arg, struct argp_state *state)
{
    static const struct {
        int key;
        const char *name;
        uint32_t most; // what a search of is no longer a matter of seconds
    } counts[] = {{KEY_GPUS, "--gpus", UINT32_MAX},
                  {KEY_BATCH, "--batch", UINT32_MAX},
                  {KEY_TOP, "--top", UINT32_MAX},
                  {KEY_SIMULATE, "--simulate", 10000}};
    uint32_t *const values[] = {&step->search.gpus, &step->search.batch, &step->search.top,
                                &step->search.simulate};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i].key != key)
            continue;
        *values[i] = sand_cli_count(state, counts[i].name, arg, 1);
        step->search_only = counts[i].name;
        if (*values[i] > counts[i].most)
            argp_error(state, "%s is \"%s\": at most %" PRIu32, counts[i].name, arg,
                       counts[i].most);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct step_options *step = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &step->load;
        state->child_inputs[1] = &step->cache;
        return 0;
    case KEY_JOB:
        step->job = arg;
        return 0;
    case KEY_NODES:
        step->nodes = arg;
        return 0;
    case KEY_FORMAT:
        step->format = find_format(state, arg);
        return 0;
    case KEY_NO_FOLD:
        step->folding = SAND_NO_FOLD;
        return 0;
    case KEY_SEARCH:
        step->searches = 1;
        return 0;
    case KEY_SLOW:
        if (sand_grow((void **)&step->slow, &step->slow_capacity, step->n_slow + 1,
                      sizeof *step->slow) != SAND_OK)
            return ENOMEM;
        step->slow[step->n_slow++] = arg;
        return 0;
    case KEY_EXPLAIN:
        step->explains = 1;
        return 0;
    case KEY_STAGE:
        step->stage = sand_cli_count(state, "--stage", arg, 0);
        return 0;
    case ARGP_KEY_END:
        if (step->searches && step->explains)
            argp_error(state, "one of --search and --explain at a time");
        if (step->searches && step->n_slow > 0)
            argp_error(state, "--search knows no stragglers: leave --slow out");
        if (step->stage != SAND_NONE && !step->explains)
            argp_error(state, "--stage goes with --explain");
        if (step->search_only && !step->searches)
            argp_error(state, "%s goes with --search", step->search_only);
        return 0;
    default:
        return parse_search(step, key, arg, state);
    }
}

// ---- the job
// --------------------------------------------------------------------------------------

static enum sand_rc no_such_job(const struct sand_experiment *experiment, const char *id,
                                struct sand_diag *diag)
{
    const char **names = sand_calloc(experiment->n_jobs, sizeof *names);
    if (!names)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < experiment->n_jobs; i++)
        names[i] = experiment->jobs[i].id;
    const char *nearest = sand_nearest(id, names, experiment->n_jobs);
    sand_free(names);
    return sand_fail(diag, SAND_ERR_USAGE, "--job is \"%s\": the experiment has no such job%s%s%s",
                     id, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                     nearest ? "\"?" : "");
}

static enum sand_rc find_job(const struct sand_experiment *experiment, const char *id,
                             const struct sand_job_spec **found, struct sand_diag *diag)
{
    for (size_t i = 0; i < experiment->n_jobs; i++) {
        const struct sand_job_spec *job = &experiment->jobs[i];
        if (id ? strcmp(job->id, id) != 0 : job->kind != SAND_JOB_TRAIN)
            continue;
        if (job->kind != SAND_JOB_TRAIN || !job->model)
            return sand_fail(diag, SAND_ERR_USAGE,
                             "--job is \"%s\": has a recorded duration and no model, so no step",
                             job->id);
        *found = job;
        return SAND_OK;
    }
    if (id)
        return no_such_job(experiment, id, diag);
    return sand_fail(diag, SAND_ERR_INPUT,
                     "the experiment has no training job; add one with a model");
}

// ---- the step
// -------------------------------------------------------------------------------------

static enum sand_rc solve(const struct sand_step_question *question, const char *cache,
                          struct sand_step_profile *profile, struct sand_diag *diag)
{
    struct sand_memory memory;
    struct sand_oracle *oracle = NULL;
    sand_step_warn(question, diag);
    SAND_TRY(sand_memory_check(
        question->job->model, &question->job->split,
        sand_cluster_least_memory(question->cluster, question->nodes, question->job->n_nodes),
        question->kernels, &memory, diag));
    SAND_TRY(sand_oracle_open(&oracle, diag));
    struct sand_cachestore *store =
        cache ? sand_cachestore_open(cache, SAND_CACHE_LIMIT_B, diag) : NULL;
    sand_oracle_use_store(oracle, store, sand_cli_cache_versions());
    const enum sand_rc rc = sand_oracle_step(oracle, question, profile, diag);
    sand_oracle_close(oracle);
    sand_cachestore_close(store, diag);
    return rc;
}

// The nodes asked for, or the first of the job's group.
static enum sand_rc choose_nodes(const struct sand_experiment *experiment,
                                 const struct sand_job_spec *job, const char *asked,
                                 uint32_t *nodes, struct sand_diag *diag)
{
    const struct sand_cluster *cluster = &experiment->cluster;
    uint32_t first, end;
    if (asked)
        return sand_cli_nodes("--nodes", asked, cluster->n_nodes, nodes, job->n_nodes, diag);
    sand_cluster_group_nodes(cluster, job->group, &first, &end);
    for (uint32_t i = 0; i < job->n_nodes; i++)
        nodes[i] = first + i;
    return SAND_OK;
}

static enum sand_rc explain(const struct step_options *step,
                            const struct sand_step_question *question,
                            const struct sand_profile_view *profile, struct sand_diag *diag)
{
    static void (*const printers[N_FORMATS])(const struct sand_explain_view *, FILE *) = {
        sand_explain_print_text, sand_explain_print_json, sand_explain_print_csv};
    const uint32_t pp = question->job->split.pp;
    const uint32_t stage =
        step->stage == SAND_NONE ? profile->profile->critical_stage : step->stage;
    struct sand_explain_view view = {.profile = profile};
    if (stage >= pp)
        return sand_fail(diag, SAND_ERR_USAGE,
                         "--stage is %" PRIu32 ": the pipeline of job \"%s\" has the stages 0 to "
                         "%" PRIu32,
                         stage, question->job->id, pp - 1);
    SAND_TRY(sand_cli_step_explain(question, stage, &view, diag));
    printers[step->format](&view, stdout);
    return SAND_OK;
}

// What a job is asked about on: freed by the caller.
struct place {
    struct sand_fabric *fabric;
    uint32_t *nodes;
    float *speeds; // NULL: all as new
};

static enum sand_rc answer_on(const struct step_options *step,
                              const struct sand_experiment *experiment,
                              const struct sand_job_spec *job, const struct place *place,
                              struct sand_diag *diag)
{
    static void (*const printers[N_FORMATS])(const struct sand_profile_view *, FILE *) = {
        sand_profile_print_text, sand_profile_print_json, sand_profile_print_csv};
    struct sand_step_profile profile = {0};
    struct sand_step_question question = {.cluster = &experiment->cluster,
                                          .kernels = experiment->kernels,
                                          .collectives = experiment->collectives,
                                          .fabric = place->fabric,
                                          .job = job,
                                          .nodes = place->nodes,
                                          .gpu_speed = place->speeds,
                                          .folding = step->folding};
    SAND_TRY(solve(&question, step->cache.dir, &profile, diag));
    const struct sand_profile_view view = {experiment, job, &profile, place->nodes};
    if (step->explains)
        return explain(step, &question, &view, diag);
    printers[step->format](&view, stdout);
    return SAND_OK;
}

static enum sand_rc find_place(const struct step_options *step,
                               const struct sand_experiment *experiment,
                               const struct sand_job_spec *job, struct place *place,
                               struct sand_diag *diag)
{
    place->nodes = sand_calloc(job->n_nodes, sizeof *place->nodes);
    if (!place->nodes)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    SAND_TRY(choose_nodes(experiment, job, step->nodes, place->nodes, diag));
    SAND_TRY(sand_cli_slow(step->slow, step->n_slow, &experiment->cluster, job, place->nodes,
                           &place->speeds, diag));
    return sand_fabric_build(&experiment->cluster, &place->fabric, diag);
}

static enum sand_rc simulate(const struct step_options *step,
                             const struct sand_experiment *experiment,
                             const struct sand_job_spec *job, struct sand_diag *diag)
{
    struct place place = {.nodes = NULL};
    SAND_TRY(sand_cli_check(experiment, NULL, NULL, diag));
    if (job->n_nodes > experiment->cluster.n_nodes)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "job \"%s\" asks for %" PRIu32 " nodes, the cluster has %" PRIu32, job->id,
                         job->n_nodes, experiment->cluster.n_nodes);
    enum sand_rc rc = find_place(step, experiment, job, &place, diag);
    if (rc == SAND_OK)
        rc = answer_on(step, experiment, job, &place, diag);
    sand_fabric_free(place.fabric);
    sand_free(place.nodes);
    sand_free(place.speeds);
    return rc;
}

static enum sand_rc search(const struct step_options *step,
                           const struct sand_experiment *experiment,
                           const struct sand_job_spec *job, struct sand_diag *diag)
{
    static sand_search_printer *const printers[N_FORMATS] = {
        sand_search_print_text, sand_search_print_json, sand_search_print_csv};
    struct sand_step_search search = step->search;
    search.cache = step->cache.dir;
    search.print = printers[step->format];
    return sand_cli_step_search(&search, experiment, job, diag);
}

static enum sand_rc answer(const struct step_options *step,
                           const struct sand_experiment *experiment, struct sand_diag *diag)
{
    const struct sand_job_spec *job = NULL;
    SAND_TRY(find_job(experiment, step->job, &job, diag));
    return step->searches ? search(step, experiment, job, diag)
                          : simulate(step, experiment, job, diag);
}

static enum sand_rc execute(const struct step_options *step, struct sand_diag *diag)
{
    struct sand_spec *spec = NULL;
    SAND_TRY(sand_cli_load_spec(&step->load, &spec, diag));
    enum sand_rc rc = answer(step, sand_spec_experiment(spec), diag);
    sand_spec_free(spec);
    return rc;
}

static enum sand_rc run(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&sand_cli_load_argp, 0, NULL, 0}, {&sand_cli_cache_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {options, parse, "EXPERIMENT.xml", doc, children, NULL, NULL};
    struct step_options step = {
        .folding = SAND_FOLD, .stage = SAND_NONE, .search = {.top = 10, .simulate = 12}};
    struct sand_diag diag = {0};
    sand_cli_parse(&argp, argc, argv, &step);
    enum sand_rc rc = execute(&step, &diag);
    sand_diag_print(&diag, stderr);
    sand_diag_clear(&diag);
    sand_cli_load_clear(&step.load);
    sand_free(step.slow);
    return rc;
}

const struct sand_verb sand_verb_step = {"step", "simulate one training step of a job", run};
