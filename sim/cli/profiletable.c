// Prints a step profile from one table of its figures.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "profiletable.h"

#include <inttypes.h>
#include <stddef.h>

#include "json.h"
#include "textout.h"
#include "units.h"

// A figure of the profile: where it stands, how it is named for people and for programs.
struct figure {
    const char *label; // indented by two if it is a part of the figure above
    const char *name, *unit;
    enum sand_dim dim;
    size_t offset;
    int share; // 1: printed with its share of the step time; 2: of the GPU's memory
};

#define FIGURE(label, member, unit, dim, share)                                                    \
    {                                                                                              \
        label, #member, unit, dim, offsetof(struct sand_step_profile, member), share               \
    }
#define MEMORY(label, member, name)                                                                \
    {                                                                                              \
        label, name, "B", SAND_DIM_BYTES, offsetof(struct sand_step_profile, memory.member), 2     \
    }

static const struct figure times[] = {
    FIGURE("step time", step_s, "s", SAND_DIM_TIME, 0),
    FIGURE("compute", compute_s, "s", SAND_DIM_TIME, 1),
    FIGURE("  of it recomputation", recompute_s, "s", SAND_DIM_TIME, 1),
    FIGURE("  of it optimizer", optimizer_s, "s", SAND_DIM_TIME, 1),
    FIGURE("  of it fixed overhead", overhead_s, "s", SAND_DIM_TIME, 1),
    FIGURE("exposed TP communication", exposed_tp_s, "s", SAND_DIM_TIME, 1),
    FIGURE("  of it expert parallelism", exposed_ep_s, "s", SAND_DIM_TIME, 1),
    FIGURE("exposed CP communication", exposed_cp_s, "s", SAND_DIM_TIME, 1),
    FIGURE("exposed PP communication", exposed_pp_s, "s", SAND_DIM_TIME, 1),
    FIGURE("exposed DP communication", exposed_dp_s, "s", SAND_DIM_TIME, 1),
    FIGURE("pipeline bubble", bubble_s, "s", SAND_DIM_TIME, 1),
    FIGURE("data stall", data_stall_s, "s", SAND_DIM_TIME, 1),
};
static const struct figure rates[] = {
    FIGURE("MFU", mfu, "1", SAND_DIM_FRACTION, 0),
    FIGURE("HFU", hfu, "1", SAND_DIM_FRACTION, 0),
    FIGURE("tokens per second", tokens_per_s, "1/s", SAND_DIM_NUMBER, 0),
    FIGURE("model FLOPs per step", model_flops, "FLOP", SAND_DIM_NUMBER, 0),
    FIGURE("hardware FLOPs per step", hardware_flops, "FLOP", SAND_DIM_NUMBER, 0),
    FIGURE("peak of the job's GPUs", peak_flops, "FLOP/s", SAND_DIM_FLOPS, 0),
};
static const struct figure memory[] = {
    MEMORY("weights", weights_B, "memory_weights_B"),
    MEMORY("gradients", gradients_B, "memory_gradients_B"),
    MEMORY("optimizer state", optimizer_B, "memory_optimizer_B"),
    MEMORY("activations", activations_B, "memory_activations_B"),
    MEMORY("buffers", buffers_B, "memory_buffers_B"),
    MEMORY("total", total_B, "memory_total_B"),
    MEMORY("capacity", capacity_B, "memory_capacity_B"),
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct group {
    const char *title;
    const struct figure *figures;
    size_t n;
};

static const struct group groups[] = {
    {"time of one step, mean over the GPUs", times, COUNT(times)},
    {"efficiency", rates, COUNT(rates)},
    {"memory of the fullest GPU", memory, COUNT(memory)},
};

static double value_of(const struct sand_step_profile *profile, const struct figure *figure)
{
    return *(const double *)(const void *)((const char *)profile + figure->offset);
}

// ---- text
// -----------------------------------------------------------------------------------------

static double whole_of(const struct sand_step_profile *profile, int share)
{
    return share == 1 ? profile->step_s : profile->memory.capacity_B;
}

static void print_figure(const struct sand_step_profile *profile, const struct figure *figure,
                         FILE *out)
{
    char text[64];
    double value = value_of(profile, figure);
    if (figure->label[0] == ' ' && value == 0.0)
        return; // a part that the job does not have
    sand_quantity_format(value, figure->dim, 4, text, sizeof text);
    fprintf(out, "  %-26s %14s", figure->label, text);
    if (figure->share)
        fprintf(out, "  %5.1f%%", 100.0 * value / whole_of(profile, figure->share));
    fputc('\n', out);
}

static void print_links(const struct sand_step_profile *profile, FILE *out)
{
    fprintf(out, "\nlinks%39s  busiest\n", "bytes per step");
    for (int i = 0; i < SAND_LINK_CLASSES; i++) {
        char bytes[64];
        if (!(profile->link_B[i] > 0.0))
            continue;
        sand_quantity_format(profile->link_B[i], SAND_DIM_BYTES, 4, bytes, sizeof bytes);
        fprintf(out, "  %-26s %14s  %5.1f%%\n", sand_link_class_name((enum sand_link_class)i),
                bytes, 100.0 * profile->link_utilisation[i]);
    }
}

static void print_simulation(const struct sand_step_profile *p, FILE *out)
{
    fprintf(out, "\nsimulated (of the unfolded problem)\n");
    fprintf(out, "  %-26s %14" PRIu64 "  of %" PRIu64 "\n", "actors", p->n_actors,
            p->n_actors_full);
    fprintf(out, "  %-26s %14" PRIu64 "  of %" PRIu64 "\n", "flows", p->n_flows, p->n_flows_full);
    fprintf(out, "  %-26s %14" PRIu64 "  of %" PRIu64 "\n", "links", p->n_links, p->n_links_full);
    fprintf(out, "  %-26s %14" PRIu64 "\n", "events", p->n_events);
}

// "128 x h100-sxm-80g + 64 x b200-sxm-180g": runs of nodes of one type.
static void print_gpus(const struct sand_profile_view *view, FILE *out)
{
    const struct sand_cluster *cluster = &view->experiment->cluster;
    const uint32_t n = view->job->n_nodes, per_node = cluster->node_type->n_gpus;
    const uint32_t gpus = sand_job_gpus(view->job, per_node);
    for (uint32_t first = 0, i = 1; first < n; i++) {
        const struct sand_gpu_type *gpu = sand_cluster_type_of(cluster, view->nodes[first])->gpu;
        if (i < n && sand_cluster_type_of(cluster, view->nodes[i])->gpu == gpu)
            continue;
        fprintf(out, "%s%" PRIu32 " x %s", first > 0 ? " + " : "",
                (i * per_node < gpus ? i * per_node : gpus) - first * per_node, gpu->id);
        first = i;
    }
}

static void print_head(const struct sand_profile_view *view, FILE *out)
{
    const struct sand_job_spec *job = view->job;
    const struct sand_split *split = &job->split;
    const struct sand_cluster *cluster = &view->experiment->cluster;
    fprintf(out, "job %s: %s on ", job->id, job->model->id);
    print_gpus(view, out);
    fprintf(out, " (%s)\n", cluster->name);
    fprintf(out,
            "split: tp %" PRIu32 ", pp %" PRIu32 ", dp %" PRIu32 ", virtual stages %" PRIu32
            ", micro-batch %" PRIu32 ", global batch %" PRIu32 " x %" PRIu32 " tokens\n",
            split->tp, split->pp, split->dp, split->virtual_stages, split->micro_batch,
            split->global_batch, split->sequence);
}

static void print_assumed(const struct sand_experiment *experiment, FILE *out)
{
    if (experiment->n_assumptions > 0)
        fprintf(out, "\nassumed (no source confirms these)\n");
    sand_text_assumptions(out, experiment->assumptions, experiment->n_assumptions);
}

void sand_profile_print_text(const struct sand_profile_view *view, FILE *out)
{
    print_head(view, out);
    for (size_t g = 0; g < COUNT(groups); g++) {
        fprintf(out, "\n%s\n", groups[g].title);
        for (size_t i = 0; i < groups[g].n; i++)
            print_figure(view->profile, &groups[g].figures[i], out);
    }
    fprintf(out, "  %-26s %14" PRIu32 "\n", "fullest stage", view->profile->memory.stage);
    print_links(view->profile, out);
    print_simulation(view->profile, out);
    print_assumed(view->experiment, out);
}

// ---- JSON and CSV
// ---------------------------------------------------------------------------------

static void put_json_links(const struct sand_step_profile *profile, FILE *out)
{
    fputs("  \"links\": {", out);
    for (int i = 0; i < SAND_LINK_CLASSES; i++) {
        fprintf(out, "%s\n    ", i > 0 ? "," : "");
        sand_json_string(out, sand_link_class_name((enum sand_link_class)i));
        fputs(": {\"step_B\": ", out);
        sand_json_number(out, profile->link_B[i]);
        fputs(", \"utilisation\": ", out);
        sand_json_number(out, profile->link_utilisation[i]);
        fputs("}", out);
    }
    fputs("\n  },\n", out);
}

static void put_json_list(const char *const *texts, size_t n, FILE *out)
{
    fputs("  \"assumed\": [", out);
    for (size_t i = 0; i < n; i++) {
        fputs(i > 0 ? ", " : "", out);
        sand_json_string(out, texts[i]);
    }
    fputs("]\n", out);
}

static void put_json_text(const char *name, const char *text, FILE *out)
{
    fprintf(out, "  \"%s\": ", name);
    sand_json_string(out, text);
    fputs(",\n", out);
}

void sand_profile_print_json(const struct sand_profile_view *view, FILE *out)
{
    const struct sand_step_profile *profile = view->profile;
    fputs("{\n", out);
    put_json_text("experiment", view->experiment->name, out);
    put_json_text("digest", view->experiment->digest, out);
    put_json_text("job", view->job->id, out);
    for (size_t g = 0; g < COUNT(groups); g++)
        for (size_t i = 0; i < groups[g].n; i++) {
            fprintf(out, "  \"%s\": ", groups[g].figures[i].name);
            sand_json_number(out, value_of(profile, &groups[g].figures[i]));
            fputs(",\n", out);
        }
    fprintf(out, "  \"critical_stage\": %" PRIu32 ",\n  \"memory_stage\": %" PRIu32 ",\n",
            profile->critical_stage, profile->memory.stage);
    put_json_links(profile, out);
    put_json_list(view->experiment->assumptions, view->experiment->n_assumptions, out);
    fputs("}\n", out);
}

static void put_csv(const char *prefix, const char *name, double value, const char *unit, FILE *out)
{
    char text[64];
    sand_quantity_canonical(value, SAND_DIM_NUMBER, text, sizeof text);
    fprintf(out, "%s%s,%s,%s\n", prefix, name, text, unit);
}

void sand_profile_print_csv(const struct sand_profile_view *view, FILE *out)
{
    const struct sand_step_profile *profile = view->profile;
    fputs("name,value,unit\n", out);
    for (size_t g = 0; g < COUNT(groups); g++)
        for (size_t i = 0; i < groups[g].n; i++) {
            const struct figure *figure = &groups[g].figures[i];
            put_csv("", figure->name, value_of(profile, figure), figure->unit, out);
        }
    for (int i = 0; i < SAND_LINK_CLASSES; i++) {
        const char *name = sand_link_class_name((enum sand_link_class)i);
        put_csv("step_B_", name, profile->link_B[i], "B", out);
        put_csv("utilisation_", name, profile->link_utilisation[i], "1", out);
    }
}
