// Out of memory at every allocation in turn, and much input.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"
#include "specsupport.h"

// The k-th allocation fails, for every k until none is left to fail: each load ends in
// SAND_ERR_NOMEM with nothing returned, and the last one succeeds.
static void fail_each_allocation(const char *path, const char *catalogue, const char *setting,
                                 uint64_t at_least)
{
    struct sand_spec_options options = {.catalogue = catalogue, .settings = &setting};
    options.n_settings = setting != NULL;
    for (uint64_t k = 1;; k++) {
        struct sand_spec *spec = NULL;
        struct sand_diag diag = {0};
        uint64_t before = sand_mem_count();
        sand_mem_fail_at(k);
        enum sand_rc rc = sand_spec_load(path, &options, &spec, &diag);
        uint64_t made = sand_mem_count() - before;
        sand_mem_fail_at(0);
        if (rc != SAND_OK && rc != SAND_ERR_NOMEM)
            sand_diag_print(&diag, stderr);
        sand_diag_clear(&diag);
        if (rc == SAND_OK) {
            cr_expect_lt(made, k, "allocation %llu failed and nobody noticed",
                         (unsigned long long)k);
            cr_expect_gt(k, at_least);
            sand_spec_free(spec);
            return;
        }
        cr_assert_eq(rc, SAND_ERR_NOMEM, "allocation %llu", (unsigned long long)k);
        cr_assert_null(spec);
    }
}

Test(nomem, every_allocation_may_fail, .timeout = 120)
{
    fail_each_allocation(SPEC_VALID("smallest"), SPEC_CATALOGUE, "policies/@hot_spares=1", 10);
    fail_each_allocation(SPEC_VALID("definitions"), SPEC_CATALOGUE, NULL, 10);
}

// How full the arenas are when an allocation comes depends on how long the paths are: wherever the
// tree lies, the same must hold. (The hostile build, whose chunks have 64 bytes, tries every one.)
Test(nomem, every_allocation_may_fail_at_any_length_of_path, .timeout = 120)
{
    char root[] = "/tmp/sandtable-length-XXXXXX", command[600], directory[300], path[400],
         data[400];
    cr_assert_not_null(mkdtemp(root));
    for (int length = 1; length < 64; length += 3) {
        snprintf(directory, sizeof directory, "%s/%0*d", root, length, 0);
        snprintf(command, sizeof command, "cp -r '%s' '%s'", SPEC_DATA, directory);
        cr_assert_eq(system(command), 0);
        snprintf(path, sizeof path, "%s/valid/smallest.xml", directory);
        snprintf(data, sizeof data, "%s/data", directory);
        fail_each_allocation(path, data, NULL, 10);
    }
    snprintf(command, sizeof command, "rm -r '%s'", root);
    cr_assert_eq(system(command), 0);
}

// A trace of 20,000 jobs, each written out in full: the schema must not slow down with what is
// there (libxml2's time for optional attributes is exponential if written the obvious way).
Test(nomem, many_jobs_load_in_time, .timeout = 60)
{
    char path[] = "/tmp/sandtable-jobs-XXXXXX";
    FILE *out = fdopen(mkstemp(path), "w");
    fputs("<experiment xmlns=\"urn:sandtable:1\" name=\"e\" duration=\"30d\"><cluster name=\"c\" "
          "nodes=\"4\" node=\"sandtable:node/plain\"><fat_tree tiers=\"2\" "
          "endpoints_per_leaf=\"16\" link=\"sandtable:link/port\"/></cluster><jobs>\n",
          out);
    for (int i = 0; i < 20000; i++)
        fprintf(out, "<job id=\"j%d\" nodes=\"1\" submit=\"%dmin\" duration=\"1h\"/>\n", i, i);
    fputs("</jobs></experiment>\n", out);
    fclose(out);
    struct sand_spec *spec = NULL;
    cr_assert_eq(spec_load_with(path, NULL, NULL, NULL, &spec, NULL), SAND_OK);
    const struct sand_experiment *e = sand_spec_experiment(spec);
    cr_assert_eq(e->n_jobs, 20000);
    cr_expect_str_eq(e->jobs[19999].id, "j19999");
    cr_expect_eq(e->jobs[19999].submit_ns, INT64_C(19999) * 60 * 1000000000);
    sand_spec_free(spec);
    unlink(path);
}
