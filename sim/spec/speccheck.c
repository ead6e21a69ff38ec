// Derived values and checks over several attributes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "speccheck.h"

#include <string.h>

#include "filegate.h"
#include "numbers.h"
#include "specbind.h"

static struct sand_xml_place place_of(const xmlNode *node)
{
    return node ? sand_xml_place(node) : (struct sand_xml_place){0};
}

// ---- catalogue ----

SPEC_FINISH(node)
{
    (void)extra;
    const struct sand_node_type *type = model;
    if (type->scaleup != SAND_SCALEUP_NONE && !type->scaleup_link)
        spec_error(binding, place_of(node),
                   "node \"%s\" has a scale-up switch but no \"scaleup_link\"; write "
                   "scaleup_link=\"sandtable:link/ID\"",
                   type->id);
    if (type->scaleup == SAND_SCALEUP_NONE && type->scaleup_link)
        spec_error(binding, place_of(node),
                   "node \"%s\" has a \"scaleup_link\" but scaleup=\"none\"; write "
                   "scaleup=\"nvswitch\" or drop the link",
                   type->id);
    if (type->scaleup == SAND_SCALEUP_NONE && type->scaleup_nodes > 1)
        spec_error(binding, place_of(node),
                   "node \"%s\" has \"scaleup_nodes\" but scaleup=\"none\"; write "
                   "scaleup=\"nvswitch\" or drop it",
                   type->id);
    const int is_torus = type->scaleup == SAND_SCALEUP_TORUS;
    if (is_torus ? type->scaleup_dims < 2 || type->scaleup_dims > 3 : type->scaleup_dims != 0)
        spec_error(
            binding, place_of(node),
            "node \"%s\": scaleup_dimensions is %u; a scale-up torus has 2 or 3, nothing else "
            "has any",
            type->id, type->scaleup_dims);
    if (type->idle_W > type->max_W)
        spec_error(binding, place_of(node), "node \"%s\": idle_power is more than max_power",
                   type->id);
    if (type->n_storage_nics > 0 && !(type->storage_nic_Bps > 0))
        spec_error(binding, place_of(node),
                   "node \"%s\" has storage_nics but no \"storage_nic_rate\"; write "
                   "storage_nic_rate=\"400Gbps\"",
                   type->id);
}

SPEC_FINISH(model)
{
    (void)extra;
    const struct sand_transformer *transformer = model;
    if (transformer->n_heads % transformer->n_kv_heads != 0)
        spec_error(binding, place_of(node),
                   "model \"%s\": heads (%u) is no multiple of kv_heads (%u)", transformer->id,
                   transformer->n_heads, transformer->n_kv_heads);
    const struct sand_experts *experts = &transformer->experts;
    if (experts->per_token > experts->n)
        spec_error(binding, place_of(node),
                   "model \"%s\": a token passes through %u experts, but there are %u",
                   transformer->id, experts->per_token, experts->n);
}

// ---- policies ----

static const char *file_of(struct spec_binding *binding, const xmlNode *node, long *line)
{
    struct sand_xml_place place = place_of(node);
    const char *copy = place.file ? sand_arena_strdup(binding->arena, place.file) : NULL;
    *line = place.line;
    return place.file && !copy ? spec_no_memory(binding) : copy;
}

SPEC_FINISH(param)
{
    (void)extra;
    struct sand_choice_param *param = model;
    param->file = file_of(binding, node, &param->line);
}

SPEC_FINISH(choice)
{
    (void)extra;
    struct sand_choice *choice = model;
    choice->file = file_of(binding, node, &choice->line);
}

SPEC_FINISH(checkpoint)
{
    (void)extra;
    struct sand_checkpoint_spec *checkpoint = model;
    spec_finish_choice(binding, node, &checkpoint->policy, extra);
}

// ---- cluster ----

static void check_storage_ports(struct spec_binding *binding, const xmlNode *node,
                                const struct sand_cluster *cluster)
{
    const struct sand_storage_ports *ports = &cluster->storage_ports;
    const enum sand_fabric_kind kind = cluster->fabric.kind;
    if (ports->n_ports == 0)
        return;
    if (cluster->storage.n_servers == 0)
        spec_error(binding, place_of(node),
                   "cluster \"%s\" has <storage_ports> but no <storage>; add one", cluster->name);
    if (ports->at == SAND_STORAGE_AT_SPINES && kind != SAND_FABRIC_FAT_TREE &&
        kind != SAND_FABRIC_RAIL_OPTIMISED)
        spec_error(binding, place_of(node),
                   "cluster \"%s\": storage_ports has at=\"spines\", but only <fat_tree> and "
                   "<rail_optimised> have spines that all nodes reach; write at=\"leaves\"",
                   cluster->name);
    if (ports->at == SAND_STORAGE_AT_SPINES && ports->n_leaves > 0)
        spec_error(binding, place_of(node),
                   "cluster \"%s\": storage_ports has \"leaves\", which only at=\"leaves\" has",
                   cluster->name);
}

