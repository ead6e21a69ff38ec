// The state of one replication and what the files of this room call of each other (private).
// Who does what: pump.c the loop, jobslots.c which jobs are there, joblife.c a job from arrival to
// end, saving.c its checkpoints, progress.c how its steps are counted, recovery.c its faults,
// incidents.c their books, nodepool.c who has which node, slices.c who has which cubes,
// policyglue.c what policies see and may do, steptime.c how long a step takes, ailing.c parts that
// degrade in time, coupling.c who slows whom, sharedstorage.c what transfers and steps make of each
// other, windows.c the series, emit.c the rows.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_REPLAY_WORLD_H
#define SAND_SIM_REPLAY_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "agenda.h"
#include "ailing.h"
#include "bridge.h"
#include "coupling.h"
#include "diag.h"
#include "experiment.h"
#include "fabric.h"
#include "fault.h"
#include "ids.h"
#include "jobsource.h"
#include "ledger.h"
#include "names.h"
#include "oracle.h"
#include "policyhost.h"
#include "policywatch.h"
#include "progress.h"
#include "replay.h"
#include "results.h"
#include "sandtable/policy.h"
#include "sharedstorage.h"
#include "slices.h"
#include "sorter.h"
#include "stepprofile.h"

// Order of entries with one date.
enum sand_world_rank {
    SAND_RANK_JOB_END,
    SAND_RANK_COMMIT,
    SAND_RANK_REPAIR,
    SAND_RANK_FAULT,
    SAND_RANK_ARRIVAL,
    SAND_RANK_TIMER,
    SAND_RANK_END // of the experiment: after everything else of its date
};

enum sand_world_event {
    SAND_EVENT_JOB,     // subject = slot of a job: its phase ends, or a step boundary that matters
    SAND_EVENT_FLOW,    // subject = slot of a job: its transfer has ended
    SAND_EVENT_REPAIR,  // subject = node
    SAND_EVENT_FAULT,   // subject = node
    SAND_EVENT_ARRIVAL, // of the job that comes next
    SAND_EVENT_WAKE,    // the schedule policy asked for it
    SAND_EVENT_WINDOW,
    SAND_EVENT_STRIKE,  // subject = class of degradations
    SAND_EVENT_TOGGLE,  // subject = degradation: it goes down or comes up
    SAND_EVENT_NOTICED, // the same
    SAND_EVENT_HEALED,  // the same
    SAND_EVENT_TIMEOUT, // subject = job: cut off for too long
    SAND_EVENT_FOUND,   // transfers go on over other routes
    SAND_EVENT_END
};

// "No entry of the agenda is awaited." Sequences count up from 0 and never get here.
#define SAND_NO_ENTRY UINT64_MAX
#define SAND_NO_LIMIT UINT64_MAX

enum sand_job_phase {
    SAND_PHASE_FUTURE,
    SAND_PHASE_QUEUED,
    SAND_PHASE_STEPPING,
    SAND_PHASE_SAVING, // standing still for a save
    SAND_PHASE_DETECTING,
    SAND_PHASE_DIAGNOSING,
    SAND_PHASE_WAITING, // for nodes
    SAND_PHASE_RESTARTING,
    SAND_PHASE_RESTORING,
    SAND_PHASE_ENDED
};

enum sand_incident_part {
    SAND_PART_DETECT,
    SAND_PART_DIAGNOSE,
    SAND_PART_WAIT,
    SAND_PART_RESTART,
    SAND_PART_RESTORE,
    SAND_PART_RECOMPUTE,
    SAND_PART_CATCH_UP,
    SAND_PARTS
};

// One interruption of a job. Open until the job passes its high-water mark.
struct sand_incident {
    struct sand_fault fault;
    uint32_t job, parent;
    uint64_t gpus;      // of the job
    int recorded;       // the job has no steps: what was cut off is recomputed
    uint32_t next_open; // later open incident of the job
    int64_t fault_ns, recovered_ns;
    uint64_t steps_lost;
    int64_t partial_ns, repair_ns;
    int64_t parts_ns[SAND_PARTS]; // the job's sums at the fault while open, then its own parts
    int remedied;                 // diagnosis has ended and the remedy was applied
    int wait_reported;            // the wait stands among the decisions
    uint32_t missing_rank;        // place in the job's rank order still to be filled, or SAND_NONE
    uint32_t replacement;
};

