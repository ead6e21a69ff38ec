// Ranges: what the format page says of a number is what the binder takes.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "specsupport.h"
#include "spectable.h"

// Whether the binder refuses this value of the field for its size, whatever else it may say of it.
static int refused(const char *base, const char *path, const struct spec_field *field, double value)
{
    char setting[200], part[100];
    struct sand_spec *spec = NULL;
    struct sand_diag diag = {0};
    snprintf(setting, sizeof setting, "%s/@%s=%.15g", path, field->name, value);
    snprintf(part, sizeof part, "attribute \"%s\" is \"", field->name);
    const enum sand_rc rc = spec_load_with(base, setting, NULL, NULL, &spec, &diag);
    const int found = rc != SAND_OK && spec_message(&diag, part) != NULL;
    cr_expect(rc == SAND_OK || rc == SAND_ERR_INPUT, "%s", setting);
    sand_spec_free(spec);
    sand_diag_clear(&diag);
    return found;
}

// The least and the most that the page names are taken, their neighbours outside are not.
static void walk_ends(const char *base, const char *path, const struct spec_field *field)
{
    const struct spec_range *range = &field->range;
    const double step = field->dim == SAND_DIM_COUNT ? 1 : 1e-9;
    const double least = range->min + (range->open ? step : 0);
    const double most = range->max - (range->below ? step : 0);
    cr_expect(!refused(base, path, field, least), "%s/@%s=%g", path, field->name, least);
    cr_expect(refused(base, path, field, least - step), "%s/@%s: below", path, field->name);
    if (range->max > 0) {
        cr_expect(!refused(base, path, field, most), "%s/@%s=%g", path, field->name, most);
        cr_expect(refused(base, path, field, most + step), "%s/@%s: above", path, field->name);
    }
}

static void expect_on_page(const char *page, const struct spec_field *field)
{
    char row[200];
    const struct spec_range *range = &field->range;
    if (range->below)
        snprintf(row, sizeof row, "| `%s` | a fraction, below %g |", field->name, range->max);
    else if (range->max > 0 && range->max < SPEC_MOST_WHOLE)
        snprintf(row, sizeof row, "| `%s` | a whole number, %g to %g |", field->name, range->min,
                 range->max);
    else
        return;
    cr_expect_not_null(strstr(page, row), "the page lacks \"%s\"", row);
}

Test(range, the_ends_of_every_range_of_a_fabric_are_taken, .timeout = 60)
{
    const struct {
        const struct spec_element *element;
        const char *base, *path;
    } cases[] = {
        {&spec_fat_tree, SPEC_VALID("smallest"), "cluster/fat_tree"},
        {&spec_rail_optimised, SPEC_VALID("fabric-rails"), "cluster/rail_optimised"},
        {&spec_rail_only, SPEC_VALID("fabric-rail-only"), "cluster/rail_only"},
        {&spec_dragonfly, SPEC_VALID("fabric-dragonfly"), "cluster/dragonfly"},
        {&spec_torus, SPEC_VALID("fabric-torus"), "cluster/torus"},
        {&spec_impaired, SPEC_VALID("fabric-impaired"), "cluster/impaired[@part='leaf0 up']"},
    };
    char *page = NULL;
    size_t size, walked = 0;
    FILE *out = open_memstream(&page, &size);
    cr_assert_eq(sand_spec_write_format(out), SAND_OK);
    fclose(out);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t f = 0; f < cases[i].element->n_fields; f++) {
            const struct spec_field *field = &cases[i].element->fields[f];
            if (field->type != SPEC_U32 && field->dim != SAND_DIM_FRACTION)
                continue;
            walk_ends(cases[i].base, cases[i].path, field);
            expect_on_page(page, field);
            walked++;
        }
    cr_expect_gt(walked, 40);
    free(page); // of open_memstream
}

// Half a dragonfly written, the rest derived: never more than may be written.
Test(range, what_is_derived_is_in_range, .timeout = 10)
{
    struct sand_spec *spec = NULL;
    cr_assert_eq(spec_load_with(SPEC_VALID("fabric-dragonfly"),
                                "cluster/dragonfly/@global_links=65536", NULL, NULL, &spec, NULL),
                 SAND_OK);
    const struct sand_fabric_spec *fabric = &sand_spec_experiment(spec)->cluster.fabric;
    cr_expect_eq(fabric->routers, 65536);
    cr_expect_eq(fabric->endpoints_per_router, 65536);
    cr_expect_eq(fabric->groups, 65536);
    sand_spec_free(spec);
}
