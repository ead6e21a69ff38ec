// What the tables cannot say: derived values and checks over several attributes, one per element.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_SIM_SPEC_SPECCHECK_H
#define SAND_SIM_SPEC_SPECCHECK_H

struct spec_binding;
struct _xmlNode;

#define SPEC_FINISH(name)                                                                          \
    void spec_finish_##name(struct spec_binding *binding, const struct _xmlNode *node,             \
                            void *model, const double *extra)

SPEC_FINISH(node);
SPEC_FINISH(model);
SPEC_FINISH(param);
SPEC_FINISH(choice);
SPEC_FINISH(fat_tree);
SPEC_FINISH(rail_optimised);
SPEC_FINISH(rail_only);
SPEC_FINISH(dragonfly_plus);
SPEC_FINISH(dragonfly);
SPEC_FINISH(torus);
SPEC_FINISH(wired);
SPEC_FINISH(cluster);
SPEC_FINISH(checkpoint);
SPEC_FINISH(job);
SPEC_FINISH(jobs);
SPEC_FINISH(trace);
SPEC_FINISH(trace_class);
SPEC_FINISH(mix_class);
SPEC_FINISH(fault);
SPEC_FINISH(faults);
SPEC_FINISH(degradation);
SPEC_FINISH(experiment);

#endif