// A save that is not durable yet.
struct sand_save {
    int active;
    uint64_t step;           // steps contained
    struct sand_spent spent; // of the attempt, up to it
    int64_t begin_ns, resume_ns;
};

// What a window adds up.
struct sand_job_window {
    int64_t stepping_ns; // all of it
    int64_t weighed_ns;  // of it under rates no longer in force,
    double active_ns;    // and how long GPUs computed then, their mean
    double flops; // a step's are spread evenly over it: one across a border counts on both sides
    sand_gpu_ns held_gpu_ns;
};

struct sand_step_answer {
    struct sand_step_answer *next; // of the same job
    struct sand_step_profile profile;
    uint32_t number; // row of the steps table
    uint32_t job;
    int64_t step_ns;
};

struct sand_glue;

struct sand_world_job {
    const struct sand_job_spec *spec; // the job's own copy
    struct sand_job_spec own;
    char *id;
    enum sand_job_phase phase;
    uint32_t index; // its number in the results
    uint32_t slot;  // the world's place for it, which another job gets later
    int forgotten;  // ended, and its rows are written; stays for the window's
    struct sand_world_job *active_before, *active_after;
    struct sandtable_job view;
    uint32_t group;  // of the ledger
    uint32_t *nodes; // rank order; SAND_NONE: to be replaced
    uint32_t n_held;
    int nodes_changed;              // since the last step question
    int64_t switching_ns;           // of circuits, before the next restart
    int moved;                      // since the last look at ailing parts
    struct sand_job_ailing *ailing; // NULL: nothing looked at yet
    uint32_t node_gpus;             // held on each of its nodes
    uint64_t gpus;                  // held in all
    uint64_t token;                 // sequence of the awaited EVENT_JOB entry
    uint64_t flow_token;            // sequence of the awaited EVENT_FLOW entry
    uint32_t flow;                  // of the bridge, or SAND_NONE
    uint32_t client_link;           // first of two links (up, down) while it runs, or SAND_NONE
    double bytes;                   // of a checkpoint, 0: unknown
    // Steps. `done` is brought up to date by sand_life_settle.
    uint64_t total, done, durable, highest; // highest: the high-water mark
    int64_t highest_part_ns; // recorded: the most of its one step that was done, of its record
    int64_t since_ns;        // booked until then
    struct sand_rate rate;   // of the attempt under way, or of the next
    struct sand_progress progress;           // of the attempt, also after its end
    struct sand_spent durable_spent;         // of the attempt, up to the last durable step
    struct sand_spent paused_spent;          // of the attempt, up to where the stretch began
    int64_t stretch_ns;                      // when it did
    int64_t resume_ns;                       // stands still until then: routes are being found
    struct sand_step_answer *answers;        // all so far, newest first
    const struct sand_step_profile *profile; // alone on its nodes, nothing faulty; or NULL
    uint32_t profile_number;
    double step_flops, step_hw_flops, step_tokens, peak_flops; // NaN: unknown
    // Saves.
    struct sand_glue *checkpoint; // NULL: never saves
    struct sandtable_checkpoint_plan plan;
    int64_t interval_ns;
    double last_interval_s; // last one among the decisions
    struct sand_save save;
    // Planned interruptions that wait until a save is durable.
    struct sand_fault *announced;
    size_t n_announced, announced_capacity;
    // Open incidents in order of their faults.
    uint32_t first_open, last_open;
    int64_t parts_ns[SAND_PARTS]; // recovery time by part, all incidents so far
    int64_t catch_up_ns;          // of it catch-up that a fault would turn into recompute
    // The attempt.
    int in_attempt;
    uint32_t attempt;
    int64_t attempt_ns;
    uint64_t attempt_first, attempt_lost;
    // Sums.
    int64_t start_ns, end_ns;
    uint64_t steps_lost, executed, incidents, planned, checkpoints, plans, stalls;
    int64_t executed_ns, neighbours_ns, transfers_ns, durable_ns, stall_ns;
    int64_t useful_ns; // of durable_ns what is neither slower than healthy nor waiting for data
    double executed_flops, executed_hw_flops, executed_peak_s; // the last: gpus x peak x time
    double plans_s;
    sand_gpu_ns held_gpu_ns;
    struct sand_job_window window;
    struct sand_coupled coupled;
    struct sand_job_shared *shared; // NULL: no transfer so far
};

