// Collects and prints diagnostics.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "diag.h"

#include <stdarg.h>
#include <string.h>

#include "mem.h"

static char *copy_text(const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    char *copy = sand_calloc(size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

static char *format_text(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : sand_calloc((size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

static void count(struct sand_diag *diag, enum sand_severity severity)
{
    diag->n_errors += severity == SAND_ERROR;
    diag->n_warnings += severity == SAND_WARNING;
}

static int is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

// The same problem found again, as of every part that a path with [*] names: said once, counted on.
static int is_said(const struct sand_diag *diag, enum sand_severity severity, const char *file,
                   long line, const char *text)
{
    if (diag->n_messages == 0)
        return 0;
    const struct sand_message *last = &diag->messages[diag->n_messages - 1];
    return last->severity == severity && last->line == line && is_same_text(last->file, file) &&
           is_same_text(last->text, text);
}

static void add(struct sand_diag *diag, enum sand_severity severity, const char *file, long line,
                const char *format, va_list args)
{
    if (!diag)
        return;
    count(diag, severity);
    void *array = diag->messages;
    if (sand_grow(&array, &diag->capacity, diag->n_messages + 1, sizeof *diag->messages) != SAND_OK)
        return;
    diag->messages = array;
    struct sand_message message = {.severity = severity, .line = line};
    message.text = format_text(format, args);
    if (!message.text)
        return;
    if (is_said(diag, severity, file, line, message.text)) {
        sand_free(message.text);
        return;
    }
    message.file = copy_text(file);
    diag->messages[diag->n_messages++] = message;
}

void sand_diag_add(struct sand_diag *diag, enum sand_severity severity, const char *file, long line,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(diag, severity, file, line, format, args);
    va_end(args);
}

enum sand_rc sand_fail(struct sand_diag *diag, enum sand_rc rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(diag, SAND_ERROR, NULL, 0, format, args);
    va_end(args);
    return rc;
}

static const char *severity_name(enum sand_severity severity)
{
    static const char *const names[] = {"note", "warning", "error"};
    return names[severity];
}

void sand_diag_print(const struct sand_diag *diag, FILE *out)
{
    for (size_t i = 0; i < diag->n_messages; i++) {
        const struct sand_message *message = &diag->messages[i];
        if (message->file)
            fprintf(out, "%s:", message->file);
        if (message->file && message->line > 0)
            fprintf(out, "%ld:", message->line);
        fprintf(out, "%s%s: %s\n", message->file ? " " : "", severity_name(message->severity),
                message->text);
    }
    if (diag->n_errors > 0 && diag->n_messages == 0)
        fputs("error: out of memory; the messages were dropped\n", out);
}

void sand_diag_clear(struct sand_diag *diag)
{
    for (size_t i = 0; i < diag->n_messages; i++) {
        sand_free(diag->messages[i].file);
        sand_free(diag->messages[i].text);
    }
    sand_free(diag->messages);
    *diag = (struct sand_diag){0};
}
