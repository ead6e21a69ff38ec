/* Sandtable policy ABI, version 0 (may break until the scheduling policies are complete).
 * A policy is a table of functions; the host is another. Pure C, nothing else is included.
 * SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later
 *
 * Rules. State lives only in `self`. No clock, no random numbers, no threads, no files of its own:
 * the host's table offers time and draws. Every function that returns int returns 0 on success;
 * anything else fails the run unit with the message given to host->fail, save where an answer is
 * named (host->start, host->probe). All times are nanoseconds since the start of the experiment
 * unless the name ends in _s. A plug-in is a shared object that exports one or more of the four
 * entry symbols at the end of this file; built-ins are the same tables in a static array.
 *
 * Views show the moment of the call. The arrays stay readable until the callback returns, but a
 * start() changes what a later call shows, so a policy that has started a job asks again. The host
 * and its table outlive every `self`.
 *
 * Growth. Tables and the host's table start with their size and are only ever appended to; views
 * and requests keep their layout within one ABI version. */
#ifndef SANDTABLE_POLICY_H
#define SANDTABLE_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SANDTABLE_ABI_VERSION 0u
#define SANDTABLE_NONE UINT32_MAX

/* A plug-in built with -fvisibility=hidden exports its entry symbols and nothing else. */
#if defined(__GNUC__)
#define SANDTABLE_EXPORT __attribute__((visibility("default")))
#else
#define SANDTABLE_EXPORT
#endif

/* ---- declared parameters --------------------------------------------------------------------- */

enum sandtable_dim {
    SANDTABLE_NUMBER,     /* "1.5" */
    SANDTABLE_COUNT,      /* "16" */
    SANDTABLE_FRACTION,   /* "0.41" or "41%" */
    SANDTABLE_TIME_S,     /* "10min", in seconds here */
    SANDTABLE_BYTES,      /* "80GB" */
    SANDTABLE_RATE_PER_S, /* "4e-3/d", per second here */
    SANDTABLE_WORD        /* one of `words`; its place among them here, counted from 0 */
};

/* The spec is checked against these before a run starts. `required`: no default. Bounds are
 * inclusive, in SI; INFINITY is a bound that never binds. Names are unique, doc is one sentence. */
struct sandtable_param {
    const char *name;
    uint32_t dim; /* enum sandtable_dim */
    uint32_t required;
    double default_value, min, max;
    const char *doc;
    const char *const *words; /* SANDTABLE_WORD: ends with NULL; min and max are not used */
};

/* ---- views ----------------------------------------------------------------------------------- */

enum sandtable_node_state {
    SANDTABLE_NODE_IDLE,
    SANDTABLE_NODE_ALLOCATED,
    SANDTABLE_NODE_SPARE, /* healthy, set apart for recovery */
    SANDTABLE_NODE_DOWN,  /* failed or in repair */
    SANDTABLE_NODE_DRAINED,
    SANDTABLE_NODE_HELD
};

struct sandtable_node {
    uint32_t node, state; /* enum sandtable_node_state */
    uint32_t job;         /* SANDTABLE_NONE: none, or several */
    uint32_t n_gpus;
    /* That a job can get now: all of an idle node, none of a node that is whole or about to leave
     * for repair; of others where jobs may share nodes, what is left beside the jobs on it. */
    uint32_t free_gpus;
    uint32_t leaf, pod; /* fabric place of its first NIC */
    uint32_t rack, row, hall;
};

enum sandtable_job_state {
    SANDTABLE_JOB_FUTURE,
    SANDTABLE_JOB_WAITING,
    SANDTABLE_JOB_RUNNING,
    SANDTABLE_JOB_RECOVERING,
    SANDTABLE_JOB_ENDED
};

/* A job on a node and the GPUs it holds there. */
struct sandtable_tenant {
    uint32_t job, n_gpus;
};

struct sandtable_job {
    uint32_t job, state; /* enum sandtable_job_state */
    uint32_t n_nodes;
    /* GPUs that it holds on each of its nodes: all of them, unless the job asks for less than one
     * node and jobs may share nodes. */
    uint32_t node_gpus;
    int64_t submit_ns;
    int64_t start_ns;    /* -1: not started */
    int64_t walltime_ns; /* requested; -1: unknown */
    /* Running or recovering: when the request says it ends (start_ns + walltime_ns; the host moves
     * a date that has passed to the next nanosecond). -1: not started, or nothing requested. */
    int64_t end_ns;
};

/* ---- events ---------------------------------------------------------------------------------- */

enum sandtable_event_kind {
    SANDTABLE_EVENT_JOB_ARRIVED,
    SANDTABLE_EVENT_JOB_STARTED,
    SANDTABLE_EVENT_JOB_ENDED,
    SANDTABLE_EVENT_NODE_FAILED,
    SANDTABLE_EVENT_NODE_REPAIRED,
    SANDTABLE_EVENT_CHECKPOINT_DURABLE,
    SANDTABLE_EVENT_TIMER
};