struct sand_world_node {
    uint64_t fault_token, repair_token;
    uint32_t n_tenants;
    int struck;        // takes no new job and leaves for repair with the last one that is on it
    int64_t repair_ns; // of the fault that struck it
};

// Sums over jobs: a weighted mean is the quotient of two of them.
struct sand_world_totals {
    double flops, peak_s;           // executed
    double shared_peak_s;           // of it, lost to what else was on their links
    double neighbours_gpu_s;        // GPU-seconds lost to them
    double transfers_gpu_s;         // and to saves, restores and data on links
    double good_flops, held_peak_s; // survived over held
    double survived, run, total;    // GPU-seconds
    double tokens;
    int n_tokens;
    uint64_t incidents, planned;
    int64_t first_ns, last_ns; // while a job had started and not all had ended; last 0: none had
};

// Numbers of jobs and the slots they are in.
struct sand_job_numbers {
    struct sand_job_place {
        uint32_t number, slot; // slot SAND_NONE: free
    } * places;
    size_t n, n_places; // places: a power of two, or none
};

// A bound policy and the host's table it sees.
struct sand_glue {
    struct sandtable_host host;
    struct sand_policy policy;
    struct sand_world *world;
    void *self;
    uint32_t entity; // of its random stream
    int bound, created;
};

struct sand_world {
    const struct sand_experiment *experiment;
    const struct sand_cluster *cluster;
    struct sand_oracle *oracle;
    const struct sand_replay_options *options;
    const struct sand_sink *sink;
    struct sand_diag *diag;
    struct sand_rng rng;
    struct sand_bridge *bridge; // while the pump runs
    struct sand_fabric *fabric;
    struct sand_ledger *ledger;
    struct sand_fault_process *faults;
    struct sand_ailing *ailing; // NULL: no part degrades in time; else step times follow its fabric
    struct sand_agenda agenda;
    int64_t now_ns, end_ns;
    int ended;
    uint32_t gpus_per_node;

    // Links of the bridge: storage write, storage read, then two for each job that may transfer at
    // one time, handed out as they start.
    double *link_Bps;
    uint32_t n_links, max_flows;
    uint32_t *free_links; // the first of each two that nobody has
    uint32_t n_free_links;
    double write_Bps, read_Bps, client_node_Bps;
    struct sand_flow_end *flow_ends;
    struct sand_world_job **flow_jobs; // by flow number
    size_t flow_capacity;

    struct sand_world_node *nodes;
    struct sandtable_node *node_views;
    struct sandtable_tenant *tenants; // most_tenants places a node, in order of their coming
    uint32_t most_tenants;
    uint32_t *n_with_free;   // [g]: nodes of jobs, and idle ones, with g free GPUs
    uint32_t *room;          // scratch: nodes with room for a part of a node
    uint32_t *idle, *spares; // ascending ids, valid unless pools_stale
    uint32_t n_idle, n_spares;
    int pools_stale;
    struct sand_slices slices;
    uint32_t *stamp; // per node: last validation that saw it
    uint32_t stamps;
    uint32_t group_spare, group_down, group_fragment;

