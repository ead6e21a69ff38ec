// Aligned text for people.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "textout.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// ---- style
// ------------------------------------------------------------------------------------------

static int locale_is_utf8(void)
{
    const locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (user == (locale_t)0)
        return 0;
    const locale_t before = uselocale(user);
    const int length = mblen("\u20ac", 4); // three bytes make one character in UTF-8 alone
    uselocale(before);
    freelocale(user);
    return length == 3;
}

static int is_narrow(FILE *out)
{
    struct winsize size;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
           size.ws_col < SAND_TEXT_WIDTH;
}

enum sand_style sand_style_of(FILE *out)
{
    const char *const term = getenv("TERM");
    const char *const no_colour = getenv("NO_COLOR"); // https://no-color.org
    if (!isatty(fileno(out)))
        return SAND_STYLE_PLAIN;
    const int is_dumb = term == NULL || strcmp(term, "dumb") == 0;
    const int colour = !is_dumb && (no_colour == NULL || no_colour[0] == '\0');
    return (enum sand_style)((colour ? SAND_STYLE_COLOUR : 0) |
                             (locale_is_utf8() ? SAND_STYLE_UNICODE : 0) |
                             (is_narrow(out) ? SAND_STYLE_NARROW : 0));
}

// ---- figures
// ----------------------------------------------------------------------------------------

struct sand_text sand_text_fixed(double value, int decimals)
{
    struct sand_text text = {"-"};
    if (isfinite(value))
        snprintf(text.s, sizeof text.s, "%.*f", decimals, value);
    if (text.s[0] == '-' && strpbrk(text.s, "123456789") == NULL && isfinite(value))
        memmove(text.s, text.s + 1, strlen(text.s)); // a rounded -0.01 is 0
    return text;
}

struct sand_text sand_text_grouped(double value)
{
    return fabs(value) < 99.95 ? sand_text_fixed(value, 1) : sand_text_whole(value);
}

struct sand_text sand_text_whole(double value)
{
    if (!isfinite(value) || fabs(value) >= 1e15)
        return sand_text_fixed(value, 0);
    char digits[32];
    struct sand_text text = {""};
    const int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    char *to = text.s;
    if (value < 0.0 && strcmp(digits, "0") != 0)
        *to++ = '-';
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

struct sand_text sand_text_percent(double share)
{
    const struct sand_text number = sand_text_fixed(100.0 * share, 1);
    struct sand_text text = {"-"};
    if (isfinite(share))
        snprintf(text.s, sizeof text.s, "%.*s %%", (int)sizeof text.s - 3, number.s);
    return text;
}

struct sand_text sand_text_quantity(double value, enum sand_dim dim)
{
    struct sand_text text = {"-"};
    if (isfinite(value))
        sand_quantity_format(value, dim, 3, text.s, sizeof text.s);
    return text;
}

// ---- columns
// ----------------------------------------------------------------------------------------

static int continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static int count_characters(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++)
        n += !continues(*text);
    return n;
}

static void print_characters(FILE *out, const char *text, int n)
{
    for (; *text != '\0'; text++) {
        if (!continues(*text) && n-- == 0)
            return;
        const unsigned char c = (unsigned char)*text;
        fputc(c < 0x20 || c == 0x7f ? '?' : c, out);
    }
}

void sand_text_pad(FILE *out, const char *text, int width)
{
    const int n = count_characters(text);
    if (n > width) {
        print_characters(out, text, width - 2);
        fputs("..", out);
    } else {
        print_characters(out, text, n);
        fprintf(out, "%*s", width - n, "");
    }
}

void sand_text_pad_left(FILE *out, const char *text, int width)
{
    const int n = count_characters(text);
    if (n < width)
        fprintf(out, "%*s", width - n, "");
    sand_text_pad(out, text, n);
}

void sand_text_heading(FILE *out, enum sand_style style, const char *title, const char *head)
{
    const int bold = (style & SAND_STYLE_COLOUR) != 0;
    fputs(bold ? "\n\033[1m" : "\n", out);
    if (head[0] != '\0')
        sand_text_pad(out, title, SAND_TEXT_LABEL + 2);
    else
        fputs(title, out);
    fputs(head, out);
    fputs(bold ? "\033[0m\n" : "\n", out);
}

