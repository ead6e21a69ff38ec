// Reads an experiment, finds the catalogue, and checks what no single room can.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "comm.h"
#include "fabric.h"
#include "jobset.h"
#include "mem.h"
#include "policyhost.h"
#include "savetime.h"
#include "spec.h"
#include "train.h"
#include "units.h"

// ---- catalogue
// ------------------------------------------------------------------------------------

// 0 leaves in errno why not.
static int has_catalogue(const char *dir, const char *below)
{
    char path[4096];
    struct stat info;
    int n = snprintf(path, sizeof path, "%s%s/platforms/catalogue", dir, below);
    errno = ENAMETOOLONG;
    if (n <= 0 || (size_t)n >= sizeof path || stat(path, &info) != 0)
        return 0;
    errno = ENOTDIR;
    return S_ISDIR(info.st_mode);
}

// Whether the catalogue is installed beside this program.
static int is_installed(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    return has_catalogue(path, "/../share/sandtable");
}

// --data, else $SANDTABLE_DATA or what is installed (both found by the reader: NULL), else the
// source tree this program was built from.
static const char *data_dir(const struct sand_cli_load *load)
{
    const char *named = getenv("SANDTABLE_DATA");
    if (load->data || (named && *named) || is_installed())
        return load->data;
    return has_catalogue(SAND_DATA_DIR, "") ? SAND_DATA_DIR : NULL;
}

const char *sand_cli_catalogue(const char *data, char *buffer, size_t size)
{
    const char *named = getenv("SANDTABLE_DATA");
    if (data || (named && *named))
        return data ? data : named;
    if (has_catalogue(SAND_DATA_DIR, "") && !is_installed())
        return SAND_DATA_DIR;
    ssize_t n = readlink("/proc/self/exe", buffer, size - 1);
    if (n <= 0)
        return SAND_DATA_DIR;
    buffer[n] = '\0';
    char *slash = strrchr(buffer, '/');
    size_t room = slash ? size - (size_t)(slash - buffer) : 0;
    int wrote = slash ? snprintf(slash, room, "/../share/sandtable") : -1;
    return wrote > 0 && (size_t)wrote < room ? buffer : SAND_DATA_DIR;
}

enum sand_rc sand_cli_load_file(const struct sand_cli_load *load, sand_spec_load_fn *read,
                                struct sand_spec **spec, struct sand_diag *diag)
{
    struct sand_spec_options options = {data_dir(load), load->settings, load->n_settings,
                                        load->trace};
    if (load->data && !has_catalogue(load->data, ""))
        return sand_fail(diag, SAND_ERR_USAGE,
                         "--data is \"%s\": its platforms/catalogue cannot be read: %s; name the "
                         "directory that contains platforms and workloads",
                         load->data, strerror(errno));
    return read(load->file, &options, spec, diag);
}

enum sand_rc sand_cli_load_spec(const struct sand_cli_load *load, struct sand_spec **spec,
                                struct sand_diag *diag)
{
    return sand_cli_load_file(load, sand_spec_load, spec, diag);
}