    // Jobs: of the source only the one that comes next, those that wait and those that run.
    struct sand_job_source source;
    struct sand_joblist *list;     // behind the source, when the experiment's own jobs are it
    struct sand_world_job *coming; // NULL: the source has no more
    struct sand_world_job **slots; // also those that are free
    size_t n_slots, slots_capacity;
    uint32_t *free_slots; // room for as many as there are slots
    size_t n_free_slots, free_capacity;
    struct sand_job_numbers numbers; // of jobs that have arrived and are not forgotten
    struct sandtable_job *job_views; // what the last call of the host's jobs() gave
    size_t views_capacity;
    uint32_t *queue; // numbers, by submit date, then as the source gave them
    size_t n_queue, queue_capacity;
    struct sand_world_job *first_active, *last_active; // in the order of their starts
    struct sand_world_job **leaving; // ended, and the schedule policy has not been told
    size_t n_leaving, leaving_capacity;
    struct sand_world_job **waiters; // jobs waiting for nodes, longest first
    size_t n_waiters, waiters_capacity;
    struct sand_names names; // classes and users
    struct sand_world_totals totals;
    struct sand_groups *groups;
    struct sand_sorter *job_rows; // rows come as jobs end, and go out by number
    uint32_t *placement;          // scratch, n_nodes

    struct sand_incident *incidents;
    size_t n_incidents, incidents_capacity;
    size_t n_answers;

    struct sand_coupling *coupling; // NULL: one job only
    struct sand_shared *shared;     // NULL: storage has a network of its own

    // What still lies ahead, for "nothing can ever come".
    int arrival_ahead;
    size_t n_repairs_ahead, n_moving, n_wakes_ahead;

    // This instant.
    int something_happened, nodes_freed, started_any;
    uint32_t idle_wakes; // wakes in a row in which nothing else happened
    int64_t wake_ns;     // last date asked for, -1: none

    struct sand_glue schedule, place, recover;
    struct sand_policy_watch watch;
    int deciding;
    enum sand_rc inner_rc; // of work done inside a callback
    int policy_failed;
    char policy_message[512];
    struct sandtable_event *events; // queued while a policy runs
    size_t n_events, events_capacity;

    // Windows.
    int64_t window_begin_ns;
    sand_gpu_ns window_booked[SAND_GPU_N_CLASSES];
    sand_gpu_ns window_full_gpu_ns; // stepping time of recorded jobs that have left
    double energy_J;
    uint32_t *day_counts; // unexpected interruptions per whole day
    size_t n_days;
};

// ---- world.c ------------------------------------------------------------------------------------

// Builds everything that needs no engine. On failure call sand_world_close all the same.
enum sand_rc sand_world_open(struct sand_world *w, const struct sand_experiment *experiment,
                             struct sand_oracle *oracle, const struct sand_replay_options *options,
                             const struct sand_sink *sink, struct sand_diag *diag);
void sand_world_close(struct sand_world *w);

// Puts an entry; dates past the experiment's end are dropped and give SAND_NO_ENTRY.
enum sand_rc sand_world_put(struct sand_world *w, int64_t date, enum sand_world_rank rank,
                            enum sand_world_event kind, uint32_t subject, uint64_t *token);

// a + b, INT64_MAX instead of an overflow; b >= 0.
int64_t sand_world_later(int64_t a, int64_t b);

// In hostile builds: the ledger balances, no job holds a node that is not its own. O(nodes).
enum sand_rc sand_world_check(struct sand_world *w);

// ---- jobslots.c ---------------------------------------------------------------------------------

enum sand_rc sand_jobs_open(struct sand_world *w);
void sand_jobs_close(struct sand_world *w);
// A job that has arrived and is not forgotten, by its number; else NULL. O(1).
struct sand_world_job *sand_jobs_find(const struct sand_world *w, uint32_t number);
// Takes the job that comes next in, and fetches the one after it. O(1) amortised.
enum sand_rc sand_jobs_arrive(struct sand_world *w, struct sand_world_job **job);
// The job joins those that are active, and leaves them.
void sand_jobs_activate(struct sand_world *w, struct sand_world_job *j);
void sand_jobs_deactivate(struct sand_world *w, struct sand_world_job *j);
// Frees the slot of a forgotten job.
void sand_jobs_release(struct sand_world *w, struct sand_world_job *j);
// The job has ended; it is known until the schedule policy has been told.
enum sand_rc sand_jobs_end(struct sand_world *w, struct sand_world_job *j);
// Writes the rows of the jobs that have ended and forgets them.
enum sand_rc sand_jobs_forget(struct sand_world *w);
// At the end: calls `last` for every job not forgotten, by number, then for those still to come.
enum sand_rc sand_jobs_rest(struct sand_world *w,
                            enum sand_rc (*last)(struct sand_world *, struct sand_world_job *));