// Megawatts come from the server's figures: less than its GPUs alone draw is a slip.
static void check_power(struct spec_binding *binding, const xmlNode *node,
                        const struct sand_node_type *type)
{
    const double gpus_W = type->gpu ? type->n_gpus * type->gpu->tdp_W : 0;
    if (type->max_W < gpus_W)
        spec_error(binding, place_of(node),
                   "node \"%s\": max_power is %g kW, below the %g kW (tdp) of its %u GPUs \"%s\"; "
                   "give the power of the whole server, or the GPU the tdp it is capped to",
                   type->id, type->max_W / 1e3, gpus_W / 1e3, type->n_gpus, type->gpu->id);
}

SPEC_FINISH(cluster)
{
    (void)extra;
    struct sand_cluster *cluster = model;
    uint32_t racks = (uint32_t)sand_ceil_div(cluster->n_nodes, cluster->nodes_per_rack);
    if (cluster->racks_per_row == 0)
        cluster->racks_per_row = racks;
    if (cluster->rows_per_hall == 0)
        cluster->rows_per_hall = (uint32_t)sand_ceil_div(racks, cluster->racks_per_row);
    uint64_t gpus = (uint64_t)cluster->n_nodes * cluster->node_type->n_gpus;
    if (gpus > UINT32_MAX)
        spec_error(binding, place_of(node), "cluster \"%s\" has %llu GPUs; at most %u are counted",
                   cluster->name, (unsigned long long)gpus, UINT32_MAX);
    check_storage_ports(binding, node, cluster);
    check_power(binding, node, cluster->node_type);
    for (size_t i = 0; i < cluster->n_groups; i++)
        check_power(binding, node, cluster->groups[i].node_type);
}

// ---- jobs ----

// Nodes and GPUs of a job, from either.
static void complete_size(struct spec_binding *binding, const xmlNode *node,
                          struct sand_job_spec *job)
{
    const struct sand_node_type *type = binding->experiment->cluster.node_type;
    if (job->n_nodes == 0 && job->n_gpus == 0)
        spec_error(binding, place_of(node),
                   "job \"%s\" says neither \"nodes\" nor \"gpus\"; write one, above 0", job->id);
    if (job->n_gpus == 0 || !type || type->n_gpus == 0)
        return; // a missing cluster is reported already
    const uint32_t needs = (uint32_t)sand_ceil_div(job->n_gpus, type->n_gpus);
    if (job->n_nodes > 0 && job->n_nodes != needs)
        spec_error(binding, place_of(node),
                   "job \"%s\" has nodes=\"%u\" and gpus=\"%u\", which fill %u nodes of %u GPUs; "
                   "write one of the two",
                   job->id, job->n_nodes, job->n_gpus, needs, type->n_gpus);
    job->n_nodes = needs;
}

static void check_room(struct spec_binding *binding, const xmlNode *node,
                       const struct sand_job_spec *job)
{
    const struct sand_experiment *experiment = binding->experiment;
    uint32_t nodes = experiment->cluster.n_nodes, spares = experiment->hot_spares;
    if (nodes == 0)
        return; // reported already
    if (job->n_nodes > nodes)
        spec_error(binding, place_of(node), "job \"%s\" needs %u nodes, but cluster \"%s\" has %u",
                   job->id, job->n_nodes, experiment->cluster.name, nodes);
    else if ((uint64_t)job->n_nodes + spares > nodes)
        spec_error(binding, place_of(node),
                   "job \"%s\" needs %u nodes, but of the %u nodes of cluster \"%s\" %u are hot "
                   "spares; lower hot_spares or the job",
                   job->id, job->n_nodes, nodes, experiment->cluster.name, spares);
}

static void check_group(struct spec_binding *binding, const xmlNode *node,
                        const struct sand_job_spec *job)
{
    const struct sand_cluster *cluster = &binding->experiment->cluster;
    uint32_t first, end;
    if (!job->group || cluster->n_nodes == 0)
        return;
    const int exists = sand_cluster_group_nodes(cluster, job->group, &first, &end);
    if (!exists)
        spec_error(binding, place_of(node),
                   "job \"%s\" has group=\"%s\", but cluster \"%s\" has no <node_group> of that id",
                   job->id, job->group, cluster->name);
    else if (end - first < job->n_nodes)
        spec_error(binding, place_of(node),
                   "job \"%s\" needs %u nodes, but node_group \"%s\" has %u", job->id, job->n_nodes,
                   job->group, end - first);
}

static int saves(const struct sand_checkpoint_spec *checkpoint)
{
    return checkpoint->policy.type && strcmp(checkpoint->policy.type, "checkpoint/none") != 0;
}

// Nothing says how much a job without a model writes.
static void check_times(struct spec_binding *binding, const xmlNode *node, const char *what,
                        const char *id, const struct sand_checkpoint_spec *checkpoint)
{
    if (saves(checkpoint) && !(checkpoint->stall_s >= 0 && checkpoint->restore_s >= 0))
        spec_error(binding, place_of(node),
                   "%s \"%s\" saves, but has no model that says how much; give its <checkpoint> "
                   "both \"stall\" and \"restore\", such as stall=\"30s\" restore=\"2min\"",
                   what, id);
}

