// The plumbing below the oracle: answers, messages, crashes, signals, leaks, orphans.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "forkserver.h"
#include "mem.h"

struct reply {
    uint64_t sum;
    uint32_t calls; // of the work function in its process
    uint32_t pid;
};

static uint32_t calls;

static uint64_t sum_of(const unsigned char *bytes, size_t size)
{
    uint64_t sum = size;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

// Sums the request; its first letter may ask for an accident instead.
static enum sand_rc work(const void *request, size_t size, void *answer, struct sand_diag *diag)
{
    struct reply *reply = answer;
    *reply = (struct reply){sum_of(request, size), ++calls, (uint32_t)getpid()};
    const char what = size > 0 ? *(const char *)request : 0;
    if (what == 'S')
        raise(SIGSEGV);
    if (what == 'K')
        raise(SIGKILL);
    if (what == 'A')
        abort();
    if (what == 'X')
        _exit(3);
    if (what == 'E')
        _exit(0); // ends well, but silently
    if (what == 'F')
        fflush(NULL);
    if (what == 'M') {
        sand_diag_add(diag, SAND_WARNING, "a file.xml", 41, "first %s", "message");
        sand_diag_add(diag, SAND_ERROR, NULL, 0, "second, with 100%% and \xc3\xa9");
        sand_diag_add(diag, SAND_NOTE, "", 0, "%s", "");
        return SAND_ERR_INPUT;
    }
    return SAND_OK;
}

static struct sand_forkserver *open_server(void)
{
    struct sand_forkserver *server = NULL;
    cr_assert_eq(sand_forkserver_open(work, sizeof(struct reply), &server, NULL), SAND_OK);
    return server;
}

static struct reply ask(struct sand_forkserver *server, const void *request, size_t size)
{
    struct reply reply = {0};
    struct sand_diag diag = {0};
    const enum sand_rc rc = sand_forkserver_ask(server, request, size, &reply, &diag);
    sand_diag_print(&diag, stderr);
    cr_assert_eq(rc, SAND_OK);
    cr_assert_eq(reply.sum, sum_of(request, size));
    return reply;
}

// Requests of 0 bytes to several socket buffers arrive whole; each has a new process that saw no
// call before.
Test(forkserver, every_request_has_a_process_of_its_own)
{
    struct sand_forkserver *server = open_server();
    const size_t size = 5000000;
    unsigned char *bytes = sand_calloc(size, 1);
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 1000);
    const struct reply a = ask(server, "abc", 3), b = ask(server, bytes, size),
                       c = ask(server, "", 0);
    cr_assert_eq(a.calls, 1u);
    cr_assert_eq(b.calls, 1u);
    cr_assert_eq(c.calls, 1u);
    cr_assert(a.pid != b.pid && b.pid != c.pid && a.pid != (uint32_t)getpid());
    sand_free(bytes);
    sand_forkserver_close(server);
}

// Code and messages come back as the child made them; the answer is left alone on failure.
Test(forkserver, messages_come_back)
{
    struct sand_forkserver *server = open_server();
    struct reply reply = {.sum = 77};
    struct sand_diag diag = {0};
    cr_assert_eq(sand_forkserver_ask(server, "M", 1, &reply, &diag), SAND_ERR_INPUT);
    cr_assert_eq(reply.sum, 77u);
    cr_assert_eq(diag.n_messages, 3u);
    cr_assert_eq(diag.n_errors, 1u);
    cr_assert_eq(diag.n_warnings, 1u);
    cr_assert_eq(diag.messages[0].severity, SAND_WARNING);
    cr_assert_str_eq(diag.messages[0].file, "a file.xml");
    cr_assert_eq(diag.messages[0].line, 41);
    cr_assert_str_eq(diag.messages[0].text, "first message");
    cr_assert_null(diag.messages[1].file);
    cr_assert_str_eq(diag.messages[1].text, "second, with 100% and \xc3\xa9");
    cr_assert_str_eq(diag.messages[2].file, "");
    cr_assert_str_eq(diag.messages[2].text, "");
    cr_assert_eq(sand_forkserver_ask(server, "M", 1, &reply, NULL), SAND_ERR_INPUT);
    sand_diag_clear(&diag);
    sand_forkserver_close(server);
}

static void expect_death(struct sand_forkserver *server, const char *how, const char *words)
{
    struct reply reply = {.sum = 77};
    struct sand_diag diag = {0};
    cr_assert_eq(sand_forkserver_ask(server, how, 1, &reply, &diag), SAND_ERR_INTERNAL);
    cr_assert_eq(diag.n_errors, 1u);
    cr_assert_not_null(strstr(diag.messages[0].text, words), "%s", diag.messages[0].text);
    cr_assert_eq(reply.sum, 77u);
    sand_diag_clear(&diag);
    ask(server, "still there", 11);
}

// A child's death is an error that names it, and the next request works. (A sanitizer turns a
// segmentation fault into an exit; SIGKILL and abort remain what they are.)
Test(forkserver, a_childs_death_is_named)
{
    struct sand_forkserver *server = open_server();
    expect_death(server, "K", "was killed by SIGKILL");
    expect_death(server, "X", "ended with status 3");
    expect_death(server, "E", "ended with status 0");
#ifndef __SANITIZE_ADDRESS__
    expect_death(server, "S", "was killed by SIGSEGV");
    expect_death(server, "A", "was killed by SIGABRT");
#endif
    sand_forkserver_close(server);
}