// ---- joblife.c ----------------------------------------------------------------------------------

enum sand_rc sand_life_arrive(struct sand_world *w);
// Starts a queued job on `nodes` (validated).
enum sand_rc sand_life_start(struct sand_world *w, struct sand_world_job *j, const uint32_t *nodes);
// Books the job's time up to now: windows, open incidents, whole steps.
void sand_life_settle(struct sand_world *w, struct sand_world_job *j);
// Settles, then changes phase and ledger class.
void sand_life_phase(struct sand_world *w, struct sand_world_job *j, enum sand_job_phase phase);
// Begins (another) attempt: step time, checkpoint plan, first stretch of steps.
enum sand_rc sand_life_attempt(struct sand_world *w, struct sand_world_job *j);
// Goes on stepping with the plan in force.
enum sand_rc sand_life_step(struct sand_world *w, struct sand_world_job *j);
// Puts the next boundary that matters on the agenda.
enum sand_rc sand_life_plan(struct sand_world *w, struct sand_world_job *j);
// Ends the stretch of steps (settled, stepping): sums. Returns the time spent in a step not ended.
int64_t sand_life_pause(struct sand_world *w, struct sand_world_job *j);
// The one way to change how fast a started job steps: at this instant, from within its step under
// way (what is left of it goes on at the new rate), with everything replanned that hangs on a
// boundary. Steps done keep the times they took. The causes of `rate` are what `sandtable explain`
// tells. Between attempts it is the next one's. O(log agenda).
enum sand_rc sand_life_rate(struct sand_world *w, struct sand_world_job *j,
                            const struct sand_rate *rate);
// The same where only what one cause adds to a step changes.
enum sand_rc sand_life_slow(struct sand_world *w, struct sand_world_job *j,
                            enum sand_slow_cause cause, int64_t by_ns);
// Writes the attempt's row, if one is open.
enum sand_rc sand_life_close_attempt(struct sand_world *w, struct sand_world_job *j);
// A step boundary has come.
enum sand_rc sand_life_boundary(struct sand_world *w, struct sand_world_job *j);
// Makes the steps of the attempt up to `spent` safe: from at risk to useful, slowdown, data stall.
void sand_life_make_useful(struct sand_world *w, struct sand_world_job *j,
                           const struct sand_spent *spent);

// ---- saving.c -----------------------------------------------------------------------------------

enum sand_rc sand_save_begin(struct sand_world *w, struct sand_world_job *j);
// The timed part of standing still is over.
enum sand_rc sand_save_stalled(struct sand_world *w, struct sand_world_job *j);
enum sand_rc sand_save_durable(struct sand_world *w, struct sand_world_job *j);
// A fault, or the end, comes before the save is durable.
enum sand_rc sand_save_abort(struct sand_world *w, struct sand_world_job *j);
// The job's own links, while it runs.
enum sand_rc sand_save_take_links(struct sand_world *w, struct sand_world_job *j);
void sand_save_give_links(struct sand_world *w, struct sand_world_job *j);
// Starts the job's one flow: reading = 0 towards the storage, 1 from it.
enum sand_rc sand_save_flow(struct sand_world *w, struct sand_world_job *j, int reading);
enum sand_rc sand_save_cancel_flow(struct sand_world *w, struct sand_world_job *j);

// ---- recovery.c ---------------------------------------------------------------------------------

