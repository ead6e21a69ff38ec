// Which jobs are there: the one that comes next, those that wait, run, or have just ended.
// A job is forgotten when the schedule policy knows that it has ended; one that trains stays until
// the window's rows are written. Slots are used again, so memory follows the jobs alive at a time.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "savetime.h"
#include "units.h"

// Streams of checkpoint policies start here; the other families use their enum value.
enum { CHECKPOINT_ENTITY = 16 };

#ifdef SAND_HOSTILE
enum { FIRST_PLACES = 2 };
#else
enum { FIRST_PLACES = 64 };
#endif

// ---- numbers ------------------------------------------------------------------------------------

// Numbers rise as jobs come, so their low bits are spread well as they are.
static size_t home_of(const struct sand_job_numbers *numbers, uint32_t number)
{
    return number & (numbers->n_places - 1);
}

// The place that holds the number, or the free one where it belongs.
static size_t place_of(const struct sand_job_numbers *numbers, uint32_t number)
{
    size_t place = home_of(numbers, number);
    while (numbers->places[place].slot != SAND_NONE && numbers->places[place].number != number)
        place = (place + 1) & (numbers->n_places - 1);
    return place;
}

// Half of the places stay free.
static enum sand_rc widen(struct sand_job_numbers *numbers)
{
    if (2 * (numbers->n + 1) <= numbers->n_places)
        return SAND_OK;
    struct sand_job_numbers wider = {.n = numbers->n};
    wider.n_places = numbers->n_places > 0 ? 2 * numbers->n_places : FIRST_PLACES;
    wider.places = sand_calloc(wider.n_places, sizeof *wider.places);
    if (!wider.places)
        return SAND_ERR_NOMEM;
    for (size_t i = 0; i < wider.n_places; i++)
        wider.places[i].slot = SAND_NONE;
    for (size_t i = 0; i < numbers->n_places; i++)
        if (numbers->places[i].slot != SAND_NONE)
            wider.places[place_of(&wider, numbers->places[i].number)] = numbers->places[i];
    sand_free(numbers->places);
    *numbers = wider;
    return SAND_OK;
}

static enum sand_rc add_number(struct sand_job_numbers *numbers, uint32_t number, uint32_t slot)
{
    SAND_TRY(widen(numbers));
    numbers->places[place_of(numbers, number)] = (struct sand_job_place){number, slot};
    numbers->n++;
    return SAND_OK;
}

// What stands behind the hole and would not be found across it moves into it.
static void remove_number(struct sand_job_numbers *numbers, uint32_t number)
{
    const size_t mask = numbers->n_places - 1;
    size_t hole = place_of(numbers, number);
    if (numbers->places[hole].slot == SAND_NONE)
        return;
    for (size_t next = (hole + 1) & mask; numbers->places[next].slot != SAND_NONE;
         next = (next + 1) & mask) {
        const size_t home = home_of(numbers, numbers->places[next].number);
        if (((next - home) & mask) < ((next - hole) & mask))
            continue;
        numbers->places[hole] = numbers->places[next];
        hole = next;
    }
    numbers->places[hole].slot = SAND_NONE;
    numbers->n--;
}

struct sand_world_job *sand_jobs_find(const struct sand_world *w, uint32_t number)
{
    if (w->numbers.n_places == 0)
        return NULL;
    const struct sand_job_place *place = &w->numbers.places[place_of(&w->numbers, number)];
    return place->slot == SAND_NONE ? NULL : w->slots[place->slot];
}

// ---- slots --------------------------------------------------------------------------------------

static enum sand_rc add_slot(struct sand_world *w)
{
    void *slots = w->slots, *free_slots = w->free_slots;
    SAND_TRY(sand_grow(&slots, &w->slots_capacity, w->n_slots + 1, sizeof *w->slots));
    w->slots = slots;
    SAND_TRY(sand_grow(&free_slots, &w->free_capacity, w->n_slots + 1, sizeof *w->free_slots));
    w->free_slots = free_slots;
    struct sand_world_job *j = sand_calloc(1, sizeof *j);
    if (!j)
        return SAND_ERR_NOMEM;
    j->slot = (uint32_t)w->n_slots;
    w->slots[w->n_slots++] = j;
    w->free_slots[w->n_free_slots++] = j->slot;
    return SAND_OK;
}

