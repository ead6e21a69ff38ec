// The printed summary against a golden file, its width, and its JSON twin.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"
#include "sample_runs.h"
#include "summary.h"
#include "textout.h"

static char *print_runs(char *text, size_t size, uint32_t first, size_t n_runs,
                        enum sand_style style)
{
    struct sand_results *const results = open_runs(first, n_runs);
    FILE *const out = fmemopen(text, size, "w");
    cr_assert_eq(sand_summary_print(results, style, out, NULL), SAND_OK);
    fclose(out);
    sand_results_close(results);
    return text;
}

static char *print_to(char *text, size_t size, size_t n_runs, enum sand_style style)
{
    return print_runs(text, size, 0, n_runs, style);
}

// The golden file was checked by hand against the sums in test_overview.c. What is printed now:
// SAND_SHOW=1 test-analysis-report --filter 'summary/*'.
static void is_golden(const char *text, const char *name)
{
    char path[512], *golden;
    size_t size;
    snprintf(path, sizeof path, "%s/report/%s", SAND_TEST_DATA, name);
    if (getenv("SAND_SHOW") != NULL)
        fprintf(stderr, "---- %s\n%s", name, text);
    cr_assert_eq(sand_file_read(path, 1 << 20, &golden, &size, NULL), SAND_OK, "no %s", path);
    cr_assert_str_eq(text, golden, "%s differs", name);
    sand_free(golden);
}

Test(summary, is_the_golden_text)
{
    static char text[1 << 16];
    is_golden(print_to(text, sizeof text, 2, SAND_STYLE_PLAIN), "summary-plain.txt");
}

Test(summary, of_one_run_says_there_is_no_interval)
{
    static char text[1 << 16];
    print_to(text, sizeof text, 1, SAND_STYLE_UNICODE);
    cr_assert_not_null(strstr(text, "n = 1 replication: no interval"));
    cr_assert_null(strstr(text, "\u00b1"));
    cr_assert_null(strstr(text, " nan"));
}

Test(summary, of_no_run_prints_no_rubbish)
{
    static char text[1 << 16];
    print_to(text, sizeof text, 0, SAND_STYLE_PLAIN);
    cr_assert_null(strstr(text, " nan"));
    cr_assert_null(strstr(text, " inf"));
}

// Characters of a line, escape sequences not counted.
static int width_of(const char *line, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\033')
            i += strcspn(line + i, "m");
        else
            width += ((unsigned char)line[i] & 0xc0) != 0x80;
    }
    return width;
}

static void check_lines(const char *text)
{
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        cr_assert_leq(width_of(line, length), 100, "%.*s", (int)length, line);
        cr_assert(length == 0 || line[length - 1] != ' ', "trailing blank: %.*s", (int)length,
                  line);
        line += length + 1;
    }
}

Test(summary, fits_into_100_columns_in_every_style)
{
    static char text[1 << 16];
    for (int style = 0; style <= SAND_STYLE_RICH; style++)
        check_lines(print_to(text, sizeof text, 2, (enum sand_style)style));
    check_lines(
        print_runs(text, sizeof text, 1, 1, SAND_STYLE_PLAIN)); // nothing planned, none over
    check_lines(print_to(text, sizeof text, 0, SAND_STYLE_PLAIN));
}

Test(summary, plain_is_ascii_and_rich_is_not)
{
    static char text[1 << 16];
    print_to(text, sizeof text, 2, SAND_STYLE_PLAIN);
    for (const char *c = text; *c != '\0'; c++)
        cr_assert((unsigned char)*c < 0x7f && (*c == '\n' || *c >= ' '));
    print_to(text, sizeof text, 2, SAND_STYLE_UNICODE | SAND_STYLE_NARROW);
    cr_assert_null(strstr(text, "\u2588"), "no bars where they would be wrapped");
    print_to(text, sizeof text, 2, SAND_STYLE_RICH);
    cr_assert_not_null(strstr(text, "\u2588"));
    cr_assert_not_null(strstr(text, "\033[1m"));
}