enum sand_rc sand_recovery_strike(struct sand_world *w, uint32_t node);
// A job is struck.
enum sand_rc sand_recovery_interrupt(struct sand_world *w, struct sand_world_job *j,
                                     const struct sand_fault *fault);
// A node is taken from all jobs on it, for repair; a planned fault waits until they have saved.
enum sand_rc sand_recovery_evict(struct sand_world *w, uint32_t node,
                                 const struct sand_fault *fault);
// The timed phase of a recovery is over.
enum sand_rc sand_recovery_advance(struct sand_world *w, struct sand_world_job *j);
// The job stands still with everything saved: what was announced strikes now.
enum sand_rc sand_recovery_announced(struct sand_world *w, struct sand_world_job *j);
// Asks again for all jobs that wait for nodes.
enum sand_rc sand_recovery_retry(struct sand_world *w);

// ---- incidents.c --------------------------------------------------------------------------------

enum sand_rc sand_incident_open(struct sand_world *w, struct sand_world_job *j,
                                const struct sand_fault *fault, uint64_t steps_lost,
                                int64_t partial_ns);
// Books [since, now) of the job, in its present phase, to its open incidents.
void sand_incident_book(struct sand_world *w, struct sand_world_job *j);
// Turns the open incidents' sums into their parts; nothing may be booked for them afterwards.
void sand_incident_settle(struct sand_world *w, struct sand_world_job *j);
void sand_incident_close_all(struct sand_world *w, struct sand_world_job *j);
int64_t sand_incident_recovery_ns(const struct sand_incident *incident);
// The recovery without the step that goes beyond the mark, and the step that was cut off.
int64_t sand_incident_lost_ns(const struct sand_incident *incident);
const struct sand_fault_class *sand_incident_class(const struct sand_world *w,
                                                   const struct sand_incident *incident);

// ---- nodepool.c ---------------------------------------------------------------------------------

enum sand_rc sand_pool_open(struct sand_world *w);
enum sand_rc sand_pool_take(struct sand_world *w, struct sand_world_job *j, uint32_t node);
// The job leaves; a struck node goes to repair if it was the last.
enum sand_rc sand_pool_release(struct sand_world *w, struct sand_world_job *j, uint32_t node);
// Is the job on the node?
int sand_pool_is_on(const struct sand_world *w, const struct sand_world_job *j, uint32_t node);
// Could the node take the job now? Spares are not asked.
int sand_pool_has_room(const struct sand_world *w, const struct sand_world_job *j, uint32_t node);
// Nodes with room for the job, ascending, valid until the pool changes or the next call.
const uint32_t *sand_pool_room(struct sand_world *w, const struct sand_world_job *j, size_t *n);
// Are there n_nodes of them? O(GPUs of a node).
int sand_pool_may_fit(const struct sand_world *w, const struct sand_world_job *j);
// A fault that will take the node away: no further job gets on it.
void sand_pool_strike(struct sand_world *w, uint32_t node, int64_t repair_ns);
// A node that nobody has leaves for repair.
enum sand_rc sand_pool_withdraw(struct sand_world *w, uint32_t node, int64_t repair_ns);
enum sand_rc sand_pool_repaired(struct sand_world *w, uint32_t node);
// Puts the node's next fault on the agenda.
enum sand_rc sand_pool_await_fault(struct sand_world *w, uint32_t node, int64_t date);

// ---- policyglue.c, policyhosttable.c ------------------------------------------------------------

enum sand_rc sand_glue_open(struct sand_world *w, struct sand_glue *glue,
                            enum sand_policy_family family, const struct sand_choice *choice,
                            uint32_t entity);
void sand_glue_close(struct sand_glue *glue);
// Fills the host's table (policyhosttable.c).
void sand_glue_table(struct sand_glue *glue);
// Notes an event for the schedule policy; delivered when no policy runs.
enum sand_rc sand_glue_event(struct sand_world *w, enum sandtable_event_kind kind, uint32_t job,
                             uint32_t node);