struct sandtable_event {
    uint32_t kind;      /* enum sandtable_event_kind */
    uint32_t job, node; /* SANDTABLE_NONE where it does not apply */
    int64_t date_ns;
};

/* ---- what the host offers ----------------------------------------------------------------------
 */

struct sandtable_host {
    uint32_t struct_size;
    void *impl; /* the host's own */
    int64_t (*now_ns)(const struct sandtable_host *);
    /* A uniform draw in (0,1) at address `index` of this policy's stream: the same address gives
     * the same number, whatever was drawn before. */
    double (*draw)(const struct sandtable_host *, uint64_t index);
    /* A declared parameter, in SI units; NaN for a name that was not declared. Valid in create. */
    double (*param)(const struct sandtable_host *, const char *name);
    /* Says why a call is going to fail, and returns a non-zero value to return. */
    int (*fail)(const struct sandtable_host *, const char *message);
    /* Read-only views; *out points at an array of the returned length. Jobs are those that wait, in
     * queue order, then those that run, in the order of their starts. A job's number is that of the
     * results; jobs to come are not shown, and one that has ended is forgotten once on_event() has
     * been told (without one: at once). O(nodes), O(jobs shown). */
    size_t (*nodes)(const struct sandtable_host *, const struct sandtable_node **out);
    size_t (*jobs)(const struct sandtable_host *, const struct sandtable_job **out);
    /* The waiting jobs in queue order (submit date, then document order). */
    size_t (*queue)(const struct sandtable_host *, const uint32_t **out);
    /* Would the place policy find `job` a place now? Writes n_nodes ids; 0 = yes. */
    int (*probe)(const struct sandtable_host *, uint32_t job, uint32_t *nodes, size_t n);
    /* Starts a waiting job now, placed by the place policy. 0 = started, 1 = no place for it. */
    int (*start)(const struct sandtable_host *, uint32_t job);
    /* Calls decide() again at the given date, which is after now. */
    int (*wake_at)(const struct sandtable_host *, int64_t date_ns);
    /* The view of one job, NULL for one to come, one forgotten and a number that is no job's. What
     * a policy that follows the events asks for instead of all jobs. O(1). */
    const struct sandtable_job *(*job)(const struct sandtable_host *, uint32_t job);
    /* How many nodes are idle: what start() can give away. O(1). */
    size_t (*free_nodes)(const struct sandtable_host *);
    /* How long a recorded job is going to run, -1 for others. No scheduler knows this: it serves
     * bounds, and policies that repeat simulators which looked. */
    int64_t (*recorded_ns)(const struct sandtable_host *, uint32_t job);
    /* start(), on the n_nodes idle nodes given in rank order; the place policy is not asked. */
    int (*start_on)(const struct sandtable_host *, uint32_t job, const uint32_t *nodes, size_t n);
    /* Does the experiment let jobs of less than a node share nodes (allocation="gpus")? */
    int (*shares_nodes)(const struct sandtable_host *);
    /* The jobs on a node, in the order in which they came; none for a number that is no node's.
     * O(1). */
    size_t (*tenants)(const struct sandtable_host *, uint32_t node,
                      const struct sandtable_tenant **out);
    /* When a job started by the trace it is from, -1 if the trace does not say. */
    int64_t (*recorded_start_ns)(const struct sandtable_host *, uint32_t job);
    /* fail(), because of a job: the host adds its name and the row it was read from. */
    int (*fail_job)(const struct sandtable_host *, uint32_t job, const char *message);
    /* Has the cluster groups of nodes of which jobs may ask for one? */
    int (*has_groups)(const struct sandtable_host *);
    /* The nodes that a job may have are those from *first to *end - 1: all of them, unless it asks
     * for a group. O(groups). */
    void (*eligible)(const struct sandtable_host *, uint32_t job, uint32_t *first, uint32_t *end);
};

/* ---- schedule: who starts
 * ------------------------------------------------------------------------ */

struct sandtable_schedule {
    uint32_t struct_size, abi_version;
    const char *type, *version, *summary; /* "schedule/fifo" */
    const struct sandtable_param *params;
    size_t n_params;
    /* create and destroy are called once each, for every family; *self starts as NULL. */
    int (*create)(const struct sandtable_host *, void **self);
    int (*on_event)(void *self, const struct sandtable_event *); /* may be NULL */
    /* Once per instant at which something happened; with events="each", after every event. */
    int (*decide)(void *self);
    void (*destroy)(void *self);
    /* 1: understands jobs that hold part of a node. Others are refused where jobs share nodes,
     * since what they count as free would not be what there is. */
    uint32_t shares_nodes;
};

/* ---- place: on which nodes
 * ------------------------------------------------------------------------ */