// The directory itself, also where the reader would find it.
static const char *known_data_dir(const struct sand_cli_load *load, char *buffer, size_t size)
{
    const char *dir = data_dir(load), *named = getenv("SANDTABLE_DATA");
    if (dir || (named && *named))
        return dir ? dir : named;
    ssize_t n = readlink("/proc/self/exe", buffer, size - 1);
    buffer[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(buffer, '/');
    const char *below = "/../share/sandtable";
    if (!slash || (size_t)(slash - buffer) + strlen(below) + 1 > size)
        return NULL;
    strcpy(slash, below);
    return buffer;
}

enum sand_rc sand_cli_load_entry(const struct sand_cli_load *load, sand_spec_load_fn *read,
                                 const char *path, const char *usual, struct sand_spec **spec,
                                 struct sand_diag *diag)
{
    char buffer[4096], name[5000];
    const char *dir = known_data_dir(load, buffer, sizeof buffer);
    const struct sand_spec_options how = {.catalogue = dir};
    if (!dir)
        return sand_fail(diag, SAND_ERR_USAGE, "the catalogue is not found; name it with --data");
    snprintf(name, sizeof name, "%s/%s", dir, usual);
    return read(path ? path : name, &how, spec, diag);
}

enum sand_rc sand_cli_load_collectives(const struct sand_cli_load *load,
                                       const struct sand_cluster *cluster, const char *path,
                                       struct sand_spec **spec, struct sand_diag *diag)
{
    const char *usual = sand_comm_on_torus(cluster) ? "platforms/catalogue/collectives/xla-tpu.xml"
                                                    : "platforms/catalogue/collectives/nccl.xml";
    return sand_cli_load_entry(load, sand_spec_load_collectives, path, usual, spec, diag);
}

static int is_entry(const struct dirent *file)
{
    const size_t length = strlen(file->d_name);
    return length > 4 && strcmp(file->d_name + length - 4, ".xml") == 0;
}

static enum sand_rc refuse_entry(const char *option, const char *name, struct dirent **files,
                                 size_t n, struct sand_diag *diag)
{
    enum { MOST = 256 };
    const char *names[MOST];
    char all[2000] = "";
    size_t length = 0;
    n = n < MOST ? n : MOST;
    for (size_t i = 0; i < n; i++) {
        files[i]->d_name[strlen(files[i]->d_name) - 4] = '\0';
        names[i] = files[i]->d_name;
        if (length < sizeof all)
            length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i > 0 ? ", " : "",
                                       names[i]);
    }
    const char *near = sand_nearest(name, names, n);
    if (near)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "%s is \"%s\", which the catalogue does not have; did you mean \"%s\"?",
                         option, name, near);
    return sand_fail(diag, SAND_ERR_INPUT,
                     "%s is \"%s\", which the catalogue does not have; it has %s", option, name,
                     all);
}

enum sand_rc sand_cli_check_entry(const struct sand_cli_load *load, const char *option,
                                  const char *directory, const char *name, struct sand_diag *diag)
{
    char buffer[4096], path[5000];
    const char *dir = known_data_dir(load, buffer, sizeof buffer);
    struct dirent **files;
    snprintf(path, sizeof path, "%s/%s/%s.xml", dir ? dir : "", directory, name);
    if (!dir || access(path, F_OK) == 0)
        return SAND_OK;
    snprintf(path, sizeof path, "%s/%s", dir, directory);
    const int n = scandir(path, &files, is_entry, alphasort);
    if (n < 0)
        return SAND_OK; // no catalogue here: reading it says so
    const enum sand_rc rc = refuse_entry(option, name, files, (size_t)n, diag);
    for (int i = 0; i < n; i++)
        free(files[i]);
    free(files);
    return rc;
}

// ---- checks
// ---------------------------------------------------------------------------------------

// Keeps the first failure.
static void keep(enum sand_rc *first, enum sand_rc rc)
{
    if (*first == SAND_OK)
        *first = rc;
}

static enum sand_rc check_policy(const struct sand_choice *choice, enum sand_policy_family family,
                                 struct sand_diag *diag)
{
    struct sand_policy policy = {0};
    SAND_TRY(sand_policy_bind(choice, family, &policy, diag));
    sand_policy_unbind(&policy);
    return SAND_OK;
}

// Names the job, since the checks of a split know only the split.
static enum sand_rc check_split(const struct sand_experiment *experiment,
                                const struct sand_job_spec *job, struct sand_diag *diag)
{
    const struct sand_cluster *cluster = &experiment->cluster;
    uint32_t first, end;
    // A job of no group is checked against the cluster's own nodes, the others where it lands.
    const struct sand_gpu_type *gpu =
        job->group && sand_cluster_group_nodes(cluster, job->group, &first, &end)
            ? sand_cluster_type_of(cluster, first)->gpu
            : cluster->node_type->gpu;
    struct sand_memory memory;
    size_t errors = diag->n_errors;
    enum sand_rc rc = sand_split_check(
        job->model, &job->split, sand_job_gpus(job, experiment->cluster.node_type->n_gpus), diag);
    if (rc == SAND_OK && !(job->step_s > 0.0)) // a step that was measured did fit
        rc = sand_memory_check(job->model, &job->split, gpu, experiment->kernels, &memory, diag);
    if (rc != SAND_OK && diag->n_errors > errors)
        sand_diag_add(diag, SAND_NOTE, NULL, 0, "the split above is that of job \"%s\"", job->id);
    return rc;
}

