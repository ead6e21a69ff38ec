// The journal: a unit is reused only for the same digest, physics and bytes; torn lines are none.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filegate.h"
#include "shards.h"

static const char digest[] = "1111111111111111111111111111111111111111111111111111111111111111";
static const char other[] = "2222222222222222222222222222222222222222222222222222222222222222";
static char dir[64];
static struct sand_shards shards;

static void begin(void)
{
    snprintf(dir, sizeof dir, "/tmp/sand-shards-XXXXXX");
    cr_assert(mkdtemp(dir));
    cr_assert_eq(sand_shards_open(&shards, dir, digest, "1", NULL), SAND_OK);
}

static void end(void)
{
    char command[128];
    sand_shards_close(&shards);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    cr_assert_eq(system(command), 0);
}

TestSuite(shards, .init = begin, .fini = end);

static void write_shard(uint32_t replication, const char *text)
{
    cr_assert_eq(sand_file_write(sand_shard_path(&shards, replication), text, strlen(text), NULL),
                 SAND_OK);
}

static void commit(uint32_t replication, const char *text)
{
    char hex[65];
    write_shard(replication, text);
    cr_assert_eq(sand_shard_digest(sand_shard_path(&shards, replication), hex, NULL), SAND_OK);
    cr_assert_eq(sand_shards_commit(&shards, replication, hex, NULL), SAND_OK);
}

// Opens the directory anew, as a later run does, for another digest or physics version.
static void reopen(const char *new_digest, const char *physics)
{
    sand_shards_close(&shards);
    cr_assert_eq(sand_shards_open(&shards, dir, new_digest, physics, NULL), SAND_OK);
}

static int shard_exists(uint32_t replication)
{
    return access(sand_shard_path(&shards, replication), F_OK) == 0;
}

Test(shards, committed_units_are_reused)
{
    unsigned char committed[4];
    commit(0, "zero");
    commit(2, "two");
    write_shard(1, "written but not committed");
    reopen(digest, "1");
    cr_assert_eq(sand_shards_reuse(&shards, 0, 4, committed, NULL), SAND_OK);
    cr_assert(committed[0] && !committed[1] && committed[2] && !committed[3]);
    cr_assert(shard_exists(0) && !shard_exists(1) && shard_exists(2));
    // And once more: the rewritten journal says the same.
    cr_assert_eq(sand_shards_reuse(&shards, 0, 4, committed, NULL), SAND_OK);
    cr_assert(committed[0] && !committed[1] && committed[2] && !committed[3]);
}

Test(shards, another_digest_or_physics_is_never_reused)
{
    unsigned char committed[2];
    commit(0, "zero");
    reopen(other, "1");
    cr_assert_eq(sand_shards_reuse(&shards, 0, 2, committed, NULL), SAND_OK);
    cr_assert(!committed[0] && !shard_exists(0));
    commit(1, "one");
    reopen(other, "2");
    cr_assert_eq(sand_shards_reuse(&shards, 0, 2, committed, NULL), SAND_OK);
    cr_assert(!committed[1] && !shard_exists(1));
}

Test(shards, altered_and_missing_shards_are_not_reused)
{
    unsigned char committed[3];
    commit(0, "zero");
    commit(1, "one");
    commit(2, "two");
    write_shard(0, "zerO");
    unlink(sand_shard_path(&shards, 1));
    cr_assert_eq(sand_shards_reuse(&shards, 0, 3, committed, NULL), SAND_OK);
    cr_assert(!committed[0] && !committed[1] && committed[2]);
}

// The journal is cut at every length: whole lines count, the torn one does not, and a line
// committed afterwards is not glued to it.
Test(shards, a_journal_cut_anywhere_keeps_its_whole_lines)
{
    unsigned char committed[3];
    char *text = NULL;
    size_t size = 0;
    commit(0, "zero");
    commit(1, "one");
    cr_assert_eq(sand_file_read(shards.journal, 4096, &text, &size, NULL), SAND_OK);
    size_t first = (size_t)(strchr(text, '\n') - text) + 1;
    for (size_t cut = 0; cut <= size; cut += 7) {
        write_shard(0, "zero");
        write_shard(1, "one");
        cr_assert_eq(sand_file_write(shards.journal, text, cut, NULL), SAND_OK);
        cr_assert_eq(sand_shards_reuse(&shards, 0, 3, committed, NULL), SAND_OK);
        cr_assert_eq(committed[0], cut >= first);
        cr_assert_eq(committed[1], cut >= size);
        commit(2, "two");
        cr_assert_eq(sand_shards_reuse(&shards, 0, 3, committed, NULL), SAND_OK);
        cr_assert(committed[2]);
    }
    sand_free(text);
}

Test(shards, garbage_in_the_journal_is_ignored)
{
    static const char garbage[] = "unit\nunit -1 digest x physics 1 shard y\n\n"
                                  "unit 4294967295 digest 1 physics 1 shard 1\nunit 0 digest\n";
    unsigned char committed[1];
    write_shard(0, "zero");
    cr_assert_eq(sand_file_write(shards.journal, garbage, sizeof garbage - 1, NULL), SAND_OK);
    cr_assert_eq(sand_shards_reuse(&shards, 0, 1, committed, NULL), SAND_OK);
    cr_assert_not(committed[0]);
}

Test(shards, a_second_run_is_locked_out)
{
    struct sand_shards second;
    struct sand_diag diag = {0};
    cr_assert_eq(sand_shards_open(&second, dir, digest, "1", &diag), SAND_ERR_IO);
    cr_assert_neq(strstr(diag.messages[0].text, "in use by another run"), NULL);
    sand_diag_clear(&diag);
    sand_shards_close(&second);
}

Test(shards, removal_leaves_what_is_not_ours)
{
    char path[128];
    commit(0, "zero");
    snprintf(path, sizeof path, "%s/units/notes.txt", dir);
    cr_assert_eq(sand_file_write(path, "mine", 4, NULL), SAND_OK);
    sand_shards_remove(&shards);
    cr_assert(!shard_exists(0) && access(path, F_OK) == 0);
    unlink(path);
    sand_shards_remove(&shards);
    cr_assert_neq(access(shards.dir, F_OK), 0);
}
