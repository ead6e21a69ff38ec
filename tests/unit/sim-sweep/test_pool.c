// The pool: children run, talk, fail, die and are killed; none of it harms the others.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

enum { N_UNITS = 12 };

// Shared with the children.
struct board {
    _Atomic int running, most_running, committed, begun;
    int jobs_seen;
};

struct fixture {
    struct board *board;
    struct sand_unit units[N_UNITS];
    struct sand_pool pool;
    struct sand_diag diag;
};

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void plain_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                       struct sand_unit_answer *answer, struct sand_diag *diag)
{
    struct board *board = ((struct fixture *)self)->board;
    int now = ++board->running;
    board->begun++;
    if (now > board->most_running)
        board->most_running = now;
    sand_unit_tell_progress(outbox, 0.5);
    sand_diag_add(diag, SAND_WARNING, "a.xml", 3, "unit %u", number);
    nap(5);
    answer->counters.questions = number;
    answer->rc = SAND_OK;
    board->running--;
}

static enum sand_rc count_commit(void *self, const struct sand_unit *unit, struct sand_diag *diag)
{
    (void)diag;
    cr_assert_eq(unit->inbox.answer.counters.questions, unit->number);
    ((struct fixture *)self)->board->committed++;
    return SAND_OK;
}

static void open_fixture(struct fixture *f, uint32_t jobs)
{
    memset(f, 0, sizeof *f);
    f->board =
        mmap(NULL, sizeof *f->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(f->board != MAP_FAILED);
    for (uint32_t i = 0; i < N_UNITS; i++) {
        f->units[i].number = 100 + i;
        f->units[i].inbox.fd = -1;
    }
    f->pool = (struct sand_pool){.units = f->units,
                                 .n_units = N_UNITS,
                                 .jobs = jobs,
                                 .body = plain_body,
                                 .commit = count_commit,
                                 .self = f};
}

static void close_fixture(struct fixture *f)
{
    for (uint32_t i = 0; i < N_UNITS; i++)
        sand_unit_inbox_clear(&f->units[i].inbox);
    sand_diag_clear(&f->diag);
    munmap(f->board, sizeof *f->board);
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1); // no child is left
}

Test(pool, runs_every_unit_with_at_most_jobs_at_a_time, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 3);
    f.units[4].state = SAND_UNIT_DONE; // reused: must not run
    cr_assert_eq(sand_pool_run(&f.pool, &f.diag), SAND_OK);
    cr_assert_eq(f.board->committed, N_UNITS - 1);
    cr_assert_leq(f.board->most_running, 3);
    cr_assert_geq(f.board->most_running, 2);
    for (uint32_t i = 0; i < N_UNITS; i++) {
        cr_assert_eq(f.units[i].state, SAND_UNIT_DONE);
        if (i == 4)
            continue;
        const struct sand_message *message = &f.units[i].inbox.diag.messages[0];
        char expected[32];
        snprintf(expected, sizeof expected, "unit %u", 100 + i);
        cr_assert_str_eq(message->text, expected);
        cr_assert_str_eq(message->file, "a.xml");
        cr_assert_eq(message->line, 3);
    }
    close_fixture(&f);
}

static void mixed_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                       struct sand_unit_answer *answer, struct sand_diag *diag)
{
    if (number == 102) {
        signal(SIGSEGV, SIG_DFL); // not the sanitizer's
        raise(SIGSEGV);
    }
    if (number == 103)
        kill(getpid(), SIGKILL);
    if (number == 104)
        _exit(7);
    plain_body(self, number, outbox, answer, diag);
    if (number == 105)
        answer->rc = sand_fail(diag, SAND_ERR_PLUGIN, "the policy said no");
}

// One crash, one kill, one silent exit and one failure: named, and the other eight are committed.
Test(pool, deaths_are_named_and_the_others_go_on, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 2);
    f.pool.body = mixed_body;
    cr_assert_eq(sand_pool_run(&f.pool, &f.diag), SAND_OK);
    cr_assert_eq(f.board->committed, N_UNITS - 4);
    static const struct {
        uint32_t unit;
        enum sand_rc rc;
        const char *text;
    } failed[] = {{2, SAND_ERR_UNIT, "killed by signal 11 (SIGSEGV, Segmentation fault)"},
                  {3, SAND_ERR_UNIT, "SIGKILL, Killed); if the machine ran out of memory"},
                  {4, SAND_ERR_UNIT, "ended with status 7 and no answer"},
                  {5, SAND_ERR_PLUGIN, "the policy said no"}};
    for (size_t i = 0; i < 4; i++) {
        const struct sand_unit *unit = &f.units[failed[i].unit];
        cr_assert_eq(unit->state, SAND_UNIT_FAILED);
        cr_assert_eq(unit->rc, failed[i].rc);
        const struct sand_diag *diag = &unit->inbox.diag;
        cr_assert_neq(strstr(diag->messages[diag->n_messages - 1].text, failed[i].text), NULL, "%s",
                      diag->messages[diag->n_messages - 1].text);
    }
    close_fixture(&f);
}

