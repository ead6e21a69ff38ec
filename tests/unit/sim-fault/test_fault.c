// Fault processes: the right law, the right mix, and the same faults whatever a policy did.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "agenda.h"
#include "fault.h"
#include "ids.h"
#include "mem.h"
#include "units.h"

// The long-run rate of three fleets is about 4e-3 faults per 8-GPU node and day (Llama 3, arXiv
// 2407.21783, table 5: 419 unexpected interruptions in 54 days on 2,048 nodes).
static const double node_rate = 4e-3 / 86400;

static struct sand_fault_class classes[] = {
    {.id = "gpu",
     .rate_per_node_s = 0.5 * 4e-3 / 86400,
     .component = SAND_COMPONENT_GPU,
     .detect = {SAND_LAW_EXPONENTIAL, 600, 0, 0},
     .diagnose = {SAND_LAW_CONSTANT, 60, 0, 0},
     .restart = {SAND_LAW_CONSTANT, 300, 0, 0},
     .repair = {SAND_LAW_LOGNORMAL, 73440, 2.5, 7e6}},
    {.id = "never", .rate_per_node_s = 0, .component = SAND_COMPONENT_NODE},
    {.id = "nic",
     .rate_per_node_s = 0.2 * 4e-3 / 86400,
     .component = SAND_COMPONENT_NIC,
     .detect = {SAND_LAW_CONSTANT, 30, 0, 0}},
    {.id = "software", .rate_per_node_s = 0.2 * 4e-3 / 86400, .component = SAND_COMPONENT_JOB},
    {.id = "maintenance",
     .rate_per_node_s = 0.1 * 4e-3 / 86400,
     .component = SAND_COMPONENT_NODE,
     .planned = 1,
     .restart = {SAND_LAW_CONSTANT, 900, 0, 0}},
};
enum { N_CLASSES = sizeof classes / sizeof *classes };

static const struct sand_fault_spec spec = {.classes = classes, .n_classes = N_CLASSES};

static struct sand_fault_process *open_process(uint32_t n_nodes, uint32_t replication)
{
    struct sand_fault_process *process;
    struct sand_rng rng = {.seed = 2026, .replication = replication};
    cr_assert_eq(sand_fault_open(&spec, n_nodes, 8, 4, rng, &process, NULL), SAND_OK);
    return process;
}

// All nodes always allocated: takes faults in order of date until `n` have come or `until_ns` has.
struct record {
    int64_t date_ns;
    struct sand_fault fault;
};

static size_t run_fleet(uint32_t n_nodes, struct record *records, size_t n, int64_t until_ns)
{
    struct sand_fault_process *process = open_process(n_nodes, 0);
    struct sand_agenda agenda = {0};
    struct sand_agenda_entry entry;
    for (uint32_t node = 0; node < n_nodes; node++) {
        entry = (struct sand_agenda_entry){.date = sand_fault_expose(process, node, 0),
                                           .subject = node};
        cr_assert_eq(sand_agenda_put(&agenda, entry, NULL), SAND_OK);
    }
    size_t taken = 0;
    while (taken < n && sand_agenda_take(&agenda, &entry) && entry.date <= until_ns) {
        records[taken].date_ns = entry.date;
        records[taken++].fault = sand_fault_take(process, (uint32_t)entry.subject, &entry.date);
        cr_assert_eq(sand_agenda_put(&agenda, entry, NULL), SAND_OK);
    }
    sand_agenda_clear(&agenda);
    sand_fault_close(process);
    return taken;
}

enum { N_FAULTS = 10000 };
static struct record records[N_FAULTS];

// N nodes of rate r fail every 1/(N r) on the mean: 10,000 failures within three standard errors,
// at the sizes of a pod and of a whole cluster.
Test(fault, mean_time_to_failure)
{
    static const uint32_t sizes[] = {64, 2048};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(run_fleet(sizes[i], records, N_FAULTS, INT64_MAX), N_FAULTS);
        double mean_s = sand_s_from_ns(records[N_FAULTS - 1].date_ns) / N_FAULTS;
        double expected_s = 1 / (sizes[i] * node_rate);
        double error_s = expected_s / sqrt(N_FAULTS); // a Poisson gap's deviation is its mean
        cr_expect_leq(fabs(mean_s - expected_s), 3 * error_s, "%u nodes: %g s, not %g", sizes[i],
                      mean_s, expected_s);
    }
}

