// How long a job's step takes on its nodes: given, recorded, or asked of the oracle.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <math.h>
#include <string.h>

#include "mem.h"
#include "train.h"
#include "units.h"

// ---- profiles seen ------------------------------------------------------------------------------

static int same_profile(const struct sand_step_profile *a, const struct sand_step_profile *b)
{
    return a->step_s == b->step_s && a->compute_s == b->compute_s &&
           a->exposed_tp_s == b->exposed_tp_s && a->exposed_cp_s == b->exposed_cp_s &&
           a->exposed_pp_s == b->exposed_pp_s && a->exposed_dp_s == b->exposed_dp_s &&
           a->bubble_s == b->bubble_s;
}

// The job's answer with this profile; a new one gets a row of the steps table.
static enum sand_rc remember(struct sand_world *w, struct sand_world_job *j,
                             const struct sand_step_profile *profile,
                             struct sand_step_answer **answer)
{
    for (*answer = j->answers; *answer; *answer = (*answer)->next)
        if (same_profile(&(*answer)->profile, profile))
            return SAND_OK;
    *answer = sand_calloc(1, sizeof **answer);
    if (!*answer)
        return SAND_ERR_NOMEM;
    **answer = (struct sand_step_answer){.next = j->answers,
                                         .profile = *profile,
                                         .number = (uint32_t)w->n_answers++,
                                         .job = j->index,
                                         .step_ns = sand_ns_from_s(profile->step_s)};
    j->answers = *answer;
    return sand_emit_profile(w, *answer);
}

static void take_profile(const struct sand_world *w, struct sand_world_job *j,
                         const struct sand_step_answer *answer)
{
    sand_window_weigh(w, j);
    j->profile = &answer->profile;
    j->profile_number = answer->number;
}

// ---- a given step time --------------------------------------------------------------------------

static double dense_peak(const struct sand_gpu_type *gpu, enum sand_precision precision)
{
    switch (precision) {
    case SAND_FP8:
    case SAND_FP8_ROW:
        return gpu->peak_fp8_flops;
    case SAND_NVFP4:
        return gpu->peak_fp4_flops;
    case SAND_FP16:
        return gpu->peak_fp16_flops;
    case SAND_BF16:
        break;
    }
    return gpu->peak_bf16_flops;
}

// What follows from the model alone; where the time goes is not known and stays NaN.
static struct sand_step_profile given_profile(const struct sand_world *w,
                                              const struct sand_world_job *j)
{
    const struct sand_job_spec *spec = j->spec;
    const struct sand_gpu_type *gpu = w->cluster->node_type->gpu;
    struct sand_step_profile p = {.step_s = spec->step_s,
                                  .compute_s = NAN,
                                  .exposed_tp_s = NAN,
                                  .exposed_cp_s = NAN,
                                  .exposed_pp_s = NAN,
                                  .exposed_dp_s = NAN,
                                  .bubble_s = NAN,
                                  .tokens_per_s = NAN,
                                  .model_flops = NAN,
                                  .hardware_flops = NAN,
                                  .peak_flops = NAN,
                                  .memory.total_B = NAN};
    if (spec->model) {
        p.model_flops = sand_model_flops(spec->model, &spec->split);
        p.hardware_flops = p.model_flops + sand_recompute_flops(spec->model, &spec->split);
        p.peak_flops = (double)j->gpus * dense_peak(gpu, spec->split.precision);
        p.tokens_per_s = (double)spec->split.global_batch * spec->split.sequence / spec->step_s;
        if (w->experiment->kernels)
            sand_memory_estimate(spec->model, &spec->split, gpu, w->experiment->kernels, &p.memory);
    }
    p.mfu = p.model_flops / (p.peak_flops * p.step_s);
    p.hfu = p.hardware_flops / (p.peak_flops * p.step_s);
    return p;
}

// Called once per job: the NaN in a given profile would keep remember() from knowing it again.
static enum sand_rc give(struct sand_world *w, struct sand_world_job *j)
{
    const struct sand_step_profile profile = given_profile(w, j);
    struct sand_step_answer *answer;
    SAND_TRY(remember(w, j, &profile, &answer));
    take_profile(w, j, answer);
    j->rate.step_ns = j->rate.healthy_ns = answer->step_ns;
    return SAND_OK;
}

// ---- the oracle ---------------------------------------------------------------------------------

static struct sand_step_question question_on(const struct sand_world *w,
                                             const struct sand_world_job *j, const uint32_t *nodes)
{
    return (struct sand_step_question){.cluster = w->cluster,
                                       .kernels = w->experiment->kernels,
                                       .collectives = w->experiment->collectives,
                                       .fabric = w->fabric,
                                       .job = j->spec,
                                       .nodes = nodes,
                                       .folding = SAND_FOLD};
}

struct sand_step_question sand_steptime_question(const struct sand_world *w,
                                                 const struct sand_world_job *j)
{
    struct sand_step_question q = question_on(w, j, j->nodes);
    if (w->ailing) {
        q.fabric = w->ailing->fabric;
        q.gpu_speed = w->ailing->n_slow_gpus > 0 ? w->ailing->gpu_speed : NULL;
    }
    return q;
}

enum sand_rc sand_steptime_alone(struct sand_world *w, const struct sand_step_question *question,
                                 int wants_loads, struct sand_steptime_alone *alone)
{
    struct sand_step_question q = *question;
    *alone = (struct sand_steptime_alone){0};
    q.whole_footprint = wants_loads;
    if (wants_loads)
        SAND_TRY(sand_oracle_loads(w->oracle, &q, &alone->profile, &alone->loads, &alone->n_loads,
                                   w->diag));
    else
        SAND_TRY(sand_oracle_step(w->oracle, &q, &alone->profile, w->diag));
    return SAND_OK;
}