static void empty_slot(struct sand_world_job *j)
{
    if (j->checkpoint)
        sand_glue_close(j->checkpoint);
    sand_free(j->checkpoint);
    sand_ailing_forget(j);
    sand_shared_forget(j);
    sand_free(j->nodes);
    sand_free(j->announced);
    sand_free(j->id);
    sand_free(j->coupled.loads);
    sand_neighbours_forget(j);
    while (j->answers) {
        struct sand_step_answer *answer = j->answers;
        j->answers = answer->next;
        sand_free(answer);
    }
    const uint32_t slot = j->slot;
    *j = (struct sand_world_job){.slot = slot, .token = SAND_NO_ENTRY, .flow_token = SAND_NO_ENTRY};
}

void sand_jobs_release(struct sand_world *w, struct sand_world_job *j)
{
    empty_slot(j);
    w->free_slots[w->n_free_slots++] = j->slot;
}

// ---- coming -------------------------------------------------------------------------------------

static enum sand_rc keep_name(struct sand_world *w, const char **name)
{
    uint32_t number;
    if (!*name)
        return SAND_OK;
    SAND_TRY(sand_names_add(&w->names, *name, &number));
    *name = sand_names_text(&w->names, number);
    return SAND_OK;
}

// A recorded job that saves is cut into steps of a second or a little less, between which it can.
static void cut_record(struct sand_job_spec *spec)
{
    const char *policy = spec->checkpoint.policy.type;
    if (spec->kind != SAND_JOB_RECORDED || !policy || strcmp(policy, "checkpoint/none") == 0)
        return;
    spec->kind = SAND_JOB_TRAIN;
    spec->is_cut = 1;
    spec->n_steps = spec->work_s > 1 ? (uint64_t)ceil(spec->work_s) : 1;
    spec->step_s = spec->work_s / (double)spec->n_steps;
}

// The job's own copy of what the source says.
static enum sand_rc copy_spec(struct sand_world *w, struct sand_world_job *j,
                              const struct sand_job_spec *spec)
{
    const size_t length = strlen(spec->id) + 1;
    j->id = sand_calloc(length, 1);
    if (!j->id)
        return SAND_ERR_NOMEM;
    memcpy(j->id, spec->id, length);
    j->own = *spec;
    j->own.id = j->id;
    cut_record(&j->own);
    j->spec = &j->own;
    SAND_TRY(keep_name(w, &j->own.job_class));
    return keep_name(w, &j->own.user);
}

// A job of less than a node may hold just that; no other holds part of one.
static uint32_t node_gpus(const struct sand_world *w, const struct sand_job_spec *spec)
{
    const int part = w->experiment->allocation == SAND_ALLOCATE_GPUS && spec->n_nodes == 1 &&
                     spec->n_gpus > 0 && spec->n_gpus < w->gpus_per_node;
    return part ? spec->n_gpus : w->gpus_per_node;
}

static void init_job(struct sand_world *w, struct sand_world_job *j, uint32_t number)
{
    const struct sand_job_spec *spec = j->spec;
    j->index = number;
    j->node_gpus = node_gpus(w, spec);
    j->gpus = (uint64_t)spec->n_nodes * j->node_gpus;
    j->token = j->flow_token = SAND_NO_ENTRY;
    j->flow = j->client_link = SAND_NONE;
    j->first_open = j->last_open = SAND_NONE;
    j->profile_number = SAND_NONE;
    j->total = SAND_NO_LIMIT;
    j->start_ns = j->end_ns = -1;
    j->last_interval_s = NAN;
    j->step_flops = j->step_hw_flops = j->step_tokens = j->peak_flops = NAN;
    j->bytes = sand_savetime_B(spec);
    j->view = (struct sandtable_job){
        .job = number,
        .state = SANDTABLE_JOB_FUTURE,
        .n_nodes = spec->n_nodes,
        .node_gpus = j->node_gpus,
        .submit_ns = spec->submit_ns,
        .start_ns = -1,
        .walltime_ns = spec->walltime_s > 0 ? sand_ns_from_s(spec->walltime_s) : -1,
        .end_ns = -1};
}

