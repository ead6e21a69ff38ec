// The oracle with a store: what one oracle solved another finds, with the same bits; other versions
// and values that are no solutions are not believed.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachestore.h"
#include "oracle.h"
#include "small_question.h"

struct asked {
    struct sand_step_profile profile;
    struct sand_oracle_counters counters;
};

// A whole life of an oracle: open, ask once, close.
static struct asked ask_once(const struct small *s, const char *dir, const char *versions)
{
    struct asked asked;
    struct sand_diag diag = {0};
    struct sand_oracle *oracle = NULL;
    cr_assert_eq(sand_oracle_open(&oracle, NULL), SAND_OK);
    struct sand_cachestore *store =
        dir ? sand_cachestore_open(dir, SAND_CACHE_LIMIT_B, &diag) : NULL;
    sand_oracle_use_store(oracle, store, versions);
    cr_assert_eq(sand_oracle_step(oracle, &s->question, &asked.profile, &diag), SAND_OK);
    asked.counters = sand_oracle_counters(oracle);
    sand_oracle_close(oracle);
    sand_cachestore_close(store, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(diag.n_messages, 0);
    return asked;
}

static void expect(const struct asked *asked, uint64_t store_hits, uint64_t children)
{
    cr_assert_eq(asked->counters.store_hits, store_hits);
    cr_assert_eq(asked->counters.children, children);
}

Test(oracle_store, finds_what_another_oracle_solved)
{
    char dir[] = "/tmp/sand-oracle-XXXXXX";
    struct small s;
    cr_assert_eq(small_set_up(&s, NULL), SAND_OK);
    cr_assert_not_null(mkdtemp(dir));
    const struct asked without = ask_once(&s, NULL, "");
    const struct asked first = ask_once(&s, dir, "one");
    const struct asked second = ask_once(&s, dir, "one");
    const struct asked other = ask_once(&s, dir, "two");
    expect(&without, 0, 1);
    expect(&first, 0, 1);
    expect(&second, 1, 0);
    expect(&other, 0, 1); // solved by another version: not the same thing
    cr_assert_eq(memcmp(&without.profile, &first.profile, sizeof first.profile), 0);
    cr_assert_eq(memcmp(&first.profile, &second.profile, sizeof first.profile), 0);
    cr_assert_eq(memcmp(&first.profile, &other.profile, sizeof first.profile), 0);
    s.speed[0] = 0.5f;
    s.question.gpu_speed = s.speed;
    const struct asked slower = ask_once(&s, dir, "one");
    expect(&slower, 0, 1);
    cr_assert_gt(slower.profile.step_s, first.profile.step_s);
    cr_assert_eq(sand_cachestore_clear(dir, NULL), SAND_OK);
    rmdir(dir);
    sand_fabric_free(s.fabric);
}
