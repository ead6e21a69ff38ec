// The Standard Workload Format: 18 columns of numbers, -1 for unknown, header lines with ';'.
// Grammar and meanings: Parallel Workloads Archive, "The Standard Workload Format" (version 2.2).
// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "tracerow.h"

// Columns, counted from 0.
enum {
    ID,
    SUBMIT,
    WAIT,
    RUN,
    ALLOCATED,
    REQUESTED = 7,
    REQUEST_TIME,
    STATUS = 10,
    USER,
    GROUP,
    EXECUTABLE,
    QUEUE,
    PARTITION,
    FIELDS = 18
};

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// Cuts `text` into words; returns how many there are, at most FIELDS + 1.
static int split(char *text, char *words[FIELDS + 1])
{
    int n = 0;
    for (char *p = text; n <= FIELDS;) {
        while (is_blank(*p))
            p++;
        if (*p == '\0')
            break;
        words[n++] = p;
        while (*p != '\0' && !is_blank(*p))
            p++;
        if (*p != '\0')
            *p++ = '\0';
    }
    return n;
}

static int read_numbers(char *words[], int64_t numbers[FIELDS], const char **detail)
{
    // Memory in KB, times of processors and the like are not used; they may be of any size.
    const unsigned used = 1u << SUBMIT | 1u << WAIT | 1u << RUN | 1u << ALLOCATED |
                          1u << REQUESTED | 1u << REQUEST_TIME | 1u << STATUS;
    const struct trace_unit *plain = trace_size_unit("1");
    for (int i = 0; i < FIELDS; i++) {
        numbers[i] = 0;
        if (!trace_number(words[i], plain, &numbers[i]) &&
            (used >> i & 1 || !trace_is_number(words[i]))) {
            *detail = words[i];
            return 0;
        }
        if (numbers[i] == -TRACE_SIZE_ONE)
            numbers[i] = TRACE_UNKNOWN;
    }
    return 1;
}

static const char *text_of(char *const words[], const int64_t numbers[], int field)
{
    return numbers[field] == TRACE_UNKNOWN ? "" : words[field];
}

static void set_status(struct trace_raw *raw, int64_t status)
{
    switch (status == TRACE_UNKNOWN ? -1 : status / TRACE_SIZE_ONE) {
    case -1:
        raw->status = SAND_TRACE_UNKNOWN;
        break;
    case 0:
        raw->status = SAND_TRACE_FAILED;
        break;
    case 1:
        raw->status = SAND_TRACE_COMPLETED;
        break;
    case 5:
        raw->status = SAND_TRACE_CANCELLED;
        break;
    case 2:
    case 3:
    case 4: // pieces of a job that was checkpointed or swapped out; its summary is another row
        raw->partial = 1;
        break;
    default:
        raw->new_status = 1;
    }
}

enum sand_trace_reason trace_swf_row(char *text, struct trace_raw *raw, const char **detail)
{
    char *words[FIELDS + 1];
    int64_t numbers[FIELDS];
    int n = split(text, words);
    if (n < FIELDS)
        return SAND_TRACE_FEW_FIELDS;
    if (!read_numbers(words, numbers, detail))
        return SAND_TRACE_BAD_NUMBER;
    // SWF seconds and our 1e-9 units are nanoseconds already.
    *raw = (struct trace_raw){.id = text_of(words, numbers, ID),
                              .user = text_of(words, numbers, USER),
                              .account = text_of(words, numbers, GROUP),
                              .queue = text_of(words, numbers, QUEUE),
                              .partition = text_of(words, numbers, PARTITION),
                              .name = text_of(words, numbers, EXECUTABLE),
                              .submit_ns = numbers[SUBMIT] < 0 ? TRACE_UNKNOWN : numbers[SUBMIT],
                              .wait_ns = numbers[WAIT] < 0 ? TRACE_UNKNOWN : numbers[WAIT],
                              .start_ns = TRACE_UNKNOWN,
                              .end_ns = TRACE_UNKNOWN,
                              .run_ns = numbers[RUN],
                              .request_ns = numbers[REQUEST_TIME] <= 0 ? TRACE_UNKNOWN
                                                                       : numbers[REQUEST_TIME],
                              .requested = numbers[REQUESTED],
                              .allocated = numbers[ALLOCATED],
                              .nodes = TRACE_UNKNOWN,
                              .gpus = TRACE_UNKNOWN,
                              .extra_fields = n > FIELDS};
    set_status(raw, numbers[STATUS]);
    return TRACE_KEEP;
}

void trace_swf_header(const char *text, struct sand_trace_report *report)
{
    const struct {
        const char *key;
        int64_t *value;
    } keys[] = {{"MaxNodes:", &report->max_nodes},
                {"MaxProcs:", &report->max_procs},
                {"MaxJobs:", &report->max_jobs},
                {"UnixStartTime:", &report->unix_start_s},
                {"TimeZone:", &report->zone_s}};
    while (*text == ';' || is_blank(*text))
        text++;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t length = strlen(keys[i].key);
        if (strncmp(text, keys[i].key, length) != 0)
            continue;
        char word[24] = "";
        int64_t value;
        text += length;
        while (is_blank(*text))
            text++;
        memcpy(word, text, strnlen(text, sizeof word - 1));
        word[strcspn(word, " \t(,;")] = '\0'; // "MaxNodes: 1152 (see note)"
        int may_be_negative = keys[i].value == &report->zone_s;
        if (trace_number(word, trace_size_unit("1"), &value) && (value >= 0 || may_be_negative))
            *keys[i].value = value / TRACE_SIZE_ONE;
        return;
    }
}