// Python's own parser judges the document; floating point is compared to a part in a billion.
static const char judge[] =
    "import json, sys\n"
    "d = json.load(sys.stdin)\n"
    "near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)\n"
    "assert d['name'] == 'two-runs' and d['seed'] == 7 and d['replications'] == 2\n"
    "assert near(d['mfu']['mean'], 0.41) and near(d['mfu']['ci95'], 0.12706204736174698)\n"
    "assert near(d['hfu']['mean'], 0.43) and d['mfu']['n'] == 2\n"
    "assert near(sum(c['gpu_s'] for c in d['gpu_time']), 1000 * 3600)\n"
    "assert near(sum(c['gpu_s'] for c in d['gpu_time'] if c['allocated']), 500 * 3600)\n"
    "assert [c['name'] for c in d['causes']] == ['gpu', 'network', 'maintenance']\n"
    "assert [c['planned'] for c in d['causes']] == ['no', 'no', 'yes']\n"
    "assert near(sum(c['lost_gpu_s'] for c in d['causes']), d['lost_gpu_s']['mean'])\n"
    "r = d['recovery_unexpected']\n"
    "assert near(sum(r['parts_s'].values()), r['mean_s']) and near(r['p95_s'], 1170)\n"
    "assert d['steps'][0]['job'] == 'llama' and near(d['steps'][0]['step_s'], 31.5)\n"
    "assert near(d['steps'][0]['observed_step_s'], 31.5) and 'replication' not in d['steps'][0]\n"
    "assert d['job_states']['waiting'] == 1 and len(d['assumptions']) == 4\n"
    "assert near(d['checkpoints']['interval_s'], 700)\n";

static int judged_by_python(size_t n_runs, const char *code)
{
    char script[] = "/tmp/sand-judge-XXXXXX", command[128];
    const int fd = mkstemp(script);
    FILE *const file = fdopen(fd, "w");
    fputs(code, file);
    fclose(file);
    snprintf(command, sizeof command, "python3 %s", script);
    struct sand_results *const results = open_sample(n_runs);
    FILE *const out = popen(command, "w");
    cr_assert_eq(sand_summary_json(results, out, NULL), SAND_OK);
    const int status = pclose(out);
    sand_results_close(results);
    remove(script);
    return status;
}

Test(summary, as_json_holds_the_hand_made_sums)
{
    cr_assert_eq(judged_by_python(2, judge), 0);
}

Test(summary, as_json_of_one_run_and_of_none_has_null_for_unknown)
{
    cr_assert_eq(judged_by_python(1, "import json, sys\nd = json.load(sys.stdin)\n"
                                     "assert d['mfu']['ci95'] is None and d['mfu']['n'] == 1\n"),
                 0);
    cr_assert_eq(judged_by_python(0, "import json, sys\nd = json.load(sys.stdin)\n"
                                     "assert d['mfu']['mean'] is None and d['causes'] == []\n"),
                 0);
}

Test(summary, a_full_disk_is_an_error)
{
    struct sand_results *const results = open_sample(2);
    struct sand_diag diag = {0};
    FILE *const full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    cr_assert_eq(sand_summary_print(results, SAND_STYLE_PLAIN, full, &diag), SAND_ERR_IO);
    cr_assert_not_null(strstr(diag.messages[0].text, "No space left"));
    fclose(full);
    sand_diag_clear(&diag);
    sand_results_close(results);
}

Test(style, follows_the_users_locale_and_the_terminal)
{
    const int leader = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(leader >= 0 && grantpt(leader) == 0 && unlockpt(leader) == 0);
    FILE *const terminal = fdopen(open(ptsname(leader), O_RDWR | O_NOCTTY), "r+");
    FILE *const file = tmpfile();
    cr_assert(terminal != NULL && file != NULL);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.utf8", 1);
    cr_assert_eq(sand_style_of(terminal), SAND_STYLE_RICH);
    cr_assert_eq(sand_style_of(file), SAND_STYLE_PLAIN, "a file says the same to everyone");
    setenv("NO_COLOR", "1", 1);
    cr_assert_eq(sand_style_of(terminal), SAND_STYLE_UNICODE);
    const struct winsize narrow = {.ws_row = 24, .ws_col = 99},
                         wide = {.ws_row = 24, .ws_col = 100};
    cr_assert_eq(ioctl(leader, TIOCSWINSZ, &narrow), 0);
    cr_assert_eq(sand_style_of(terminal), SAND_STYLE_UNICODE | SAND_STYLE_NARROW);
    cr_assert_eq(ioctl(leader, TIOCSWINSZ, &wide), 0);
    cr_assert_eq(sand_style_of(terminal), SAND_STYLE_UNICODE);
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    setenv("LC_ALL", "C", 1);
    cr_assert_eq(sand_style_of(terminal), SAND_STYLE_PLAIN);
    fclose(terminal);
    fclose(file);
    close(leader);
}