static enum sand_rc open_checkpoint(struct sand_world *w, struct sand_world_job *j)
{
    const struct sand_choice *choice = &j->spec->checkpoint.policy;
    if (j->spec->kind == SAND_JOB_RECORDED || !choice->type)
        return SAND_OK; // one step, which leaves no boundary to save at
    j->checkpoint = sand_calloc(1, sizeof *j->checkpoint);
    if (!j->checkpoint)
        return SAND_ERR_NOMEM;
    return sand_glue_open(w, j->checkpoint, SAND_POLICY_CHECKPOINT, choice,
                          CHECKPOINT_ENTITY + j->index);
}

static enum sand_rc check_job(const struct sand_world *w, const struct sand_job_spec *spec,
                              int64_t before_ns)
{
    if (spec->n_nodes == 0)
        return sand_fail(w->diag, SAND_ERR_INPUT, "job \"%s\": it asks for no nodes; give it one",
                         spec->id);
    if (spec->submit_ns < 0)
        return sand_fail(w->diag, SAND_ERR_INPUT, "job \"%s\": it is submitted before the start",
                         spec->id);
    if (spec->submit_ns < before_ns)
        return sand_fail(w->diag, SAND_ERR_INTERNAL,
                         "job \"%s\": it comes after one that is submitted %lld ns later", spec->id,
                         (long long)(before_ns - spec->submit_ns));
    return SAND_OK;
}

static enum sand_rc take_in(struct sand_world *w, const struct sand_job_spec *spec, uint32_t number)
{
    if (w->n_free_slots == 0)
        SAND_TRY(add_slot(w));
    struct sand_world_job *j = w->slots[w->free_slots[--w->n_free_slots]];
    w->coming = j;
    SAND_TRY(copy_spec(w, j, spec));
    init_job(w, j, number);
    return open_checkpoint(w, j);
}

// Fetches the job that comes next; one submitted when the experiment is over never arrives.
static enum sand_rc fetch(struct sand_world *w, int64_t before_ns)
{
    const struct sand_job_spec *spec = NULL;
    uint32_t number = SAND_NONE;
    w->coming = NULL;
    w->arrival_ahead = 0;
    SAND_TRY(w->source.next(w->source.self, &spec, &number, w->diag));
    if (!spec)
        return SAND_OK;
    SAND_TRY(check_job(w, spec, before_ns));
    SAND_TRY(take_in(w, spec, number));
    if (spec->submit_ns >= w->end_ns)
        return SAND_OK;
    w->arrival_ahead = 1;
    return sand_world_put(w, spec->submit_ns, SAND_RANK_ARRIVAL, SAND_EVENT_ARRIVAL, 0, NULL);
}

enum sand_rc sand_jobs_arrive(struct sand_world *w, struct sand_world_job **job)
{
    struct sand_world_job *j = w->coming;
    void *views = w->job_views;
    SAND_TRY(add_number(&w->numbers, j->index, j->slot));
    SAND_TRY(sand_grow(&views, &w->views_capacity, w->numbers.n, sizeof *w->job_views));
    w->job_views = views;
    *job = j;
    return fetch(w, j->spec->submit_ns);
}

enum sand_rc sand_jobs_open(struct sand_world *w)
{
    const struct sand_experiment *experiment = w->experiment;
    if (w->options->source)
        w->source = *w->options->source;
    else
        SAND_TRY(sand_joblist_open(experiment->jobs, experiment->n_jobs, &w->list, &w->source));
    SAND_TRY(sand_summary_open(w));
    return fetch(w, 0);
}