Test(forkserver, the_servers_death_is_named_and_lasts)
{
    struct sand_forkserver *server = open_server();
    ask(server, "a", 1);
    kill(sand_forkserver_pid(server), SIGKILL);
    for (int i = 0; i < 2; i++) {
        struct reply reply;
        struct sand_diag diag = {0};
        cr_assert_eq(sand_forkserver_ask(server, "a", 1, &reply, &diag), SAND_ERR_INTERNAL);
        cr_assert_not_null(strstr(diag.messages[0].text, "was killed by SIGKILL"));
        sand_diag_clear(&diag);
    }
    cr_assert_eq(sand_forkserver_pid(server), -1);
    sand_forkserver_close(server);
    cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no zombie");
}

static int count_entries(const char *path)
{
    int n = 0;
    DIR *folder = opendir(path);
    cr_assert_not_null(folder, "%s", path);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

// The server holds its line and the three standard files, whatever the caller had open; asking
// leaves nothing behind on either side.
Test(forkserver, nothing_leaks)
{
    char folder[64], children[96];
    const int mine = count_entries("/proc/self/fd");
    const int extra = open("/dev/null", O_RDONLY);
    struct sand_forkserver *server = open_server();
    struct reply reply;
    for (int i = 0; i < 50; i++) {
        ask(server, "a", 1);
        (void)sand_forkserver_ask(server, "K", 1, &reply, NULL);
    }
    const int pid = (int)sand_forkserver_pid(server);
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    cr_assert_leq(count_entries(folder), 4);
    snprintf(children, sizeof children, "/proc/%d/task/%d/children", pid, pid);
    FILE *list = fopen(children, "r");
    if (list) { // needs CONFIG_PROC_CHILDREN
        cr_assert_eq(fgetc(list), EOF, "the server keeps no zombie");
        fclose(list);
    }
    sand_forkserver_close(server);
    close(extra);
    cr_assert_eq(count_entries("/proc/self/fd"), mine);
    cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no zombie");
}

// SimGrid flushes every stream at the end of a run. What the caller had written but not flushed
// when the server started must not come out of the children again.
Test(forkserver, unflushed_output_comes_out_once)
{
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    cr_assert_geq(dup2(fileno(file), STDOUT_FILENO), 0);
    setvbuf(stdout, NULL, _IOFBF, 4096);
    printf("once");
    struct sand_forkserver *server = open_server();
    ask(server, "F", 1);
    ask(server, "F", 1);
    sand_forkserver_close(server);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    cr_assert_eq(lseek(fileno(file), 0, SEEK_END), 4);
    fclose(file);
}

static void on_alarm(int number)
{
    (void)number;
}

// Signals that interrupt calls, on large blocks, change nothing.
Test(forkserver, interrupted_calls_go_on)
{
    struct sand_forkserver *server = open_server();
    const size_t size = 4000000;
    unsigned char *bytes = sand_calloc(size, 1);
    cr_assert_not_null(bytes);
    const struct sigaction action = {.sa_handler = on_alarm}; // no SA_RESTART
    const struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 5; i++)
        ask(server, bytes, size);
    setitimer(ITIMER_REAL, &never, NULL);
    sand_free(bytes);
    sand_forkserver_close(server);
}

// Ctrl-C goes to the whole process group: what to do about it is the caller's choice. And a caller
// that ignores or blocks signals does not change how the server works.
Test(forkserver, the_callers_signal_habits_do_not_matter)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGCHLD, SIG_IGN);
    struct sand_forkserver *server = open_server();
    kill(sand_forkserver_pid(server), SIGINT);
    ask(server, "a", 1);
    expect_death(server, "K", "was killed by SIGKILL");
    sand_forkserver_close(server);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

// The parent is killed: its server ends by itself.
Test(forkserver, the_server_ends_with_its_parent, .timeout = 20)
{
    int ends[2];
    pid_t server_pid = 0;
    cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); // so that the orphan is ours to wait for
    cr_assert_eq(pipe(ends), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        struct sand_forkserver *server = NULL;
        if (sand_forkserver_open(work, sizeof(struct reply), &server, NULL) != SAND_OK)
            _exit(1);
        const pid_t pid = sand_forkserver_pid(server);
        if (write(ends[1], &pid, sizeof pid) != sizeof pid)
            _exit(1);
        for (;;)
            pause();
    }
    cr_assert_eq(read(ends[0], &server_pid, sizeof server_pid), (ssize_t)sizeof server_pid);
    kill(parent, SIGKILL);
    cr_assert_eq(waitpid(parent, NULL, 0), parent);
    cr_assert_eq(waitpid(server_pid, NULL, 0), server_pid);
}

// A fork of the caller holds copies of its files; closing must not wait for that fork to end.
Test(forkserver, closing_does_not_wait_for_a_forks_copy, .timeout = 20)
{
    struct sand_forkserver *server = open_server();
    const pid_t fork_of_ours = fork();
    if (fork_of_ours == 0)
        for (;;)
            pause();
    ask(server, "a", 1);
    sand_forkserver_close(server);
    kill(fork_of_ours, SIGKILL);
    cr_assert_eq(waitpid(fork_of_ours, NULL, 0), fork_of_ours);
}

// Out of memory on the asker's side: a code, never a hang or a wrong answer; the server's end is
// the price when it strikes in the middle of an answer.
Test(forkserver, out_of_memory_is_a_code)
{
    for (uint64_t n = 1; n < 8; n++) {
        struct sand_forkserver *server = NULL;
        struct reply reply = {0};
        sand_mem_fail_at(n);
        enum sand_rc rc = sand_forkserver_open(work, sizeof reply, &server, NULL);
        if (rc == SAND_OK)
            rc = sand_forkserver_ask(server, "abc", 3, &reply, NULL);
        sand_mem_fail_at(0);
        cr_assert(rc != SAND_OK || reply.sum == sum_of((const unsigned char *)"abc", 3));
        cr_assert(n > 1 || rc == SAND_ERR_NOMEM);
        sand_forkserver_close(server);
    }
    cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no zombie");
}
