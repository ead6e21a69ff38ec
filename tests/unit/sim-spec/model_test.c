// The bound model: values in SI units, defaults, references, derived values, canonical text,
// digest. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"
#include "specsupport.h"
#include "units.h"

static struct sand_spec *load(const char *path, const char *a, const char *b)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    enum sand_rc rc = spec_load_with(path, a, b, NULL, &spec, &diag);
    cr_assert_eq(rc, SAND_OK, "%s: %s", path, diag.n_messages ? diag.messages[0].text : "");
    sand_diag_clear(&diag);
    return spec;
}

static void expect_near(double value, double expected)
{
    cr_expect_float_eq(value, expected, 1e-12 * expected, "%.17g, not %.17g", value, expected);
}

Test(model, smallest_experiment_gets_every_default, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("smallest"), NULL, NULL);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    cr_expect_str_eq(e->name, "e");
    cr_expect_eq(e->duration_ns, INT64_C(86400) * SAND_NS_PER_S);
    cr_expect_eq(e->seed, 1);
    cr_expect_eq(e->replications, 1);
    cr_expect_eq(e->mfu_window_ns, INT64_C(86400) * SAND_NS_PER_S);
    cr_expect_str_eq(e->kernels->id, "transformer");
    expect_near(e->kernels->attention_head64, 1.0);
    cr_expect_str_eq(e->schedule.type, "schedule/fifo");
    cr_expect_str_eq(e->place.type, "place/first-fit");
    cr_expect_str_eq(e->recover.type, "recover/spare");
    cr_expect_null(e->schedule.plugin);
    cr_expect_eq(e->cluster.nodes_per_rack, 1);
    cr_expect_eq(e->cluster.racks_per_row, 4, "all racks in one row");
    cr_expect_eq(e->cluster.rows_per_hall, 1);
    expect_near(e->cluster.pue, 1.0);
    cr_expect_eq(e->cluster.storage.n_servers, 0);
    cr_expect_eq(e->faults.n_classes, 0);
    cr_assert_eq(e->n_jobs, 1);
    cr_expect_eq(e->jobs[0].kind, SAND_JOB_RECORDED);
    expect_near(e->jobs[0].work_s, 3600);
    cr_expect_str_eq(e->jobs[0].checkpoint.policy.type, "checkpoint/none");
    expect_near(-e->jobs[0].checkpoint.stall_s, 1);
    sand_spec_free(spec);
}

Test(model, units_become_si, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("every-attribute"), NULL, NULL);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    const struct sand_gpu_type *gpu = e->cluster.node_type->gpu;
    expect_near(gpu->peak_bf16_flops, 100e12);
    expect_near(gpu->hbm_B, 80e9);
    expect_near(gpu->hbm_usable, 0.9);
    expect_near(e->cluster.node_type->nic->rate_Bps, 50e9);
    expect_near(e->cluster.node_type->max_W, 10e3);
    expect_near(e->cluster.fabric.leaf_oversubscription, 0.5);
    expect_near(e->cluster.fabric.pod_oversubscription, 7);
    cr_expect_eq(e->cluster.fabric.spreading, SAND_SPREAD_STATIC);
    cr_expect_eq(e->seed, UINT64_C(9007199254740991));
    cr_expect_str_eq(e->name, "every-attribute");
    cr_expect_str_eq(e->cluster.name, "every & all <\">");
    const struct sand_job_spec *job = &e->jobs[0];
    cr_expect_eq(job->kind, SAND_JOB_TRAIN);
    cr_expect_eq(job->n_steps, 100);
    expect_near(job->step_s, 10);
    cr_expect_eq(job->split.recompute, SAND_RECOMPUTE_FULL);
    cr_expect_eq(job->split.attention, SAND_ATTENTION_UNFUSED);
    cr_expect_eq(job->split.precision, SAND_FP16);
    cr_expect_eq(job->split.overlap_grad_reduce, 0);
    expect_near(job->split.grad_B, 2);
    expect_near(job->checkpoint.restore_s, 120);
    sand_spec_free(spec);
}

// The rate of the fabric's link is replaced in a copy: the NICs, which share the entry, keep
// theirs.
Test(model, link_rate_replaces_the_fabric_links_rate_only, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("every-attribute"), NULL, NULL);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    expect_near(e->cluster.fabric.link->rate_Bps, 25e9);
    expect_near(e->cluster.node_type->nic->rate_Bps, 50e9);
    sand_spec_free(spec);
}

Test(model, link_rate_above_the_catalogue_warns_but_loads, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_assert_eq(spec_load_with(SPEC_VALID("smallest"), "cluster/fat_tree/@link_rate=800Gbps", NULL,
                                NULL, &spec, &diag),
                 SAND_OK);
    cr_expect_eq(diag.n_errors, 0);
    cr_expect_eq(diag.n_warnings, 1);
    cr_expect(spec_message(&diag, "faster than the 50 GB/s of link \"port\""));
    sand_spec_free(spec);
    sand_diag_clear(&diag);
}

