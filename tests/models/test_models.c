// Every model in workloads/models has the parameters that were published for it, and every
// published one is there. SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "spec.h"
#include "train.h"

struct published {
    char id[64], total[16], active[16];
};

static FILE *open_table(void)
{
    FILE *file = fopen(SAND_SOURCE_DIR "/tests/data/models/published.csv", "r");
    char line[512];
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(line, sizeof line, file));
    return file;
}

// The first three cells hold neither quotes nor commas.
static int next_row(FILE *file, struct published *row)
{
    char line[512];
    if (fgets(line, sizeof line, file) == NULL)
        return 0;
    char *total = strchr(line, ','), *active = strchr(total + 1, ','),
         *source = strchr(active + 1, ',');
    *total = *active = *source = '\0';
    snprintf(row->id, sizeof row->id, "%.63s", line);
    snprintf(row->total, sizeof row->total, "%.15s", total + 1);
    snprintf(row->active, sizeof row->active, "%.15s", active + 1);
    return 1;
}

static struct sand_spec *load(const char *id)
{
    char setting[128];
    snprintf(setting, sizeof setting, "jobs/job[*]/@model=sandtable:model/%s", id);
    const char *settings[] = {setting};
    const struct sand_spec_options options = {
        .catalogue = SAND_SOURCE_DIR, .settings = settings, .n_settings = 1};
    struct sand_diag diag = {0};
    struct sand_spec *spec = NULL;
    const enum sand_rc rc =
        sand_spec_load(SAND_SOURCE_DIR "/examples/llama3-405b/oracle.xml", &options, &spec, &diag);
    cr_assert_eq(rc, SAND_OK, "%s: %s", id, diag.n_messages > 0 ? diag.messages[0].text : "");
    sand_diag_clear(&diag);
    return spec;
}

// A published size is right to half of its last digit. Names are rounded more freely: two digits
// stand for anything within 7 % (Nemotron-3 8B has 8.5e9), more for 2 %. MaxText's are nominal: it
// doubles parts of a model of 1B, and calls the tenth 1024B.
static double tolerance(const char *text, int nominal)
{
    const char *point = strchr(text, '.');
    const double last = point ? pow(10, -(double)strlen(point + 1)) : 1;
    size_t digits = 0;
    for (const char *c = text; *c != '\0'; c++)
        digits += *c >= '0' && *c <= '9';
    const double rounded =
        strtod(text, NULL) * (nominal || digits < 3 || strcmp(text, "1000") == 0 ? 0.07 : 0.02);
    return rounded > last / 2 ? rounded : last / 2;
}

Test(models, parameters_are_the_published_ones)
{
    FILE *file = open_table();
    struct published row;
    size_t n = 0;
    for (; next_row(file, &row); n++) {
        struct sand_spec *spec = load(row.id);
        const struct sand_transformer *model = sand_spec_experiment(spec)->jobs[0].model;
        const double want = strtod(row.total, NULL), have = sand_model_params(model) / 1e9;
        const int nominal = strncmp(row.id, "maxtext-", 8) == 0;
        cr_expect_float_eq(have, want, tolerance(row.total, nominal), "%s: %.3f, published %s",
                           row.id, have, row.total);
        // Publishers count the input embedding among the active parameters, or do not.
        const double active = sand_model_active_params(model) / 1e9;
        const double table = sand_model_embedding_params(model) / 1e9;
        if (row.active[0] != '\0') {
            const double stated = strtod(row.active, NULL);
            cr_expect(active <= stated * 1.03 && active + table >= stated * 0.97,
                      "%s: %.3f active, published %s", row.id, active, row.active);
        } else if (model->experts.n == 0) {
            const double read = (model->tied_embeddings ? 0 : table) +
                                model->positions * (double)model->hidden / 1e9;
            cr_expect_float_eq(active + read, have, 1e-6 * have, "%s is dense", row.id);
        }
        sand_spec_free(spec);
    }
    fclose(file);
    cr_assert_geq(n, 60u);
}

Test(models, every_file_has_a_published_size)
{
    DIR *folder = opendir(SAND_SOURCE_DIR "/workloads/models");
    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const size_t stem = strcspn(entry->d_name, "/");
        const char *end = strstr(entry->d_name, ".xml");
        if (end == NULL || stem == 0)
            continue;
        FILE *file = open_table();
        struct published row;
        int found = 0;
        while (!found && next_row(file, &row))
            found = strlen(row.id) == (size_t)(end - entry->d_name) &&
                    strncmp(row.id, entry->d_name, strlen(row.id)) == 0;
        cr_expect(found, "%s", entry->d_name);
        fclose(file);
    }
    closedir(folder);
}
