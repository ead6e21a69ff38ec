// The books of interruptions: which part of a job's time belongs to which open incident.
// The parent of an incident is the innermost (latest) one open when it struck. All open incidents
// of a job close together, when it passes its high-water mark, so every nanosecond since an
// incident's fault is in exactly one of its parts. A job adds its parts up once; an open incident
// keeps the sums of its beginning, and the difference is its own: booking costs the same however
// many are open. SPDX-License-Identifier: GPL-2.0-or-later
#include "world.h"

#include <string.h>

#include "mem.h"
#include "units.h"

const struct sand_fault_class *sand_incident_class(const struct sand_world *w,
                                                   const struct sand_incident *incident)
{
    return sand_fault_class_at(&w->experiment->faults, incident->fault.class_index);
}

static struct sand_incident *next_open(const struct sand_world *w,
                                       const struct sand_incident *incident)
{
    return incident->next_open == SAND_NONE ? NULL : &w->incidents[incident->next_open];
}

static struct sand_incident *first_open(const struct sand_world *w, const struct sand_world_job *j)
{
    return j->first_open == SAND_NONE ? NULL : &w->incidents[j->first_open];
}

static void append_open(struct sand_world *w, struct sand_world_job *j, uint32_t number)
{
    if (j->last_open == SAND_NONE)
        j->first_open = number;
    else
        w->incidents[j->last_open].next_open = number;
    j->last_open = number;
}

static void count(struct sand_world *w, struct sand_world_job *j, int planned)
{
    if (planned) {
        j->planned++;
        return;
    }
    j->incidents++;
    const size_t day = (size_t)(w->now_ns / SAND_NS_PER_S / 86400);
    if (day < w->n_days)
        w->day_counts[day]++;
}

// A first step beyond the mark that is cut off was no catch-up: it has to be done again.
static void take_catch_up_back(struct sand_world_job *j)
{
    j->parts_ns[SAND_PART_RECOMPUTE] += j->catch_up_ns;
    j->parts_ns[SAND_PART_CATCH_UP] -= j->catch_up_ns;
    j->catch_up_ns = 0;
}

enum sand_rc sand_incident_open(struct sand_world *w, struct sand_world_job *j,
                                const struct sand_fault *fault, uint64_t steps_lost,
                                int64_t partial_ns)
{
    void *incidents = w->incidents;
    SAND_TRY(
        sand_grow(&incidents, &w->incidents_capacity, w->n_incidents + 1, sizeof *w->incidents));
    w->incidents = incidents;
    take_catch_up_back(j);
    const uint32_t number = (uint32_t)w->n_incidents++;
    w->incidents[number] = (struct sand_incident){.fault = *fault,
                                                  .job = j->index,
                                                  .gpus = j->gpus,
                                                  .recorded = j->spec->kind == SAND_JOB_RECORDED,
                                                  .parent = j->last_open,
                                                  .next_open = SAND_NONE,
                                                  .fault_ns = w->now_ns,
                                                  .recovered_ns = -1,
                                                  .steps_lost = steps_lost,
                                                  .partial_ns = partial_ns,
                                                  .missing_rank = SAND_NONE,
                                                  .replacement = SAND_NONE};
    memcpy(w->incidents[number].parts_ns, j->parts_ns, sizeof j->parts_ns);
    append_open(w, j, number);
    count(w, j, sand_incident_class(w, &w->incidents[number])->planned);
    return SAND_OK;
}

static enum sand_incident_part part_of(enum sand_job_phase phase)
{
    switch (phase) {
    case SAND_PHASE_DETECTING:
        return SAND_PART_DETECT;
    case SAND_PHASE_DIAGNOSING:
        return SAND_PART_DIAGNOSE;
    case SAND_PHASE_WAITING:
        return SAND_PART_WAIT;
    case SAND_PHASE_RESTARTING:
        return SAND_PART_RESTART;
    case SAND_PHASE_RESTORING:
        return SAND_PART_RESTORE;
    default:
        return SAND_PART_RECOMPUTE; // steps up to the mark, and saves among them
    }
}

// The part of [since, now) that lies after the high-water mark's boundary.
static int64_t beyond_mark(const struct sand_world *w, const struct sand_world_job *j)
{
    if (j->phase != SAND_PHASE_STEPPING || j->spec->kind == SAND_JOB_RECORDED)
        return 0;
    const int64_t mark = sand_progress_date(&j->progress, j->highest);
    if (mark >= w->now_ns)
        return 0;
    return w->now_ns - (mark > j->since_ns ? mark : j->since_ns);
}

void sand_incident_book(struct sand_world *w, struct sand_world_job *j)
{
    if (j->first_open == SAND_NONE)
        return;
    const int64_t catch_up = beyond_mark(w, j);
    const int64_t other = w->now_ns - j->since_ns - catch_up;
    j->parts_ns[part_of(j->phase)] += other;
    j->parts_ns[SAND_PART_CATCH_UP] += catch_up;
    j->catch_up_ns += catch_up;
}

void sand_incident_settle(struct sand_world *w, struct sand_world_job *j)
{
    for (struct sand_incident *i = first_open(w, j); i; i = next_open(w, i))
        for (int part = 0; part < SAND_PARTS; part++)
            i->parts_ns[part] = j->parts_ns[part] - i->parts_ns[part];
}

void sand_incident_close_all(struct sand_world *w, struct sand_world_job *j)
{
    sand_incident_settle(w, j);
    for (struct sand_incident *i = first_open(w, j); i; i = next_open(w, i))
        i->recovered_ns = w->now_ns;
    j->first_open = j->last_open = SAND_NONE;
    j->catch_up_ns = 0;
}

int64_t sand_incident_recovery_ns(const struct sand_incident *incident)
{
    int64_t sum = 0;
    for (int part = 0; part < SAND_PARTS; part++)
        sum += incident->parts_ns[part];
    return sum;
}

int64_t sand_incident_lost_ns(const struct sand_incident *incident)
{
    const int64_t ns = sand_incident_recovery_ns(incident) - incident->parts_ns[SAND_PART_CATCH_UP];
    return incident->recorded ? ns : ns + incident->partial_ns;
}
