// Degradations from strike to repair. Every change of a part goes the same way: book what was, set
// the fabric to what is, ask anew for the jobs whose traffic can cross the part.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "ailing.h"

#include <stdio.h>
#include <string.h>

#include "filegate.h"
#include "mem.h"
#include "units.h"
#include "world.h"

// ---- opening ------------------------------------------------------------------------------------

static const struct sand_degradation_class *classes_of(const struct sand_world *w)
{
    return w->experiment->faults.degradations;
}

static int is_fabric(const struct sand_degradation_class *c)
{
    return c->kind != SAND_KIND_GPU;
}

// "node3 gpu1".
static enum sand_rc find_gpu(struct sand_world *w, const struct sand_degradation_class *c,
                             uint32_t *gpu)
{
    uint32_t node, index;
    char rest;
    if (sscanf(c->part, "node%9u gpu%9u%c", &node, &index, &rest) == 2 &&
        node < w->cluster->n_nodes && index < w->gpus_per_node) {
        *gpu = node * w->gpus_per_node + index;
        return SAND_OK;
    }
    sand_diag_add(w->diag, SAND_ERROR, c->file, c->line,
                  "degradation \"%s\": there is no GPU \"%s\"; the last is called \"node%u gpu%u\"",
                  c->fault.id, c->part, w->cluster->n_nodes - 1, w->gpus_per_node - 1);
    return SAND_ERR_INPUT;
}

static enum sand_rc find_part(struct sand_world *w, const struct sand_degradation_class *c,
                              struct sand_fabric_part *part)
{
    const enum sand_rc rc = sand_fabric_part_find(w->fabric, c->kind, c->part, part, w->diag);
    if (rc == SAND_OK)
        return SAND_OK;
    sand_diag_add(w->diag, SAND_ERROR, c->file, c->line,
                  "degradation \"%s\" has part=\"%s\", which is not there", c->fault.id, c->part);
    return rc;
}

static enum sand_rc count_parts(struct sand_world *w, uint32_t i)
{
    struct sand_ailing *a = w->ailing;
    const struct sand_degradation_class *c = &classes_of(w)[i];
    a->only_gpu[i] = SAND_NONE;
    a->n_parts[i] = is_fabric(c) ? sand_fabric_n_parts(w->fabric, c->kind)
                                 : (uint64_t)w->cluster->n_nodes * w->gpus_per_node;
    if (c->part != NULL) {
        a->n_parts[i] = 1;
        return is_fabric(c) ? find_part(w, c, &a->only[i]) : find_gpu(w, c, &a->only_gpu[i]);
    }
    if (a->n_parts[i] == 0)
        sand_diag_add(w->diag, SAND_ERROR, c->file, c->line,
                      "degradation \"%s\": the fabric has no such parts; give it another component",
                      c->fault.id);
    return a->n_parts[i] > 0 ? SAND_OK : SAND_ERR_INPUT;
}

static enum sand_rc allocate(struct sand_world *w, size_t n)
{
    struct sand_ailing *a = w->ailing = sand_calloc(1, sizeof *a);
    if (a == NULL)
        return SAND_ERR_NOMEM;
    a->n_parts = sand_calloc(n, sizeof *a->n_parts);
    a->n_strikes = sand_calloc(n, sizeof *a->n_strikes);
    a->only = sand_calloc(n, sizeof *a->only);
    a->only_gpu = sand_calloc(n, sizeof *a->only_gpu);
    a->gpu_speed = sand_calloc(sand_cluster_gpus(w->cluster), sizeof *a->gpu_speed);
    if (!a->n_parts || !a->n_strikes || !a->only || !a->only_gpu || !a->gpu_speed)
        return SAND_ERR_NOMEM;
    for (uint32_t gpu = 0; gpu < sand_cluster_gpus(w->cluster); gpu++)
        a->gpu_speed[gpu] = 1;
    return SAND_OK;
}