enum sand_rc sand_glue_decide(struct sand_world *w);
// Refuses nodes, in the name of the policy that gave them, that are not n_nodes distinct idle ones.
enum sand_rc sand_glue_check_nodes(const struct sand_glue *glue, const struct sand_world_job *j,
                                   const uint32_t *nodes);
// Asks the place policy: *found = 0, or n_nodes ids in `nodes`.
enum sand_rc sand_glue_place(struct sand_world *w, const struct sand_world_job *j, uint32_t *nodes,
                             int *found);
// Lays the job's ranks on the nodes it holds anew, as the place policy orders them: a restart
// launches every process again, so nothing ties a rank to the node it had.
enum sand_rc sand_glue_order(struct sand_world *w, struct sand_world_job *j);
enum sand_rc sand_glue_plan(struct sand_world *w, struct sand_world_job *j);
enum sand_rc sand_glue_recover(struct sand_world *w, const struct sand_world_job *j,
                               uint32_t failed_node, int must_replace,
                               struct sandtable_recover_plan *plan);

// ---- steptime.c ---------------------------------------------------------------------------------

// Sets rate and profile for the job's present nodes, with the fabric as built.
enum sand_rc sand_steptime_ask(struct sand_world *w, struct sand_world_job *j);
// The question of the job's step on its present nodes, parts being as they are now; valid while
// they are.
struct sand_step_question sand_steptime_question(const struct sand_world *w,
                                                 const struct sand_world_job *j);
// Whether its step time is asked of the oracle, neither given nor recorded.
int sand_steptime_is_simulated(const struct sand_world_job *j);
// What a step takes and loads alone.
struct sand_steptime_alone {
    struct sand_step_profile profile;
    struct sand_link_load *loads; // sand_free it; none unless they are wanted
    size_t n_loads;
};
// Answers the question of a simulated job.
enum sand_rc sand_steptime_alone(struct sand_world *w, const struct sand_step_question *question,
                                 int wants_loads, struct sand_steptime_alone *alone);

// ---- windows.c ----------------------------------------------------------------------------------

enum sand_rc sand_window_close(struct sand_world *w);
// Weighs what the job stepped in this window so far by its present profile and rate.
void sand_window_weigh(const struct sand_world *w, struct sand_world_job *j);

// ---- emit.c, summary.c --------------------------------------------------------------------------

enum sand_rc sand_emit_attempt(struct sand_world *w, const struct sand_world_job *j);
enum sand_rc sand_emit_checkpoint(struct sand_world *w, const struct sand_world_job *j,
                                  int64_t resume_ns, int64_t durable_ns);
enum sand_rc sand_emit_profile(struct sand_world *w, const struct sand_step_answer *answer);
enum sand_rc sand_emit_decision(struct sand_world *w, const struct sand_glue *glue,
                                const char *action, uint32_t job, uint32_t node, double value);
enum sand_rc sand_emit_incidents(struct sand_world *w);
enum sand_rc sand_emit_row(struct sand_world *w, enum sand_table table, const void *row);
enum sand_rc sand_summary_open(struct sand_world *w);
// The job's row, and its part of the sums; it has ended, or the experiment has.
enum sand_rc sand_summary_job(struct sand_world *w, struct sand_world_job *j);
// Rows of what is left, of the replication, and the warnings of the end.
enum sand_rc sand_summary_emit(struct sand_world *w);
// How a job stands at the end of the experiment, as the results have it.
const char *sand_job_state_name(const struct sand_world_job *j);

// ---- groups.c -----------------------------------------------------------------------------------

// Memory: 1 MB and what the groups need, whatever the number of jobs.
enum sand_rc sand_groups_open(struct sand_world *w);
enum sand_rc sand_groups_count(struct sand_world *w, const struct sand_world_job *j);
// One row per group of jobs and kind of end. O(jobs log jobs).
enum sand_rc sand_groups_emit(struct sand_world *w);
void sand_groups_close(struct sand_world *w);

// ---- pump.c -------------------------------------------------------------------------------------

sand_pump_fn sand_pump_run;

#endif