struct sandtable_place_request {
    uint32_t job, n_nodes;
    uint32_t node_gpus; /* on each of them; less than a node has: the job shares its one node */
    const struct sandtable_node *nodes; /* every node of the cluster; nodes[i].node == i */
    size_t n_all;
    const uint32_t *allowed; /* ids of the nodes that have room for it, ascending */
    size_t n_allowed;
};

struct sandtable_place {
    uint32_t struct_size, abi_version;
    const char *type, *version, *summary; /* "place/first-fit" */
    const struct sandtable_param *params;
    size_t n_params;
    int (*create)(const struct sandtable_host *, void **self);
    /* Writes request->n_nodes distinct allowed ids, in rank order, to out and sets *found = 1;
     * *found = 0 when there is no place. Also asked when a job restarts on changed nodes: allowed
     * then holds just its n_nodes nodes, and the answer is their new rank order. */
    int (*place)(void *self, const struct sandtable_place_request *, uint32_t *out, int *found);
    void (*destroy)(void *self);
};

/* ---- checkpoint: when
 * ------------------------------------------------------------------------------- */

struct sandtable_checkpoint_context {
    uint32_t job;
    double step_s;    /* current step time */
    double stall_s;   /* time training stands still for a save */
    double write_s;   /* time until a save is durable, >= stall_s */
    double restart_s; /* mean detect + diagnose + restart + restore */
    double mtbf_s;    /* mean time between interruptions of this job; infinity: none */
};

struct sandtable_checkpoint_plan {
    uint32_t save;     /* 0: no further saves */
    double interval_s; /* useful time until the next save starts (at the next step boundary);
                          finite, > 0 */
};

/* The shortest interval at which a save is durable before the next one begins: write_s for saves
 * that are written while training goes on (write_s > stall_s), else 0. */
static inline double
sandtable_shortest_interval_s(const struct sandtable_checkpoint_context *context)
{
    return context->write_s > context->stall_s ? context->write_s : 0.0;
}

struct sandtable_checkpoint {
    uint32_t struct_size, abi_version;
    const char *type, *version, *summary; /* "checkpoint/daly" */
    const struct sandtable_param *params;
    size_t n_params;
    int (*create)(const struct sandtable_host *, void **self);
    /* Asked at every (re)start, and after every save when training goes on again. */
    int (*next)(void *self, const struct sandtable_checkpoint_context *,
                struct sandtable_checkpoint_plan *out);
    void (*destroy)(void *self);
};

/* ---- recover: with which nodes
 * ------------------------------------------------------------------------ */

enum sandtable_recover_action {
    SANDTABLE_RECOVER_SAME, /* restart on the same nodes (nothing has to be replaced) */
    /* Take `node`, one of spares or idle, in place of the failed one. The failed node itself is
     * among them once it is back from repair. */
    SANDTABLE_RECOVER_REPLACE,
    SANDTABLE_RECOVER_WAIT /* ask again when a node is repaired or becomes free */
};

struct sandtable_recover_request {
    uint32_t job, failed_node;
    uint32_t must_replace;              /* 1: the failed node has left for repair */
    uint32_t node_gpus;                 /* that the job holds on each of its nodes */
    const struct sandtable_node *nodes; /* every node of the cluster; nodes[i].node == i */
    size_t n_all;
    const uint32_t *spares; /* hot spares that are free, ascending */
    size_t n_spares;
    const uint32_t *idle; /* other healthy nodes that have room for the job, ascending */
    size_t n_idle;
};

struct sandtable_recover_plan {
    uint32_t action; /* enum sandtable_recover_action */
    uint32_t node;
};

struct sandtable_recover {
    uint32_t struct_size, abi_version;
    const char *type, *version, *summary; /* "recover/spare" */
    const struct sandtable_param *params;
    size_t n_params;
    int (*create)(const struct sandtable_host *, void **self);
    /* Asked once per failed node, when diagnosis ends and again after every wait. */
    int (*plan)(void *self, const struct sandtable_recover_request *,
                struct sandtable_recover_plan *out);
    void (*destroy)(void *self);
};

/* ---- entry symbols of a plug-in
 * ------------------------------------------------------------------------- */

typedef const struct sandtable_schedule *sandtable_schedule_entry(void);
typedef const struct sandtable_place *sandtable_place_entry(void);
typedef const struct sandtable_checkpoint *sandtable_checkpoint_entry(void);
typedef const struct sandtable_recover *sandtable_recover_entry(void);

SANDTABLE_EXPORT const struct sandtable_schedule *sandtable_schedule_v0(void);
SANDTABLE_EXPORT const struct sandtable_place *sandtable_place_v0(void);
SANDTABLE_EXPORT const struct sandtable_checkpoint *sandtable_checkpoint_v0(void);
SANDTABLE_EXPORT const struct sandtable_recover *sandtable_recover_v0(void);

#ifdef __cplusplus
}
#endif

#endif
