// Checks of the whole experiment: amounts that no run could get through, and plans that cannot
// work. SPDX-License-Identifier: GPL-2.0-or-later
#include "speccheck.h"

#include <math.h>

#include "specbind.h"
#include "units.h"

enum { MAX_WINDOWS = 1000000, MAX_REPLICATIONS = 1000000, MAX_FLAPS = 100000 };

// A job struck more often than this makes no progress and only costs time.
static const double shortest_gap_s = 1.0;

static struct sand_xml_place place_of(const xmlNode *node)
{
    return sand_xml_place(node);
}

static void check_amounts(struct spec_binding *binding, const xmlNode *node,
                          const struct sand_experiment *experiment)
{
    if (experiment->mfu_window_ns > 0 &&
        experiment->duration_ns / experiment->mfu_window_ns > MAX_WINDOWS)
        spec_error(binding, place_of(node),
                   "experiment \"window\" cuts its duration into more than %d windows; write a "
                   "longer window",
                   MAX_WINDOWS);
    if (experiment->replications > MAX_REPLICATIONS)
        spec_error(binding, place_of(node),
                   "experiment \"replications\" is %u: at most %d; 20 give most means an interval "
                   "worth printing",
                   experiment->replications, MAX_REPLICATIONS);
}

// Rate-weighted mean of what follows a fault before steps run again.
static double mean_outage_s(const struct sand_fault_spec *faults)
{
    double weighted = 0, rate = 0;
    for (size_t i = 0; i < faults->n_classes; i++) {
        const struct sand_fault_class *f = &faults->classes[i];
        rate += f->rate_per_node_s;
        weighted += f->rate_per_node_s * (sand_law_mean(&f->detect) + sand_law_mean(&f->diagnose) +
                                          sand_law_mean(&f->restart));
    }
    return rate > 0 ? weighted / rate : 0;
}

static double node_rate(const struct sand_fault_spec *faults)
{
    double rate = 0;
    for (size_t i = 0; i < faults->n_classes; i++)
        rate += faults->classes[i].rate_per_node_s;
    return rate;
}

static void check_gaps(struct spec_binding *binding, const xmlNode *node,
                       const struct sand_experiment *experiment)
{
    const double rate = node_rate(&experiment->faults);
    const double outage_s = mean_outage_s(&experiment->faults);
    char gap[32], outage[32];
    for (size_t i = 0; rate > 0 && i < experiment->n_jobs; i++) {
        const struct sand_job_spec *job = &experiment->jobs[i];
        const double gap_s = 1.0 / (rate * job->n_nodes);
        sand_quantity_format(gap_s, SAND_DIM_TIME, 3, gap, sizeof gap);
        sand_quantity_format(outage_s, SAND_DIM_TIME, 3, outage, sizeof outage);
        if (gap_s < shortest_gap_s)
            spec_error(binding, place_of(node),
                       "job \"%s\" on %u nodes would be struck every %s; the shortest mean gap is "
                       "1 s: check the faults' rates and their units",
                       job->id, job->n_nodes, gap);
        else if (gap_s < outage_s)
            spec_warning(binding, place_of(node),
                         "job \"%s\" on %u nodes is struck every %s and needs %s to detect, "
                         "diagnose and restart: it hardly gets on",
                         job->id, job->n_nodes, gap, outage);
    }
}

// A part that flaps is followed flap by flap, and each asks anew for the steps of the jobs on it. A
// job stands still while it is down (the routes are back later than the part): flaps much shorter
// than a step are a lower rate.
static void check_flaps(struct spec_binding *binding, const struct sand_degradation_class *d,
                        double duration_s)
{
    const struct sand_xml_place place = {d->file, d->line};
    const double down_s = sand_law_mean(&d->down), up_s = sand_law_mean(&d->up);
    const double repair_s = sand_law_mean(&d->fault.repair);
    const double lasts_s =
        fmin(duration_s, d->remedy == SAND_PART_STAYS ? repair_s : sand_law_mean(&d->fault.detect));
    char cycle[32];
    if (d->effect != SAND_EFFECT_FLAP || lasts_s / (down_s + up_s) <= MAX_FLAPS)
        return;
    sand_quantity_format(down_s + up_s, SAND_DIM_TIME, 3, cycle, sizeof cycle);
    spec_error(binding, place,
               "degradation \"%s\" flaps every %s, %.0f times before it is over; at most %d are "
               "followed. Flaps much shorter than a step are a lower rate: effect=\"slow\" "
               "speed=\"%.3g\", what is left of the time",
               d->fault.id, cycle, lasts_s / (down_s + up_s), MAX_FLAPS,
               fmax(SAND_SLOWEST, up_s / (down_s + up_s)));
}