// ---- bars
// -------------------------------------------------------------------------------------------

// Eighths of a block: U+2588 full, U+258F one eighth ... U+2589 seven.
static void unicode_bar(FILE *out, double length)
{
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    long units = lround(length * 8.0);
    if (units == 0)
        units = 1;
    for (long i = 0; i < units / 8; i++)
        fputs("\u2588", out);
    fputs(eighths[units % 8], out);
}

static void ascii_bar(FILE *out, double length)
{
    const long units = lround(length);
    for (long i = 0; i < units; i++)
        fputc('#', out);
    if (units == 0)
        fputc('.', out); // there is some
}

void sand_text_bar(FILE *out, enum sand_style style, double share)
{
    if (!(share > 0.0) || (style & SAND_STYLE_NARROW) != 0)
        return;
    const double length = (share < 1.0 ? share : 1.0) * SAND_TEXT_BAR;
    const int colour = (style & SAND_STYLE_COLOUR) != 0;
    fputs(colour ? "  \033[36m" : "  ", out);
    if ((style & SAND_STYLE_UNICODE) != 0)
        unicode_bar(out, length);
    else
        ascii_bar(out, length);
    if (colour)
        fputs("\033[0m", out);
}

// ---- wrapping
// ---------------------------------------------------------------------------------------

void sand_text_remark(FILE *out, enum sand_style style, const char *format, ...)
{
    enum { BEGIN = 52, NARROW = 79 }; // the last column of a terminal of 80 stays free
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int column = BEGIN;
    fputs("   ", out);
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        if ((style & SAND_STYLE_NARROW) != 0 && column > BEGIN && column + (int)length > NARROW) {
            fprintf(out, "\n%*s", BEGIN - 1, "");
            column = BEGIN;
        }
        fprintf(out, " %.*s", (int)length, at);
        column += (int)length + 1;
        at += length + strspn(at + length, " ");
    }
    fputc('\n', out);
}

void sand_text_wrap(FILE *out, const char *text, int hang)
{
    int column = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        char word[SAND_TEXT_WIDTH];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        const int n = count_characters(word);
        if (column > 0 && column + 1 + n > SAND_TEXT_WIDTH) {
            fputc('\n', out);
            column = -1;
        }
        if (column <= 0)
            column = 2 + (column < 0 ? hang : 0), fprintf(out, "%*s", column, "");
        else
            column++, fputc(' ', out);
        sand_text_pad(out, word, n < SAND_TEXT_WIDTH - 2 - hang ? n : SAND_TEXT_WIDTH - 2 - hang);
        column += n;
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

// Length of "gpu h100-sxm-80g: " in "gpu h100-sxm-80g: tile_m"; 0 without one.
static size_t subject_length(const char *assumption)
{
    const char *const colon = strstr(assumption, ": ");
    return colon != NULL ? (size_t)(colon - assumption) + 2 : 0;
}

// Joins what follows the same subject as the first; returns how many that are.
static size_t join_subject(const char *const *assumptions, size_t n, char *line, size_t size)
{
    const size_t length = subject_length(assumptions[0]);
    size_t used = (size_t)snprintf(line, size, "%s", assumptions[0]);
    size_t i = 1;
    for (; length > 0 && i < n && used < size; i++) {
        const char *const next = assumptions[i];
        if (subject_length(next) != length || strncmp(next, line, length) != 0)
            break;
        const size_t more = strlen(next + length) + 2;
        if (used + more >= size)
            break;
        used += (size_t)snprintf(line + used, size - used, ", %s", next + length);
    }
    return i;
}

void sand_text_assumptions(FILE *out, const char *const *assumptions, size_t n)
{
    char line[4096];
    for (size_t i = 0; i < n;) {
        i += join_subject(assumptions + i, n - i, line, sizeof line);
        sand_text_wrap(out, line, 4);
    }
}