Test(model, fault_counts_become_rates, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("faults"), NULL, NULL);
    const struct sand_fault_spec *faults = &sand_spec_experiment(spec)->faults;
    cr_assert_eq(faults->n_classes, 2);
    expect_near(faults->classes[0].rate_per_node_s, 5.5e-5 / 3600);
    expect_near(faults->classes[1].rate_per_node_s, 148.0 / (54.0 * 86400 * 2048));
    cr_expect_eq(faults->classes[0].detect.kind, SAND_LAW_WEIBULL);
    expect_near(faults->classes[0].detect.shape, 1.2);
    cr_expect_eq(faults->classes[0].diagnose.kind, SAND_LAW_LOGNORMAL);
    expect_near(faults->classes[0].diagnose.max_s, 4 * 3600.0);
    cr_expect_eq(faults->classes[0].remedy, SAND_REMEDY_REPLACE);
    cr_expect_eq(faults->classes[1].component, SAND_COMPONENT_JOB);
    cr_expect_eq(faults->classes[1].planned, 1);
    sand_spec_free(spec);
}

// `use` gives the storage element the catalogue entry's own values.
Test(model, storage_use_copies_the_entry, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("training"), NULL, NULL);
    const struct sand_storage_spec *storage = &sand_spec_experiment(spec)->cluster.storage;
    cr_expect_str_eq(storage->id, "store");
    cr_expect_eq(storage->n_servers, 100);
    expect_near(storage->server_write_Bps, 1e9);
    expect_near(storage->server_read_Bps, 2e9);
    sand_spec_free(spec);
}

Test(model, choices_know_where_they_stand, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("training"), NULL, NULL);
    const struct sand_choice *policy = &sand_spec_experiment(spec)->jobs[0].checkpoint.policy;
    cr_expect_str_eq(policy->type, "checkpoint/fixed");
    cr_expect_str_eq(policy->file, SPEC_VALID("training"));
    cr_expect_eq(policy->line, 4);
    cr_assert_eq(policy->n_params, 1);
    cr_expect_str_eq(policy->params[0].name, "interval");
    cr_expect_str_eq(policy->params[0].text, "10min");
    cr_expect_eq(policy->params[0].line, 4);
    sand_spec_free(spec);
}

static int assumes(const struct sand_experiment *experiment, const char *line)
{
    int n = 0;
    for (size_t i = 0; i < experiment->n_assumptions; i++)
        n += strcmp(experiment->assumptions[i], line) == 0;
    return n;
}

// Each assumed field of each entry in use is listed once, however many refer to the entry; what is
// only defined is not.
Test(model, assumptions_are_listed_once_each, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("faults"), NULL, NULL);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    cr_expect_eq(assumes(e, "gpu plain: tile_m"), 1);
    cr_expect_eq(assumes(e, "link port: usable"), 1);
    cr_expect_eq(assumes(e, "faults: restart"), 1);
    cr_expect_eq(assumes(e, "faults: detect_shape"), 1);
    cr_expect_eq(e->n_assumptions, 4);
    sand_spec_free(spec);
    spec = load(SPEC_VALID("definitions"), NULL, NULL);
    e = sand_spec_experiment(spec);
    cr_expect_eq(assumes(e, "node box: max_power"), 1);
    cr_expect_eq(assumes(e, "gpu plain: tile_m"), 0, "not in use here");
    sand_spec_free(spec);
}

// The canonical text is an experiment: reading it gives the same text and digest, for every valid
// file. So it states everything that counts, and nothing is lost on the way.
Test(canonical, text_reads_back_to_itself, .timeout = 60)
{
    char dir[] = "/tmp/sandtable-canonical-XXXXXX", path[80], trace[80], *rows;
    size_t size;
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/text.xml", dir);
    snprintf(trace, sizeof trace, "%s/trace.csv", dir); // named relative to the experiment
    cr_assert_eq(sand_file_read(SPEC_DATA "/valid/trace.csv", 1 << 20, &rows, &size, NULL),
                 SAND_OK);
    cr_assert_eq(sand_file_write(trace, rows, size, NULL), SAND_OK);
    sand_free(rows);
    char **files = spec_files(SPEC_DATA "/valid");
    for (char **file = files; *file; file++) {
        struct sand_spec *first = load(*file, NULL, NULL);
        const struct sand_experiment *e = sand_spec_experiment(first);
        cr_assert_eq(sand_file_write(path, e->canonical, strlen(e->canonical), NULL), SAND_OK);
        struct sand_spec *second = NULL;
        struct sand_diag diag = {0};
        // Without a catalogue: the text must not need one.
        struct sand_spec_options options = {.catalogue = "/nonexistent"};
        cr_assert_eq(sand_spec_load(path, &options, &second, &diag), SAND_OK, "%s: %s", *file,
                     diag.n_messages ? diag.messages[0].text : "");
        cr_expect_str_eq(sand_spec_experiment(second)->canonical, e->canonical);
        cr_expect_str_eq(sand_spec_experiment(second)->digest, e->digest);
        sand_spec_free(second);
        sand_spec_free(first);
        sand_diag_clear(&diag);
    }
    spec_files_free(files);
    unlink(path);
    unlink(trace);
    rmdir(dir);
}