static void check_dates(struct spec_binding *binding, const struct sand_degradation_class *d,
                        double duration_s)
{
    const struct sand_xml_place place = {d->file, d->line};
    char at[32], duration[32];
    sand_quantity_format(d->at_s, SAND_DIM_TIME, 6, at, sizeof at);
    sand_quantity_format(duration_s, SAND_DIM_TIME, 6, duration, sizeof duration);
    if (d->at_s >= duration_s)
        spec_warning(binding, place,
                     "degradation \"%s\" strikes at %s, when the experiment of %s is over: it does "
                     "nothing",
                     d->fault.id, at, duration);
    if (d->rate_per_part_s * shortest_gap_s > 1)
        spec_error(binding, place,
                   "degradation \"%s\" would strike every part more than once a second: check its "
                   "rate and the unit",
                   d->fault.id);
}

// What degradations in time need of the fabric, without a default.
static void check_degradations(struct spec_binding *binding, const xmlNode *node,
                               const struct sand_experiment *experiment)
{
    const struct sand_fabric_spec *fabric = &experiment->cluster.fabric;
    for (size_t i = 0; i < experiment->faults.n_degradations; i++) {
        const struct sand_degradation_class *d = &experiment->faults.degradations[i];
        check_flaps(binding, d, sand_s_from_ns(experiment->duration_ns));
        check_dates(binding, d, sand_s_from_ns(experiment->duration_ns));
        const int reroutes = d->effect == SAND_EFFECT_DOWN || d->effect == SAND_EFFECT_FLAP;
        if (reroutes && !(fabric->convergence_s >= 0))
            spec_error(binding, place_of(node),
                       "degradation \"%s\" takes parts of the fabric down: the fabric lacks "
                       "\"convergence\", the time until routes avoid them; there is no default: "
                       "measure it or say what you assume",
                       d->fault.id);
        if (d->loss > 0 && !(fabric->loss_window > 0))
            spec_error(binding, place_of(node),
                       "degradation \"%s\" loses packets: the fabric lacks \"loss_window\", rate x "
                       "round trip / packet size; 400 Gb/s, 10 us and 4 KiB make "
                       "loss_window=\"122\"",
                       d->fault.id);
    }
}

// What a torus of cubes needs of jobs and, where nodes fail, of its circuits.
static void check_cubes(struct spec_binding *binding, const xmlNode *node,
                        const struct sand_experiment *experiment)
{
    const struct sand_fabric_spec *fabric = &experiment->cluster.fabric;
    const struct sand_node_type *type = experiment->cluster.node_type;
    if (fabric->kind != SAND_FABRIC_TORUS || fabric->block == 0 || !type || type->n_nics == 0)
        return;
    if (fabric->circuits && experiment->faults.n_classes > 0 && !(fabric->switching_s >= 0))
        spec_error(binding, place_of(node),
                   "nodes fail on a torus of cubes: it lacks \"switching\", the time until another "
                   "cube's circuits carry traffic; there is no default: measure it or say what you "
                   "assume");
    const uint32_t per_cube = fabric->block * fabric->block * fabric->block / type->n_nics;
    const int is_whole = per_cube * type->n_nics == fabric->block * fabric->block * fabric->block;
    for (size_t i = 0; i < experiment->n_jobs && is_whole; i++) {
        const struct sand_job_spec *job = &experiment->jobs[i];
        if (job->n_nodes > per_cube && job->n_nodes % per_cube != 0)
            spec_error(binding, place_of(node),
                       "job \"%s\" on %u nodes takes neither part of a cube nor whole cubes, which "
                       "have %u nodes; write nodes=\"%u\"",
                       job->id, job->n_nodes, per_cube, job->n_nodes / per_cube * per_cube);
    }
}

SPEC_FINISH(experiment)
{
    (void)extra;
    const struct sand_experiment *experiment = model;
    check_amounts(binding, node, experiment);
    check_gaps(binding, node, experiment);
    check_degradations(binding, node, experiment);
    check_cubes(binding, node, experiment);
}