// Jobs of a trace or a mix share what is written: one word about it is enough.
static int is_said(const struct sand_diag *diag, const struct sand_choice_param *param)
{
    for (size_t i = 0; i < diag->n_messages; i++) {
        const struct sand_message *message = &diag->messages[i];
        if (message->severity == SAND_WARNING && message->line == param->line && message->file &&
            param->file && strcmp(message->file, param->file) == 0)
            return 1;
    }
    return 0;
}

// A policy may be told less time between saves than a save takes; then they follow each other.
static void warn_of_slow_saves(const struct sand_experiment *experiment,
                               const struct sand_job_spec *job,
                               const struct sand_choice_param *param, struct sand_diag *diag)
{
    const uint32_t gpus = sand_job_gpus(job, experiment->cluster.node_type->n_gpus);
    const double durable_s = sand_savetime_durable_s(&experiment->cluster, job, gpus);
    double interval_s;
    char takes[40], asked[40], why[200];
    if (strcmp(param->name, "interval") != 0 || is_said(diag, param) ||
        sand_quantity_parse(param->text, SAND_DIM_TIME, &interval_s, why, sizeof why) != SAND_OK ||
        !(durable_s > interval_s))
        return;
    sand_quantity_format(durable_s, SAND_DIM_TIME, 3, takes, sizeof takes);
    sand_quantity_format(interval_s, SAND_DIM_TIME, 3, asked, sizeof asked);
    sand_diag_add(
        diag, SAND_WARNING, param->file, param->line,
        "job \"%s\": a save takes at least %s until it is durable, longer than the interval of "
        "%s; %s; lengthen the interval or speed up the storage",
        job->id, takes, asked,
        job->checkpoint.mode == SAND_SAVE_BLOCKING ? "training stands still longer than it runs"
                                                   : "the next save waits for it");
}

// Of those written out, those of traces, and those that replication 0 draws.
static enum sand_rc check_job(void *self, const struct sand_job_spec *job, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = self;
    enum sand_rc rc = SAND_OK;
    if (job->kind == SAND_JOB_TRAIN && job->model)
        keep(&rc, check_split(experiment, job, diag));
    if (job->checkpoint.policy.type)
        keep(&rc, check_policy(&job->checkpoint.policy, SAND_POLICY_CHECKPOINT, diag));
    for (size_t i = 0; job->kind == SAND_JOB_TRAIN && i < job->checkpoint.policy.n_params; i++)
        warn_of_slow_saves(experiment, job, &job->checkpoint.policy.params[i], diag);
    return rc;
}

static enum sand_rc check_fabric(const struct sand_cluster *cluster, struct sand_diag *diag)
{
    struct sand_fabric *fabric = NULL;
    SAND_TRY(sand_fabric_build(cluster, &fabric, diag));
    sand_fabric_free(fabric);
    return SAND_OK;
}

enum sand_rc sand_cli_check(const struct sand_experiment *experiment, FILE *rows,
                            struct sand_jobset **jobset, struct sand_diag *diag)
{
    struct sand_jobset *set = NULL;
    enum sand_rc rc = check_fabric(&experiment->cluster, diag);
    keep(&rc, check_policy(&experiment->schedule, SAND_POLICY_SCHEDULE, diag));
    keep(&rc, check_policy(&experiment->place, SAND_POLICY_PLACE, diag));
    keep(&rc, check_policy(&experiment->recover, SAND_POLICY_RECOVER, diag));
    struct sand_experiment checked = *experiment; // to be pointed at
    const struct sand_job_visitor visitor = {&checked, check_job, rows};
    keep(&rc, sand_jobset_open(experiment, &visitor, &set, diag));
    if (rc == SAND_OK && jobset)
        *jobset = set;
    else
        sand_jobset_close(set);
    return rc;
}