static void check_checkpoint(struct spec_binding *binding, const xmlNode *node,
                             const struct sand_job_spec *job)
{
    const struct sand_checkpoint_spec *checkpoint = &job->checkpoint;
    const struct sand_cluster *cluster = &binding->experiment->cluster;
    const int timed = checkpoint->stall_s >= 0 && checkpoint->restore_s >= 0;
    if (!job->model) {
        check_times(binding, node, "job", job->id, checkpoint);
        return;
    }
    if (cluster->n_nodes == 0 || timed || !saves(checkpoint))
        return;
    const struct sand_node_type *type = cluster->node_type;
    if (cluster->storage.n_servers == 0)
        spec_error(binding, place_of(node),
                   "job \"%s\" saves checkpoints, but the cluster has no <storage>; add one, or "
                   "give both \"stall\" and \"restore\"",
                   job->id);
    else if (type && !(type->n_storage_nics * type->storage_nic_Bps > 0) &&
             cluster->storage_ports.n_ports == 0)
        spec_error(binding, place_of(node),
                   "job \"%s\" saves checkpoints, but node \"%s\" has no ports to the storage "
                   "(storage_nics); give both \"stall\" and \"restore\", or put the storage on "
                   "the training fabric with <storage_ports>",
                   job->id, type->id);
}

static void check_precision(struct spec_binding *binding, const xmlNode *node,
                            const struct sand_job_spec *job)
{
    const struct sand_node_type *type = binding->experiment->cluster.node_type;
    if (job->kind != SAND_JOB_TRAIN || !type || !type->gpu || job->split.tp == 0)
        return;
    const struct sand_gpu_type *gpu = type->gpu;
    const int lacks_fp8 = !(gpu->peak_fp8_flops > 0) || !(gpu->gemm_fp8_flops > 0);
    const int lacks_fp4 = !(gpu->peak_fp4_flops > 0) || !(gpu->gemm_fp4_flops > 0);
    const int is_fp8 = job->split.precision == SAND_FP8 || job->split.precision == SAND_FP8_ROW;
    const char *name = is_fp8 ? "fp8" : "nvfp4";
    if (is_fp8 ? lacks_fp8 : job->split.precision == SAND_NVFP4 && lacks_fp4)
        spec_error(binding, place_of(node),
                   "job \"%s\" trains with precision=\"%s\", but gpu \"%s\" has no %s rates; "
                   "write precision=\"bf16\"",
                   job->id, name, gpu->id, name);
}

SPEC_FINISH(job)
{
    (void)extra;
    struct sand_job_spec *job = model;
    job->kind = job->model ? SAND_JOB_TRAIN : SAND_JOB_RECORDED;
    complete_size(binding, node, job);
    check_room(binding, node, job);
    check_group(binding, node, job);
    check_checkpoint(binding, node, job);
    check_precision(binding, node, job);
    int64_t duration_ns = binding->experiment->duration_ns;
    if (duration_ns > 0 && job->submit_ns >= duration_ns)
        spec_warning(binding, place_of(node),
                     "job \"%s\" is submitted when the experiment is over; it never runs", job->id);
}

SPEC_FINISH(trace_class)
{
    (void)extra;
    const struct sand_trace_class *class = model;
    if (class->speed == SAND_TRACE_RECORDED)
        check_times(binding, node, "class", class->id, &class->checkpoint);
}

SPEC_FINISH(mix_class)
{
    (void)extra;
    const struct sand_mix_class *class = model;
    if (class->speed == SAND_TRACE_RECORDED)
        check_times(binding, node, "class", class->id, &class->checkpoint);
}

SPEC_FINISH(jobs)
{
    (void)extra;
    const struct sand_experiment *experiment = model;
    if (experiment->n_jobs + experiment->n_traces + experiment->n_mixes == 0)
        spec_error(binding, place_of(node),
                   "jobs lacks the element <job>; write jobs, a <trace> or a <mix>");
}

// What is read decides the result: its bytes enter the digest of the experiment.
SPEC_FINISH(trace)
{
    (void)extra;
    struct sand_trace_spec *trace = model;
    trace->instead = binding->trace;
    const char *path = trace->instead ? trace->instead : trace->file;
    const enum sand_rc rc = sand_file_digest(path, trace->digest, binding->diag);
    if (rc == SAND_ERR_NOMEM)
        spec_no_memory(binding);
    else if (rc != SAND_OK)
        binding->n_errors++;
    if (trace->format == SAND_TRACE_CSV && !trace->columns)
        spec_error(binding, place_of(node),
                   "trace of format=\"csv\" lacks the attribute \"columns\"; write "
                   "columns=\"submit=COLUMN,run=COLUMN,gpus=COLUMN\"");
    if (trace->format != SAND_TRACE_CSV && trace->columns)
        spec_error(binding, place_of(node),
                   "trace has \"columns\", which only format=\"csv\" takes");
}