enum sand_rc sand_ailing_open(struct sand_world *w)
{
    const size_t n = w->experiment->faults.n_degradations;
    if (n == 0)
        return SAND_OK;
    SAND_TRY(allocate(w, n));
    SAND_TRY(sand_fabric_build(w->cluster, &w->ailing->fabric, NULL)); // has warned already
    SAND_TRY(sand_fabric_health_open(w->ailing->fabric, w->cluster->fabric.loss_window,
                                     &w->ailing->health, w->diag));
    for (uint32_t i = 0; i < n; i++)
        SAND_TRY(count_parts(w, i));
    return SAND_OK;
}

static void free_degradation(struct sand_degradation *d)
{
    sand_free(d->touches);
    sand_free(d);
}

void sand_ailing_close(struct sand_world *w)
{
    struct sand_ailing *a = w->ailing;
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->n_active; i++)
        free_degradation(a->active[i]);
    sand_free(a->active);
    sand_free(a->n_parts);
    sand_free(a->n_strikes);
    sand_free(a->only);
    sand_free(a->only_gpu);
    sand_free(a->gpu_speed);
    sand_free(a->ailments);
    sand_fabric_health_close(a->health);
    sand_fabric_free(a->fabric);
    sand_free(a);
    w->ailing = NULL;
}

static enum sand_rc await_strike(struct sand_world *w, uint32_t i, int64_t last_ns)
{
    const int64_t date = sand_degradation_next_ns(w->faults, i, w->ailing->n_strikes[i], last_ns,
                                                  w->ailing->n_parts[i]);
    return sand_world_put(w, date, SAND_RANK_FAULT, SAND_EVENT_STRIKE, i, NULL);
}

enum sand_rc sand_ailing_begin(struct sand_world *w)
{
    for (uint32_t i = 0; w->ailing && i < w->experiment->faults.n_degradations; i++)
        SAND_TRY(await_strike(w, i, 0));
    return SAND_OK;
}

// ---- what ails ----------------------------------------------------------------------------------

// What is left of the part now; 1: all.
static double speed_of(const struct sand_degradation *d)
{
    if (d->is_down || d->is_drained)
        return 0;
    return d->class->effect == SAND_EFFECT_SLOW ? d->class->speed : 1;
}

static double loss_of(const struct sand_degradation *d)
{
    return d->class->effect == SAND_EFFECT_LOSS && !d->is_drained ? d->class->loss : 0;
}

static void slow_gpus(struct sand_ailing *a)
{
    for (size_t i = 0; i < a->n_active; i++) {
        const struct sand_degradation *d = a->active[i];
        if (d->gpu != SAND_NONE && speed_of(d) < a->gpu_speed[d->gpu])
            a->gpu_speed[d->gpu] = (float)speed_of(d);
        a->n_slow_gpus += d->gpu != SAND_NONE;
    }
}

static void add_state(struct sand_hash *hash, const struct sand_degradation *d)
{
    const uint64_t where[] = {d->part.kind, d->gpu != SAND_NONE ? d->gpu : d->part.index};
    const double what[] = {speed_of(d), loss_of(d)};
    sand_hash_add(hash, where, sizeof where);
    sand_hash_add(hash, what, sizeof what);
}

// Sets fabric and GPUs to what is now.
static enum sand_rc set_state(struct sand_world *w)
{
    struct sand_ailing *a = w->ailing;
    void *ailments = a->ailments;
    struct sand_hash hash;
    size_t n = 0;
    SAND_TRY(sand_grow(&ailments, &a->ailments_capacity, a->n_active + 1, sizeof *a->ailments));
    a->ailments = ailments;
    sand_hash_init(&hash);
    for (size_t i = 0; i < a->n_active; i++) {
        const struct sand_degradation *d = a->active[i];
        if (speed_of(d) >= 1 && !(loss_of(d) > 0))
            continue;
        add_state(&hash, d);
        if (d->gpu == SAND_NONE)
            a->ailments[n++] = (struct sand_fabric_ailment){d->part, speed_of(d), loss_of(d)};
    }
    sand_hash_end(&hash, a->state);
    a->n_slow_gpus = 0;
    slow_gpus(a);
    return sand_fabric_health_set(a->health, a->ailments, n, w->diag);
}