Test(text, groups_digits)
{
    cr_assert_str_eq(sand_text_grouped(21234567.4).s, "21,234,567");
    cr_assert_str_eq(sand_text_grouped(1000).s, "1,000");
    cr_assert_str_eq(sand_text_grouped(999.6).s, "1,000");
    cr_assert_str_eq(sand_text_grouped(100).s, "100");
    cr_assert_str_eq(sand_text_grouped(99.94).s, "99.9");
    cr_assert_str_eq(sand_text_grouped(-12345).s, "-12,345");
    cr_assert_str_eq(sand_text_grouped(0.0 / 0.0).s, "-");
}

Test(text, has_no_negative_zero)
{
    cr_assert_str_eq(sand_text_fixed(-0.04, 1).s, "0.0");
    cr_assert_str_eq(sand_text_fixed(-0.06, 1).s, "-0.1");
    cr_assert_str_eq(sand_text_grouped(-0.0).s, "0.0");
    cr_assert_str_eq(sand_text_whole(-0.4).s, "0");
    cr_assert_str_eq(sand_text_whole(-0.6).s, "-1");
    cr_assert_str_eq(sand_text_percent(-0.0004).s, "0.0 %");
    cr_assert_str_eq(sand_text_percent(-0.0006).s, "-0.1 %");
}

static const char *print_results(struct sand_results *results)
{
    static char text[1 << 16];
    FILE *const out = fmemopen(text, sizeof text, "w");
    cr_assert_eq(sand_summary_print(results, SAND_STYLE_PLAIN, out, NULL), SAND_OK);
    fclose(out);
    sand_results_close(results);
    check_lines(text);
    return text;
}

Test(summary, of_a_mix_says_whose_step_it_shows_and_how_many_jobs_a_run_has)
{
    const char *const text = print_results(open_mix());
    cr_expect_not_null(strstr(text, "of replication 0 alone: other replications have other jobs"));
    cr_expect_not_null(strstr(text, "2 to 3 jobs a run with 78 GPUs held in all (parts of nodes"),
                       "%s", text); // 72 and 84
    cr_expect_not_null(strstr(text, "observed mean step             36 s"), "%s", text);
}

static const char *padded(const char *text, int width, void (*pad)(FILE *, const char *, int))
{
    static char buffer[64];
    FILE *const out = fmemopen(buffer, sizeof buffer, "w");
    pad(out, text, width);
    fclose(out);
    return buffer;
}

Test(text, pads_by_characters_and_cuts)
{
    cr_assert_str_eq(padded("ab", 4, sand_text_pad), "ab  ");
    cr_assert_str_eq(padded("ab", 4, sand_text_pad_left), "  ab");
    cr_assert_str_eq(padded("\u00e9t\u00e9", 4, sand_text_pad), "\u00e9t\u00e9 ");
    cr_assert_str_eq(padded("abcdef", 4, sand_text_pad), "ab..");
    cr_assert_str_eq(padded("a\033b", 3, sand_text_pad), "a?b", "a terminal must not obey");
}

// In 80 columns remarks go on below, and every other line is as it is; the words are the same.
Test(summary, remarks_stay_in_narrow_terminals)
{
    static char narrow[1 << 16], wide[1 << 16];
    print_to(narrow, sizeof narrow, 2, SAND_STYLE_NARROW);
    print_to(wide, sizeof wide, 2, SAND_STYLE_PLAIN);
    const char *const end = strstr(narrow, "ASSUMED"); // behind it paragraphs of 100 columns
    cr_assert_not_null(end);
    const char *const about = strstr(narrow, "EFFICIENCY"); // before it what was run
    cr_assert_not_null(about);
    for (const char *line = about; line < end;) {
        const size_t n = strcspn(line, "\n");
        const int note = strncmp(line, "  n = ", 6) == 0;
        cr_expect(n < 80 || note, "%zu columns: %.*s", n, (int)n, line);
        line += n + 1;
    }
    cr_assert_not_null(strstr(wide, "times the price of one: its cost\n"));
    cr_assert_null(strstr(narrow, "times the price of one: its cost\n"), "it is cut");
    cr_assert_not_null(strstr(narrow, "one every 5 h, 10.4\n"));
}