// With foreign code in the children it is named, and at fault, but for what comes from outside.
Test(pool, deaths_with_plugins_are_theirs, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 2);
    f.pool.body = mixed_body;
    f.pool.plugins = "schedule/a, place/b";
    cr_assert_eq(sand_pool_run(&f.pool, &f.diag), SAND_OK);
    cr_assert_eq(f.units[2].rc, SAND_ERR_PLUGIN);
    cr_assert_eq(f.units[3].rc, SAND_ERR_UNIT);
    cr_assert_eq(f.units[4].rc, SAND_ERR_PLUGIN);
    const char *texts[] = {"schedule/a, place/b: its process was killed by signal 11 (SIGSEGV, ",
                           "its process was killed by signal 9 (SIGKILL, ",
                           "schedule/a, place/b: its process ended with status 7 and no answer"};
    for (size_t i = 0; i < 3; i++) {
        const struct sand_diag *diag = &f.units[i + 2].inbox.diag;
        const char *text = diag->messages[diag->n_messages - 1].text;
        cr_assert_eq(strncmp(text, texts[i], strlen(texts[i])), 0, "%s", text);
    }
    close_fixture(&f);
}

static void input_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                       struct sand_unit_answer *answer, struct sand_diag *diag)
{
    (void)number;
    (void)outbox;
    ((struct fixture *)self)->board->begun++;
    answer->rc = sand_fail(diag, SAND_ERR_INPUT, "no such thing");
}

Test(pool, invalid_input_stops_the_rest, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 2);
    f.pool.body = input_body;
    cr_assert_eq(sand_pool_run(&f.pool, &f.diag), SAND_OK);
    cr_assert_leq(f.board->begun, 3);
    cr_assert_eq(f.units[N_UNITS - 1].state, SAND_UNIT_PENDING);
    close_fixture(&f);
}

static void endless_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                         struct sand_unit_answer *answer, struct sand_diag *diag)
{
    if (number < 102) {
        plain_body(self, number, outbox, answer, diag);
        return;
    }
    kill(getppid(), SIGINT);
    for (;;)
        pause();
}

// A unit sends its parent SIGINT: the children are ended, what was committed stays so, the parent
// lives, and SIGINT works as before afterwards.
Test(pool, sigint_ends_children_and_keeps_commits, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 1);
    f.pool.body = endless_body;
    cr_assert_eq(sand_pool_run(&f.pool, &f.diag), SAND_OK);
    cr_assert(f.pool.interrupted);
    cr_assert_eq(f.board->committed, 2);
    cr_assert_eq(f.units[1].state, SAND_UNIT_DONE);
    cr_assert_eq(f.units[2].state, SAND_UNIT_PENDING);
    cr_assert_eq(f.units[3].state, SAND_UNIT_PENDING);
    sigset_t set;
    sigprocmask(SIG_SETMASK, NULL, &set);
    cr_assert_not(sigismember(&set, SIGINT));
    close_fixture(&f);
}

static enum sand_rc failing_commit(void *self, const struct sand_unit *unit, struct sand_diag *diag)
{
    (void)self;
    return unit->number == 101 ? sand_fail(diag, SAND_ERR_IO, "disk full") : SAND_OK;
}

Test(pool, a_commit_that_fails_fails_its_unit, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 2);
    f.pool.commit = failing_commit;
    cr_assert_eq(sand_pool_run(&f.pool, &f.diag), SAND_OK);
    cr_assert_eq(f.units[1].state, SAND_UNIT_FAILED);
    cr_assert_eq(f.units[1].rc, SAND_ERR_IO);
    cr_assert_eq(f.units[2].state, SAND_UNIT_DONE);
    close_fixture(&f);
}

static void sleeping_body(void *self, uint32_t number, struct sand_unit_outbox *outbox,
                          struct sand_unit_answer *answer, struct sand_diag *diag)
{
    (void)outbox, (void)answer, (void)diag, (void)number;
    ((struct fixture *)self)->board->jobs_seen = getpid();
    ((struct fixture *)self)->board->begun++;
    for (;;)
        pause();
}

// kill -9 of the parent: its child is gone as well.
Test(pool, children_die_with_the_parent, .timeout = 30)
{
    struct fixture f;
    open_fixture(&f, 1);
    f.pool.body = sleeping_body;
    pid_t parent = fork();
    if (parent == 0) {
        sand_pool_run(&f.pool, &f.diag);
        _exit(0);
    }
    while (f.board->begun == 0)
        nap(1);
    pid_t child = f.board->jobs_seen;
    cr_assert_eq(kill(child, 0), 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    int tries = 0;
    char path[64], state = '?';
    do { // dead means gone, or a zombie that init has not collected
        snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
        FILE *stat = fopen(path, "r");
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        if (stat)
            fclose(stat);
        nap(5);
    } while (state != 'Z' && ++tries < 1000);
    cr_assert_eq(state, 'Z');
    close_fixture(&f);
}