// The part has changed: so may the jobs that use it, and nobody else.
static enum sand_rc change(struct sand_world *w, const struct sand_degradation *d)
{
    SAND_TRY(set_state(w));
    sand_shared_note(w);
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after) {
        int concerned = 0;
        if (j->in_attempt)
            SAND_TRY(sand_ailing_concerns(w, j, d, &concerned));
        if (concerned)
            SAND_TRY(sand_ailing_update(w, j));
    }
    return SAND_OK;
}

// ---- the end of one -----------------------------------------------------------------------------

static enum sand_rc emit_touch(struct sand_world *w, const struct sand_degradation *d,
                               const struct sand_touch *touch, int64_t healed_ns)
{
    static const char *const effects[] = {[SAND_EFFECT_SLOW] = "slow",
                                          [SAND_EFFECT_DOWN] = "down",
                                          [SAND_EFFECT_LOSS] = "loss",
                                          [SAND_EFFECT_FLAP] = "flap"};
    char name[64];
    struct sand_degradations_row row = {
        .replication = w->options->replication,
        .degradation = d->number,
        .job = touch ? touch->job : SAND_NONE,
        .fault_ns = d->fault_ns,
        .noticed_ns = d->noticed_ns,
        .healed_ns = healed_ns,
        .downs = d->n_downs,
        .still_ns = touch ? touch->still_ns : 0,
        .slow_ns = touch ? touch->slow_ns : 0,
        .lost_gpu_s =
            touch ? sand_s_from_ns(touch->still_ns + touch->slow_ns) * (double)touch->gpus : 0};
    if (d->gpu != SAND_NONE)
        snprintf(name, sizeof name, "node%u gpu%u", d->node, d->gpu % w->gpus_per_node);
    else
        sand_fabric_part_name(w->fabric, &d->part, name, sizeof name);
    sand_cell_set(&row.fault_class, d->class->fault.id);
    sand_cell_set(&row.cause, d->class->fault.cause);
    sand_cell_set(&row.effect, effects[d->class->effect]);
    sand_cell_set(&row.part, name);
    return sand_emit_row(w, SAND_TABLE_degradations, &row);
}

// One row per job concerned, or one without a job.
static enum sand_rc emit(struct sand_world *w, const struct sand_degradation *d, int64_t healed_ns)
{
    if (d->n_touches == 0)
        return emit_touch(w, d, NULL, healed_ns);
    for (size_t i = 0; i < d->n_touches; i++)
        SAND_TRY(emit_touch(w, d, &d->touches[i], healed_ns));
    return SAND_OK;
}

static struct sand_degradation *find(const struct sand_world *w, uint32_t number)
{
    for (size_t i = 0; i < w->ailing->n_active; i++)
        if (w->ailing->active[i]->number == number)
            return w->ailing->active[i];
    return NULL;
}

static void drop(struct sand_world *w, const struct sand_degradation *d)
{
    struct sand_ailing *a = w->ailing;
    size_t i = 0;
    while (a->active[i] != d)
        i++;
    a->n_active--;
    memmove(&a->active[i], &a->active[i + 1], (a->n_active - i) * sizeof *a->active);
    if (d->gpu != SAND_NONE)
        a->gpu_speed[d->gpu] = 1; // what else ails it is set again with the state
    for (struct sand_world_job *j = w->first_active; j; j = j->active_after)
        if (j->ailing && j->ailing->cut_by == d)
            j->ailing->cut_by = NULL;
}

static enum sand_rc end(struct sand_world *w, struct sand_degradation *d)
{
    SAND_TRY(sand_ailing_credit_all(w));
    drop(w, d);
    sand_ailing_let_go(d);
    enum sand_rc rc = change(w, d);
    if (rc == SAND_OK)
        rc = emit(w, d, w->now_ns);
    free_degradation(d);
    return rc;
}

enum sand_rc sand_ailing_healed(struct sand_world *w, uint32_t number)
{
    struct sand_degradation *d = find(w, number);
    return d ? end(w, d) : SAND_OK;
}

