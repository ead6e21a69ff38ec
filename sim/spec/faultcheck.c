// Checks of faults: laws and their shapes, and what an effect needs or must not have.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "faultspec.h"
#include "mem.h"
#include "specbind.h"
#include "speccheck.h"

static void check_law(struct spec_binding *binding, const xmlNode *node, const char *fault,
                      const char *name, const struct sand_law *law)
{
    int shaped = law->kind == SAND_LAW_WEIBULL || law->kind == SAND_LAW_LOGNORMAL;
    if (shaped && !(law->shape > 0))
        spec_error(binding, sand_xml_place(node),
                   "fault \"%s\": %s_law needs \"%s_shape\" above 0; write %s_shape=\"1.2\"", fault,
                   name, name, name);
    if (!shaped && law->shape != 0)
        spec_error(binding, sand_xml_place(node),
                   "fault \"%s\" has \"%s_shape\", which only the laws weibull and lognormal have; "
                   "drop it or name the law",
                   fault, name);
}

SPEC_FINISH(fault)
{
    struct sand_fault_class *fault = model;
    double count = extra[0], over_s = extra[1], nodes = extra[2];
    if (over_s > 0 && nodes > 0)
        fault->rate_per_node_s = count / (over_s * nodes);
    check_law(binding, node, fault->id, "detect", &fault->detect);
    check_law(binding, node, fault->id, "diagnose", &fault->diagnose);
    check_law(binding, node, fault->id, "restart", &fault->restart);
    check_law(binding, node, fault->id, "repair", &fault->repair);
}

SPEC_FINISH(faults)
{
    (void)extra;
    const struct sand_law *law = &((const struct sand_fault_spec *)model)->node;
    const int shaped = law->kind == SAND_LAW_WEIBULL || law->kind == SAND_LAW_LOGNORMAL;
    if (shaped != (law->shape > 0))
        spec_error(binding, sand_xml_place(node),
                   shaped ? "faults needs \"node_shape\" above 0 with this node_law; write "
                            "node_shape=\"1.2\""
                          : "faults has \"node_shape\", which only the laws weibull and lognormal "
                            "have; drop it or name the law in node_law");
}

// ---- degradations ----

static void refuse(struct spec_binding *binding, const xmlNode *node,
                   const struct sand_degradation_class *d, const char *why)
{
    spec_error(binding, sand_xml_place(node), "degradation \"%s\" %s", d->fault.id, why);
}

static void check_effect(struct spec_binding *binding, const xmlNode *node,
                         const struct sand_degradation_class *d)
{
    const int slow = d->effect == SAND_EFFECT_SLOW, flap = d->effect == SAND_EFFECT_FLAP;
    if (slow && !(d->speed >= SAND_SLOWEST && d->speed < 1))
        refuse(
            binding, node, d,
            "is slow: it needs a \"speed\" from 0.001 to below 1, such as speed=\"0.5\"; what is "
            "slower is down: effect=\"down\"");
    if (!slow && d->speed >= 0)
        refuse(binding, node, d, "has a \"speed\", which only effect=\"slow\" takes");
    if ((d->effect == SAND_EFFECT_LOSS) != (d->loss > 0))
        refuse(binding, node, d, "takes \"loss\" above 0 with effect=\"loss\", and with no other");
    if (flap && !(d->down.mean_s > 0 && d->up.mean_s > 0))
        refuse(binding, node, d, "flaps: it needs \"down\" and \"up\", both longer than 0s");
    if (!flap && (d->down.mean_s > 0 || d->up.mean_s > 0))
        refuse(binding, node, d, "has \"down\" or \"up\", which only effect=\"flap\" takes");
    if (d->timeout_s >= 0 && d->effect != SAND_EFFECT_DOWN && !flap)
        refuse(binding, node, d, "has a \"timeout\", which only what goes down takes");
}

static void check_kind(struct spec_binding *binding, const xmlNode *node,
                       const struct sand_degradation_class *d)
{
    const int in_node = d->kind == SAND_KIND_GPU || d->kind == SAND_KIND_NIC;
    if (d->kind == SAND_KIND_GPU && d->effect != SAND_EFFECT_SLOW)
        refuse(binding, node, d,
               "strikes GPUs, which are only slow; what takes a GPU down is a <fault>");
    if (d->kind >= SAND_KIND_LEAF && d->effect != SAND_EFFECT_DOWN && d->effect != SAND_EFFECT_FLAP)
        refuse(binding, node, d, "strikes switches, which only go down or flap; name cables");
    if (in_node && d->remedy == SAND_PART_DRAINED)
        refuse(binding, node, d, "cannot drain part of a node; remedy=\"replace\" takes the node");
    if (!in_node && d->remedy == SAND_PART_REPLACED)
        refuse(binding, node, d,
               "cannot replace what is in no node; remedy=\"drain\" takes it out of service");
}

SPEC_FINISH(degradation)
{
    (void)extra;
    struct sand_degradation_class *d = model;
    d->fault.remedy = d->remedy == SAND_PART_REPLACED ? SAND_REMEDY_REPLACE : SAND_REMEDY_RESTART;
    d->fault.component = d->kind == SAND_KIND_GPU ? SAND_COMPONENT_GPU : SAND_COMPONENT_NIC;
    check_law(binding, node, d->fault.id, "down", &d->down);
    check_law(binding, node, d->fault.id, "up", &d->up);
    check_law(binding, node, d->fault.id, "detect", &d->fault.detect);
    check_law(binding, node, d->fault.id, "diagnose", &d->fault.diagnose);
    check_law(binding, node, d->fault.id, "restart", &d->fault.restart);
    check_law(binding, node, d->fault.id, "repair", &d->fault.repair);
    const struct sand_xml_place place = sand_xml_place(node);
    d->file = place.file ? sand_arena_strdup(binding->arena, place.file) : NULL;
    d->line = place.line;
    if (d->rate_per_part_s >= 0 && d->at_s >= 0)
        refuse(binding, node, d, "has a \"rate\" and a date \"at\"; drop one of them");
    else if (!(d->rate_per_part_s > 0) && !(d->at_s >= 0))
        refuse(binding, node, d, "takes either a \"rate\" above 0 or a date \"at\"");
    check_effect(binding, node, d);
    check_kind(binding, node, d);
    if (d->fault.planned && d->remedy != SAND_PART_REPLACED)
        refuse(binding, node, d,
               "is planned, which only the replacement of a node is: write remedy=\"replace\" or "
               "drop \"planned\"");
    if (!(d->fault.repair.mean_s > 0))
        refuse(binding, node, d, "needs \"repair\": how long until the part is as new");
}