static void digest_with(const char *setting, char digest[65])
{
    struct sand_spec *spec = load(SPEC_VALID("smallest"), setting, NULL);
    memcpy(digest, sand_spec_experiment(spec)->digest, 65);
    sand_spec_free(spec);
}

Test(canonical, digest_ignores_how_and_heeds_what, .timeout = 10)
{
    char plain[65], same[65], other[65], expected[65];
    digest_with(NULL, plain);
    digest_with("@duration=1440min", same);
    cr_expect_str_eq(plain, same, "1d and 1440min are the same duration");
    digest_with("@seed=1", same);
    cr_expect_str_eq(plain, same, "the default written out");
    digest_with("@seed=2", other);
    cr_expect_str_neq(plain, other);
    struct sand_spec *spec = load(SPEC_VALID("smallest"), NULL, NULL);
    const char *canonical = sand_spec_experiment(spec)->canonical;
    sand_sha256_hex(canonical, strlen(canonical), expected);
    cr_expect_str_eq(plain, expected);
    sand_spec_free(spec);
}

Test(canonical, text_does_not_depend_on_the_locale, .timeout = 10)
{
    char before[65], after[65];
    digest_with("@duration=1.5h", before);
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "C.UTF-8");
    digest_with("@duration=1.5h", after);
    cr_expect_str_eq(before, after);
}

// An entry of one's own may not share its id with a catalogue entry that is used as well: the
// canonical text could not tell them apart.
Test(canonical, twins_of_catalogue_entries_are_refused, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(spec_load_with(SPEC_DATA "/twin.xml", NULL, NULL, NULL, &spec, &diag),
                 SAND_ERR_INPUT);
    cr_expect(spec_message(&diag, "is defined here and also used from the catalogue"));
    sand_diag_clear(&diag);
}

// Two elements <trace> and a mix; the bytes of the trace are in the digest, its path is not.
Test(model, traces_and_mixes, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("trace"), NULL, NULL);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    cr_assert_eq(e->n_traces, 2);
    cr_expect_eq(e->traces[0].format, SAND_TRACE_PHILLY);
    cr_expect_eq(e->traces[0].drop_duplicates, 1);
    cr_expect_eq(e->traces[0].walltime, SAND_TRACE_WALLTIME_FACTOR);
    cr_assert_eq(e->traces[0].n_classes, 2);
    cr_expect_str_eq(e->traces[0].classes[1].partition, "b*");
    cr_expect_null(e->traces[0].classes[0].user);
    cr_expect_not_null(strstr(e->canonical, e->traces[1].digest));
    cr_expect_null(strstr(e->canonical, SAND_TEST_DATA), "no path of this machine");
    sand_spec_free(spec);
    spec = load(SPEC_VALID("mix"), NULL, NULL);
    e = sand_spec_experiment(spec);
    cr_assert_eq(e->n_mixes, 1);
    const struct sand_mix *mix = e->mixes[0].mix;
    expect_near(mix->jobs_per_s, 48.0 / 86400);
    cr_expect_eq(mix->days[0].at, 6);
    cr_expect_eq(mix->classes[0].ends[1].outcome, SAND_MIX_FAIL);
    expect_near(mix->classes[0].ends[0].share, 0.75);
    cr_expect_eq(e->n_assumptions >= 3, 1, "what the mix assumes is listed");
    sand_spec_free(spec);
}

Test(model, when_the_schedule_policy_decides, .timeout = 10)
{
    struct sand_spec *spec = load(SPEC_VALID("smallest"), NULL, NULL);
    cr_expect_eq(sand_spec_experiment(spec)->events, SAND_EVENTS_INSTANT);
    sand_spec_free(spec);
    spec = load(SPEC_VALID("smallest"), "policies/@events=each", NULL);
    cr_expect_eq(sand_spec_experiment(spec)->events, SAND_EVENTS_EACH);
    sand_spec_free(spec);
}

// --trace: another file, from anywhere, for the one <trace>; none or two are refused.
Test(model, a_trace_instead, .timeout = 10)
{
    const char *other = SAND_TEST_DATA "/traces/good.swf";
    struct sand_spec_options options = {.catalogue = SPEC_CATALOGUE, .trace = other};
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    cr_expect_eq(sand_spec_load(SPEC_VALID("trace"), &options, &spec, &diag), SAND_ERR_INPUT);
    cr_expect(spec_message(&diag, "but there are 2"));
    cr_expect_eq(sand_spec_load(SPEC_VALID("smallest"), &options, &spec, &diag), SAND_ERR_INPUT);
    cr_expect(spec_message(&diag, "but there are 0"));
    sand_diag_clear(&diag);
}