void sand_jobs_close(struct sand_world *w)
{
    for (size_t i = 0; i < w->n_slots; i++) {
        empty_slot(w->slots[i]);
        sand_free(w->slots[i]);
    }
    sand_free(w->slots);
    sand_free(w->free_slots);
    sand_free(w->numbers.places);
    sand_free(w->job_views);
    sand_free(w->queue);
    sand_free(w->leaving);
    sand_free(w->waiters);
    sand_groups_close(w);
    sand_sorter_close(w->job_rows);
    sand_names_clear(&w->names);
    sand_joblist_close(w->list);
}

// ---- active jobs --------------------------------------------------------------------------------

void sand_jobs_activate(struct sand_world *w, struct sand_world_job *j)
{
    j->active_before = w->last_active;
    if (w->last_active)
        w->last_active->active_after = j;
    else
        w->first_active = j;
    w->last_active = j;
}

void sand_jobs_deactivate(struct sand_world *w, struct sand_world_job *j)
{
    if (j->active_before)
        j->active_before->active_after = j->active_after;
    else
        w->first_active = j->active_after;
    if (j->active_after)
        j->active_after->active_before = j->active_before;
    else
        w->last_active = j->active_before;
}

// ---- leaving ------------------------------------------------------------------------------------

enum sand_rc sand_jobs_end(struct sand_world *w, struct sand_world_job *j)
{
    void *leaving = w->leaving;
    SAND_TRY(sand_grow(&leaving, &w->leaving_capacity, w->n_leaving + 1, sizeof *w->leaving));
    w->leaving = leaving;
    w->leaving[w->n_leaving++] = j;
    return SAND_OK;
}

// A recorded job has no row of a window: only its time counts.
static enum sand_rc forget(struct sand_world *w, struct sand_world_job *j)
{
    remove_number(&w->numbers, j->index);
    SAND_TRY(sand_summary_job(w, j));
    j->forgotten = 1;
    if (!sand_job_is_record(j->spec))
        return SAND_OK;
    w->window_full_gpu_ns += (sand_gpu_ns)j->window.stepping_ns * (sand_gpu_ns)j->gpus;
    sand_jobs_deactivate(w, j);
    sand_jobs_release(w, j);
    return SAND_OK;
}

enum sand_rc sand_jobs_forget(struct sand_world *w)
{
    for (size_t i = 0; i < w->n_leaving; i++)
        SAND_TRY(forget(w, w->leaving[i]));
    w->n_leaving = 0;
    return SAND_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct sand_world_job *const *x = a, *const *y = b;
    return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

// Those that have arrived and are not forgotten, by number, in w->leaving.
static enum sand_rc gather(struct sand_world *w)
{
    void *jobs = w->leaving;
    size_t n = 0;
    SAND_TRY(sand_grow(&jobs, &w->leaving_capacity, w->numbers.n, sizeof *w->leaving));
    w->leaving = jobs;
    for (size_t i = 0; i < w->numbers.n_places; i++)
        if (w->numbers.places[i].slot != SAND_NONE)
            w->leaving[n++] = w->slots[w->numbers.places[i].slot];
    w->n_leaving = n;
    if (n > 0)
        qsort(w->leaving, n, sizeof *w->leaving, compare_numbers);
    return SAND_OK;
}

enum sand_rc sand_jobs_rest(struct sand_world *w,
                            enum sand_rc (*last)(struct sand_world *, struct sand_world_job *))
{
    SAND_TRY(gather(w));
    for (size_t i = 0; i < w->n_leaving; i++)
        SAND_TRY(last(w, w->leaving[i]));
    while (w->coming) {
        const int64_t submit_ns = w->coming->spec->submit_ns;
        SAND_TRY(last(w, w->coming));
        sand_jobs_release(w, w->coming);
        SAND_TRY(fetch(w, submit_ns));
    }
    return SAND_OK;
}