// Counts in 1,000 equal windows have variance = mean (index of dispersion 1; its deviation is
// sqrt(2/999)).
Test(fault, dispersion_index)
{
    cr_assert_eq(run_fleet(2048, records, N_FAULTS, INT64_MAX), N_FAULTS);
    unsigned counts[1000] = {0};
    double width = (double)records[N_FAULTS - 1].date_ns / 1000, squares = 0;
    for (size_t i = 0; i + 1 < N_FAULTS; i++)
        counts[(size_t)((double)records[i].date_ns / width)]++;
    for (size_t i = 0; i < 1000; i++)
        squares += (counts[i] - 10.0) * (counts[i] - 10.0);
    double index = squares / 999 / 10;
    cr_expect_leq(fabs(index - 1), 3 * sqrt(2.0 / 999), "dispersion %g", index);
}

static double chi_square(const unsigned *counts, const double *shares, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double expected = shares[i] * N_FAULTS;
        if (expected > 0)
            sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

// Classes come in proportion to their rates, planned ones in the same process; components
// uniformly. Bounds: the 99 % quantiles of chi-square with 3 and 7 degrees of freedom
// (11.34, 18.48).
Test(fault, class_and_component_mix)
{
    static const double shares[N_CLASSES] = {0.5, 0, 0.2, 0.2, 0.1};
    unsigned by_class[N_CLASSES] = {0}, by_gpu[8] = {0}, n_gpu = 0;
    cr_assert_eq(run_fleet(512, records, N_FAULTS, INT64_MAX), N_FAULTS);
    for (size_t i = 0; i < N_FAULTS; i++) {
        const struct sand_fault *f = &records[i].fault;
        by_class[f->class_index]++;
        if (classes[f->class_index].component == SAND_COMPONENT_GPU) {
            cr_assert_lt(f->component, 8);
            by_gpu[f->component]++;
            n_gpu++;
        } else if (classes[f->class_index].component == SAND_COMPONENT_NIC) {
            cr_assert_lt(f->component, 4);
        } else {
            cr_assert_eq(f->component, SAND_NONE);
        }
    }
    cr_expect_eq(by_class[1], 0);
    cr_expect_lt(chi_square(by_class, shares, N_CLASSES), 11.34);
    double gpu_share[8];
    for (int i = 0; i < 8; i++)
        gpu_share[i] = n_gpu / 8.0 / N_FAULTS;
    cr_expect_lt(chi_square(by_gpu, gpu_share, 8), 18.48);
}

// A node that rests does not age: the date moves by exactly the pause.
Test(fault, exposure_pauses)
{
    struct sand_fault_process *p = open_process(4, 0);
    int64_t due = sand_fault_expose(p, 2, 1000), half = 1000 + (due - 1000) / 2;
    cr_expect_eq(sand_fault_expose(p, 2, 2000), due); // runs already
    sand_fault_rest(p, 2, half);
    cr_expect_eq(sand_fault_exposure_ns(p, 2, half + 99), half - 1000);
    sand_fault_rest(p, 2, half + 50); // rests already
    cr_expect_eq(sand_fault_expose(p, 2, half + 777), due + 777);
    cr_expect_eq(sand_fault_exposure_ns(p, 2, half + 777 + 5), half - 1000 + 5);
    int64_t next;
    struct sand_fault fault = sand_fault_take(p, 2, &next);
    cr_expect_eq(fault.node, 2);
    cr_expect_eq(fault.index, 0);
    cr_expect_gt(next, due + 777);
    sand_fault_close(p);
}

// Rest at the very date of the fault (the job ended first): the fault comes when the node is
// allocated again, not later and not never.
Test(fault, due_fault_waits_for_the_next_allocation)
{
    struct sand_fault_process *p = open_process(1, 0);
    int64_t due = sand_fault_expose(p, 0, 0);
    sand_fault_rest(p, 0, due);
    cr_expect_eq(sand_fault_expose(p, 0, due + 500), due + 500);
    sand_fault_rest(p, 0, due + 600);
    cr_expect_eq(sand_fault_exposure_ns(p, 0, due + 600), due);
    cr_expect_eq(sand_fault_expose(p, 0, due + 700), due + 700);
    sand_fault_close(p);
}

// The first 50 faults of a node as (exposure, class, component), allocated in pieces of up to
// `piece_ns` with pauses between.
struct life {
    int64_t exposure_ns;
    struct sand_fault fault;
};
static void live(struct life *lives, uint32_t node, int64_t piece_ns, int64_t pause_ns)
{
    struct sand_fault_process *p = open_process(8, 1);
    int64_t now = 12345 * pause_ns;
    for (int n = 0; n < 50;) {
        int64_t due = sand_fault_expose(p, node, now), next;
        if (due - now > piece_ns) {
            sand_fault_rest(p, node, now + piece_ns);
            now += piece_ns + pause_ns;
            continue;
        }
        lives[n].fault = sand_fault_take(p, node, &next);
        lives[n++].exposure_ns = sand_fault_exposure_ns(p, node, due);
        now = due;
    }
    sand_fault_close(p);
}

// Two histories of allocation, one fault process: same exposures, classes, components, durations.
Test(fault, common_random_numbers)
{
    static struct life a[50], b[50];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    live(a, 5, INT64_MAX, 0);
    live(b, 5, 3600 * (int64_t)SAND_NS_PER_S + 1, 7777777);
    struct sand_fault_process *p = open_process(8, 1);
    for (int i = 0; i < 50; i++) {
        cr_expect_eq(a[i].exposure_ns, b[i].exposure_ns);
        cr_expect_eq(a[i].fault.class_index, b[i].fault.class_index);
        cr_expect_eq(a[i].fault.component, b[i].fault.component);
        cr_expect_eq(a[i].fault.index, (uint64_t)i);
        cr_expect_eq(sand_fault_repair_ns(p, &a[i].fault), sand_fault_repair_ns(p, &b[i].fault));
    }
    cr_expect_gt(a[49].exposure_ns, a[0].exposure_ns);
    sand_fault_close(p);
}

// Another node and another replication are other faults.
Test(fault, addresses_differ)
{
    struct sand_fault_process *p = open_process(2, 0), *q = open_process(2, 1);
    int64_t date = sand_fault_expose(p, 0, 0);
    cr_expect_neq(date, sand_fault_expose(p, 1, 0));
    cr_expect_neq(date, sand_fault_expose(q, 0, 0));
    sand_fault_close(p);
    sand_fault_close(q);
}

// Durations follow the class's law, differ by attempt where they should, and are drawn again equal.
Test(fault, durations)
{
    static struct sand_fault_class random_restart;
    random_restart = classes[0];
    random_restart.restart = (struct sand_law){SAND_LAW_EXPONENTIAL, 300, 0, 0};
    struct sand_fault_spec one = {.classes = &random_restart, .n_classes = 1};
    struct sand_fault_process *p;
    cr_assert_eq(sand_fault_open(&one, 1, 8, 4, (struct sand_rng){.seed = 1}, &p, NULL), SAND_OK);
    double detect_s = 0, restart_s = 0;
    for (uint64_t k = 0; k < N_FAULTS; k++) {
        struct sand_fault f = {.index = k};
        cr_assert_eq(sand_fault_diagnose_ns(p, &f), 60 * (int64_t)SAND_NS_PER_S);
        cr_assert_leq(sand_fault_repair_ns(p, &f), 7000000 * (int64_t)SAND_NS_PER_S);
        cr_assert_neq(sand_fault_restart_ns(p, &f, 0), sand_fault_restart_ns(p, &f, 1));
        cr_assert_eq(sand_fault_restart_ns(p, &f, 1), sand_fault_restart_ns(p, &f, 1));
        detect_s += sand_s_from_ns(sand_fault_detect_ns(p, &f)) / N_FAULTS;
        restart_s += sand_s_from_ns(sand_fault_restart_ns(p, &f, 0)) / N_FAULTS;
    }
    cr_expect_float_eq(detect_s, 600, 3 * 600 / 100.0); // three standard errors of 10,000 draws
    cr_expect_float_eq(restart_s, 300, 3 * 300 / 100.0);
    sand_fault_close(p);
}

Test(fault, closed_forms)
{
    cr_expect_float_eq(sand_fault_job_rate(&spec, 1), node_rate, 1e-20);
    // 0.5 (600 + 60 + 300) + 0.2 x 30 + 0.2 x 0 + 0.1 x 900
    cr_expect_float_eq(sand_fault_mean_restart_s(&spec), 576, 1e-9);
    struct sand_fault_spec none = {0};
    cr_expect_eq(sand_fault_job_rate(&none, 1), 0);
    cr_expect_eq(sand_fault_mean_restart_s(&none), 0);
}

Test(fault, no_classes_no_faults)
{
    struct sand_fault_spec none = {0};
    struct sand_fault_process *p;
    struct sand_rng rng = {0};
    cr_assert_eq(sand_fault_open(&none, 3, 8, 4, rng, &p, NULL), SAND_OK);
    cr_expect_eq(sand_fault_expose(p, 2, 5), INT64_MAX);
    sand_fault_rest(p, 2, 1005);
    cr_expect_eq(sand_fault_exposure_ns(p, 2, 2000), 1000);
    sand_fault_close(p);
    sand_fault_close(NULL);
}

// Rates so low that no fault fits 292 years of nanoseconds give "none", not an overflow.
Test(fault, far_dates_saturate)
{
    struct sand_fault_class rare = {.id = "rare", .rate_per_node_s = 1e-300};
    struct sand_fault_spec one = {.classes = &rare, .n_classes = 1};
    struct sand_fault_process *p;
    struct sand_rng rng = {0};
    cr_assert_eq(sand_fault_open(&one, 1, 8, 4, rng, &p, NULL), SAND_OK);
    cr_expect_eq(sand_fault_expose(p, 0, INT64_MAX - 5), INT64_MAX);
    sand_fault_close(p);
}

static void expect_refusal(const struct sand_fault_class *c, uint32_t n_nics, const char *fragment)
{
    struct sand_fault_spec one = {.classes = c, .n_classes = 1};
    struct sand_fault_process *p = NULL;
    struct sand_diag diag = {0};
    struct sand_rng rng = {0};
    cr_expect_eq(sand_fault_open(&one, 4, 8, n_nics, rng, &p, &diag), SAND_ERR_INPUT);
    cr_expect_null(p);
    cr_assert_eq(diag.n_messages, 1);
    cr_expect_not_null(strstr(diag.messages[0].text, fragment), "%s", diag.messages[0].text);
    sand_diag_clear(&diag);
}

Test(fault, refusals)
{
    struct sand_fault_class c = classes[2];
    expect_refusal(&c, 0, "fault class \"nic\" strikes a NIC, but the nodes have none");
    c.rate_per_node_s = -1;
    expect_refusal(&c, 4, "rate -1 /s");
    c = classes[2];
    c.rate_per_node_s = NAN;
    expect_refusal(&c, 4, "rate nan /s");
    c = classes[2];
    c.detect.mean_s = -30;
    expect_refusal(&c, 4, "detection time -30 s");
    c = classes[2];
    c.repair = (struct sand_law){SAND_LAW_WEIBULL, 100, 0, 0};
    expect_refusal(&c, 4, "repair shape 0");
    c = classes[2];
    c.restart.max_s = INFINITY;
    expect_refusal(&c, 4, "restart bound inf");
}

Test(fault, no_memory)
{
    struct sand_rng rng = {0};
    for (uint64_t n = 1; n <= 3; n++) {
        struct sand_fault_process *p = NULL;
        sand_mem_fail_at(n);
        cr_expect_eq(sand_fault_open(&spec, 4, 8, 4, rng, &p, NULL), SAND_ERR_NOMEM);
        cr_expect_null(p);
    }
    sand_mem_fail_at(0);
}

// Half a node: half of the faults that strike one GPU's job, all of those that strike the node.
Test(fault, a_job_on_part_of_a_node_is_struck_less_often)
{
    const struct sand_fault_class classes[] = {
        {.rate_per_node_s = 1e-6, .component = SAND_COMPONENT_JOB, .remedy = SAND_REMEDY_RESTART},
        {.rate_per_node_s = 2e-6, .component = SAND_COMPONENT_GPU, .remedy = SAND_REMEDY_RESTART},
        {.rate_per_node_s = 4e-6, .component = SAND_COMPONENT_GPU, .remedy = SAND_REMEDY_REPLACE},
        {.rate_per_node_s = 8e-6, .component = SAND_COMPONENT_NODE, .remedy = SAND_REMEDY_RESTART}};
    const struct sand_fault_spec parts = {.classes = classes, .n_classes = 4};
    cr_expect_float_eq(sand_fault_job_rate(&parts, 0.5), 13.5e-6, 1e-20);
    cr_expect_float_eq(sand_fault_job_rate(&parts, 1), 15e-6, 1e-20);
}

// Faults of 20,000 nodes in a time in which a node has m = 1.46 on the mean, as StepFun's 400 had
// in 349 days. Returns their mean; *dispersion: variance / mean, *none: share of nodes without,
// *worst: share of all faults on the tenth of the nodes that has most.
static double count_by_node(enum sand_law_kind kind, double shape, double *dispersion, double *none,
                            double *worst)
{
    enum { N_NODES = 20000, MOST = 200 };
    static const double m = 1.46;
    struct sand_fault_class class = {.id = "any", .rate_per_node_s = 1e-5};
    struct sand_fault_spec prone = {
        .classes = &class, .n_classes = 1, .node = {.kind = kind, .shape = shape}};
    struct sand_fault_process *process = NULL;
    const struct sand_rng rng = {.seed = 3};
    cr_assert_eq(sand_fault_open(&prone, N_NODES, 8, 8, rng, &process, NULL), SAND_OK);
    double sum = 0, squares = 0, nodes_with[MOST] = {0};
    for (uint32_t node = 0; node < N_NODES; node++) {
        size_t n = 0;
        int64_t date = sand_fault_expose(process, node, 0);
        for (; date < sand_ns_from_s(m / 1e-5); n++)
            sand_fault_take(process, node, &date);
        cr_assert_lt(n, MOST);
        nodes_with[n]++;
        sum += (double)n;
        squares += (double)(n * n);
    }
    sand_fault_close(process);
    double left = N_NODES / 10.0, theirs = 0;
    for (size_t n = MOST; n-- > 0 && left > 0;) {
        const double taken = nodes_with[n] < left ? nodes_with[n] : left;
        theirs += taken * (double)n;
        left -= taken;
    }
    const double mean = sum / N_NODES;
    *dispersion = (squares / N_NODES - mean * mean) / mean;
    *none = nodes_with[0] / N_NODES;
    *worst = theirs / sum;
    return mean;
}

// With an exponential factor counts are geometric: variance / mean = 1 + m, none on 1 / (1 + m) of
// the nodes. StepFun: 2.57, 169 of 400, 41 % on the worst tenth; nodes that are all alike have 1,
// 93 and 25 %.
Test(fault, nodes_that_are_not_alike)
{
    double dispersion, none, worst;
    const double alike = count_by_node(SAND_LAW_CONSTANT, 0, &dispersion, &none, &worst);
    cr_expect_float_eq(alike, 1.46, 0.03);
    cr_expect_float_eq(dispersion, 1, 0.04);
    cr_expect_float_eq(none, exp(-1.46), 0.01);
    const double unlike = count_by_node(SAND_LAW_EXPONENTIAL, 0, &dispersion, &none, &worst);
    cr_expect_float_eq(unlike, 1.46, 0.05, "the mean stays: %g", unlike);
    cr_expect_float_eq(dispersion, 2.46, 0.15, "variance / mean %g", dispersion);
    cr_expect_float_eq(none, 1 / 2.46, 0.01, "none on %g", none);
    cr_expect_float_eq(worst, 0.41, 0.02, "the worst tenth has %g", worst);
    const double heavy = count_by_node(SAND_LAW_LOGNORMAL, 0.8, &dispersion, &none, &worst);
    cr_expect_float_eq(heavy, 1.46, 0.05, "the median of the law is not the mean: %g", heavy);
    cr_expect_float_eq(dispersion, 1 + 1.46 * (exp(0.64) - 1), 0.2, "variance / mean %g",
                       dispersion);
}