enum sand_rc sand_ailing_node_left(struct sand_world *w, uint32_t node)
{
    for (size_t i = 0; w->ailing && i < w->ailing->n_active;) {
        if (w->ailing->active[i]->node == node)
            SAND_TRY(end(w, w->ailing->active[i]));
        else
            i++;
    }
    return SAND_OK;
}

enum sand_rc sand_ailing_finish(struct sand_world *w)
{
    for (size_t i = 0; w->ailing && i < w->ailing->n_active; i++)
        SAND_TRY(emit(w, w->ailing->active[i], -1));
    return SAND_OK;
}

// ---- up and down --------------------------------------------------------------------------------

static enum sand_rc await_toggle(struct sand_world *w, struct sand_degradation *d)
{
    const int64_t length_ns = sand_degradation_flap_ns(w->faults, d->class_index, d->index,
                                                       d->n_toggles++ / 2, d->is_down);
    return sand_world_put(w, sand_world_later(w->now_ns, length_ns), SAND_RANK_FAULT,
                          SAND_EVENT_TOGGLE, d->number, &d->toggle_token);
}

static enum sand_rc go_down(struct sand_world *w, struct sand_degradation *d)
{
    SAND_TRY(sand_ailing_credit_all(w));
    SAND_TRY(sand_ailing_hold(w, d));
    d->is_down = 1;
    d->n_downs += w->now_ns < w->end_ns; // at the end nothing is down for any time
    d->routed_ns = sand_world_later(w->now_ns, sand_ns_from_s(w->cluster->fabric.convergence_s));
    return change(w, d);
}

static enum sand_rc come_up(struct sand_world *w, struct sand_degradation *d)
{
    SAND_TRY(sand_ailing_credit_all(w));
    sand_ailing_let_go(d);
    d->is_down = 0;
    return change(w, d);
}

enum sand_rc sand_ailing_toggle(struct sand_world *w, uint32_t number, uint64_t token)
{
    struct sand_degradation *d = find(w, number);
    if (d == NULL || d->toggle_token != token)
        return SAND_OK;
    SAND_TRY(d->is_down ? come_up(w, d) : go_down(w, d));
    return await_toggle(w, d);
}

// ---- the strike ---------------------------------------------------------------------------------

static struct sand_degradation *make(struct sand_world *w, uint32_t class_index, uint64_t k)
{
    struct sand_ailing *a = w->ailing;
    const struct sand_degradation_class *c = &classes_of(w)[class_index];
    struct sand_degradation *d = sand_calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    *d = (struct sand_degradation){.class = c,
                                   .class_index = class_index,
                                   .index = k,
                                   .node = SAND_NONE,
                                   .gpu = SAND_NONE,
                                   .fault_ns = w->now_ns,
                                   .noticed_ns = -1,
                                   .toggle_token = SAND_NO_ENTRY};
    const uint64_t part = sand_degradation_part(w->faults, class_index, k, a->n_parts[class_index]);
    if (c->kind == SAND_KIND_GPU) {
        d->part.kind = SAND_KIND_GPU;
        d->gpu = c->part ? a->only_gpu[class_index] : (uint32_t)part;
        d->node = d->gpu / w->gpus_per_node;
        return d;
    }
    d->part = c->part ? a->only[class_index] : sand_fabric_part_at(w->fabric, c->kind, part);
    if (c->kind == SAND_KIND_NIC)
        d->node = sand_fabric_link_owner(w->fabric, d->part.index).owner;
    return d;
}

// Its class has struck the part already, or the node is out for repair: nothing new.
static int is_moot(const struct sand_world *w, const struct sand_degradation *d)
{
    for (size_t i = 0; i < w->ailing->n_active; i++) {
        const struct sand_degradation *other = w->ailing->active[i];
        if (other->class == d->class && other->part.index == d->part.index && other->gpu == d->gpu)
            return 1;
    }
    return d->node != SAND_NONE && w->node_views[d->node].state == SANDTABLE_NODE_DOWN;
}