static enum sand_rc check_oracle(const struct sand_world *w, const struct sand_world_job *j)
{
    if (w->oracle)
        return SAND_OK;
    return sand_fail(w->diag, SAND_ERR_INTERNAL,
                     "job \"%s\": its step time has to be simulated, but there is no oracle",
                     j->spec->id);
}

int sand_steptime_is_simulated(const struct sand_world_job *j)
{
    return !sand_job_is_record(j->spec) && !(j->spec->step_s > 0);
}

// The healthy step: the first nodes of an empty cluster, on a torus of cubes the first that the job
// may get.
static enum sand_rc ask_healthy(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_step_answer *answer;
    const uint32_t *nodes = w->placement;
    size_t n = w->cluster->n_nodes;
    for (uint32_t i = 0; i < n; i++)
        w->placement[i] = i;
    if (sand_slices_rule(w, j))
        nodes = sand_slices_room(w, j, w->placement, &n);
    const struct sand_step_question q = question_on(w, j, nodes);
    struct sand_step_profile profile = {0};
    sand_step_warn(&q, w->diag);
    SAND_TRY(check_oracle(w, j));
    SAND_TRY(sand_oracle_step(w->oracle, &q, &profile, w->diag));
    SAND_TRY(remember(w, j, &profile, &answer));
    j->rate.healthy_ns = answer->step_ns;
    return SAND_OK;
}

// What the job's step takes on its nodes alone, and puts on the links that others may use.
static enum sand_rc ask_alone(struct sand_world *w, struct sand_world_job *j,
                              struct sand_step_profile *profile)
{
    const struct sand_step_question q = question_on(w, j, j->nodes);
    const int keeps = !w->coupling && sand_shared_meets_own(w, j);
    struct sand_steptime_alone alone;
    SAND_TRY(sand_steptime_alone(w, &q, w->coupling || keeps, &alone));
    *profile = alone.profile;
    if (keeps)
        return sand_shared_keep(w, j, alone.loads, alone.n_loads);
    return w->coupling ? sand_coupling_place(w, j, alone.loads, alone.n_loads) : SAND_OK;
}

// Neighbours are looked at when the instant ends.
static enum sand_rc ask_present(struct sand_world *w, struct sand_world_job *j)
{
    struct sand_step_profile profile = {0};
    struct sand_step_answer *answer;
    SAND_TRY(ask_alone(w, j, &profile));
    SAND_TRY(remember(w, j, &profile, &answer));
    take_profile(w, j, answer);
    j->rate.step_ns = answer->step_ns;
    j->rate.by_ns[SAND_SLOW_PLACEMENT] = answer->step_ns - j->rate.healthy_ns;
    j->rate.by_ns[SAND_SLOW_NEIGHBOURS] = j->rate.by_ns[SAND_SLOW_FAULTS] = 0;
    j->rate.by_ns[SAND_SLOW_TRANSFERS] = 0;
    j->rate.data_stall_ns = sand_ns_from_s(answer->profile.data_stall_s);
    return SAND_OK;
}

// ---- both ---------------------------------------------------------------------------------------

static void set_limit(struct sand_world_job *j)
{
    const struct sand_job_spec *spec = j->spec;
    if (spec->n_steps > 0)
        j->total = spec->n_steps;
    if (!(spec->work_s > 0))
        return;
    const int64_t work_ns = sand_ns_from_s(spec->work_s);
    const uint64_t steps =
        (uint64_t)(work_ns / j->rate.healthy_ns) + (work_ns % j->rate.healthy_ns != 0);
    if (steps < j->total)
        j->total = steps > 0 ? steps : 1;
}

static enum sand_rc check_step(const struct sand_world *w, const struct sand_world_job *j)
{
    if (j->rate.step_ns > 0)
        return SAND_OK;
    return sand_fail(w->diag, SAND_ERR_INPUT,
                     "job \"%s\": its step takes less than a nanosecond; check step_s",
                     j->spec->id);
}

static void take_flops(struct sand_world_job *j)
{
    const struct sand_step_profile *p = j->profile;
    j->step_flops = p->model_flops;
    j->step_hw_flops = p->hardware_flops;
    j->peak_flops = p->peak_flops;
    j->step_tokens = p->tokens_per_s * p->step_s;
    if (j->spec->model)
        j->step_tokens = (double)j->spec->split.global_batch * j->spec->split.sequence;
}

// One step as long as the record, or the steps it was cut into; none takes less than a nanosecond.
static void take_record(struct sand_world_job *j)
{
    const struct sand_job_spec *spec = j->spec;
    const int cut = spec->kind != SAND_JOB_RECORDED;
    const int64_t step_ns = sand_ns_from_s(cut ? spec->step_s : spec->work_s);
    j->rate.step_ns = j->rate.healthy_ns = step_ns > 0 ? step_ns : 1;
    j->total = cut ? spec->n_steps : 1;
}

enum sand_rc sand_steptime_ask(struct sand_world *w, struct sand_world_job *j)
{
    const int first = j->rate.step_ns == 0;
    if (!first && !j->nodes_changed)
        return SAND_OK;
    j->nodes_changed = 0;
    j->moved = 1;
    if (sand_job_is_record(j->spec)) {
        take_record(j);
        return SAND_OK;
    }
    if (j->spec->step_s > 0) {
        if (first)
            SAND_TRY(give(w, j));
    } else {
        if (first)
            SAND_TRY(ask_healthy(w, j));
        SAND_TRY(ask_present(w, j));
    }
    SAND_TRY(check_step(w, j));
    take_flops(j);
    if (first)
        set_limit(j);
    return SAND_OK;
}