// What is known of its future.
static enum sand_rc await(struct sand_world *w, struct sand_degradation *d)
{
    const struct sand_fault fault =
        sand_degradation_fault(w->faults, d->class_index, d->index, d->node, SAND_NONE);
    const int stays = d->class->remedy == SAND_PART_STAYS;
    if (stays)
        SAND_TRY(
            sand_world_put(w, sand_world_later(w->now_ns, sand_fault_repair_ns(w->faults, &fault)),
                           SAND_RANK_REPAIR, SAND_EVENT_HEALED, d->number, NULL));
    return sand_world_put(w, sand_world_later(w->now_ns, sand_fault_detect_ns(w->faults, &fault)),
                          SAND_RANK_TIMER, SAND_EVENT_NOTICED, d->number, NULL);
}

static enum sand_rc begin(struct sand_world *w, struct sand_degradation *d)
{
    struct sand_ailing *a = w->ailing;
    void *active = a->active;
    const enum sand_rc rc =
        sand_grow(&active, &a->active_capacity, a->n_active + 1, sizeof(*a->active));
    if (rc != SAND_OK) {
        free_degradation(d);
        return rc;
    }
    a->active = active;
    SAND_TRY(sand_ailing_credit_all(w));
    a->active[a->n_active++] = d;
    d->number = a->n_degradations++;
    SAND_TRY(await(w, d));
    const int flaps = d->class->effect == SAND_EFFECT_FLAP;
    if (!flaps && d->class->effect != SAND_EFFECT_DOWN)
        return change(w, d);
    SAND_TRY(go_down(w, d));
    return flaps ? await_toggle(w, d) : SAND_OK;
}

enum sand_rc sand_ailing_strike(struct sand_world *w, uint32_t class_index)
{
    const uint64_t k = w->ailing->n_strikes[class_index]++;
    SAND_TRY(await_strike(w, class_index, w->now_ns));
    struct sand_degradation *d = make(w, class_index, k);
    if (d == NULL)
        return SAND_ERR_NOMEM;
    if (!is_moot(w, d))
        return begin(w, d);
    free_degradation(d);
    return SAND_OK;
}

// ---- noticed ------------------------------------------------------------------------------------

static enum sand_rc take_out(struct sand_world *w, struct sand_degradation *d,
                             const struct sand_fault *fault)
{
    SAND_TRY(sand_ailing_credit_all(w));
    sand_ailing_let_go(d);
    d->is_down = 0;
    d->is_drained = 1;
    d->toggle_token = SAND_NO_ENTRY;
    SAND_TRY(sand_world_put(w, sand_world_later(w->now_ns, sand_fault_repair_ns(w->faults, fault)),
                            SAND_RANK_REPAIR, SAND_EVENT_HEALED, d->number, NULL));
    return change(w, d);
}

// The node leaves: at once if nobody has it, else its job is interrupted for it.
static enum sand_rc take_node(struct sand_world *w, const struct sand_degradation *d,
                              const struct sand_fault *fault)
{
    if (w->node_views[d->node].state == SANDTABLE_NODE_ALLOCATED)
        return sand_recovery_evict(w, d->node, fault);
    return sand_pool_withdraw(w, d->node, sand_fault_repair_ns(w->faults, fault));
}

enum sand_rc sand_ailing_noticed(struct sand_world *w, uint32_t number)
{
    struct sand_degradation *d = find(w, number);
    if (d == NULL)
        return SAND_OK;
    d->noticed_ns = w->now_ns;
    const struct sand_fault fault =
        sand_degradation_fault(w->faults, d->class_index, d->index, d->node,
                               d->gpu != SAND_NONE ? d->gpu % w->gpus_per_node : SAND_NONE);
    switch (d->class->remedy) {
    case SAND_PART_DRAINED:
        return take_out(w, d, &fault);
    case SAND_PART_REPLACED:
        return take_node(w, d, &fault);
    case SAND_PART_STAYS:
        break;
    }
    return SAND_OK;
}
