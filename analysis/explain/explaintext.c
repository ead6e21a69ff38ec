// Lines of an explanation. SPDX-License-Identifier: GPL-2.0-or-later
// Widths add up to less than 100 columns.
#include "explaintext.h"

#include <string.h>

#include "filegate.h"
#include "json.h"
#include "textout.h"

enum { LABEL = 32, TIME = 12, SHARE = 10 };

struct sand_explain_date sand_explain_date(double time_s)
{
    struct sand_explain_date date = {"0 s"};
    if (time_s != 0)
        sand_quantity_format(time_s, SAND_DIM_TIME, 6, date.s, sizeof date.s);
    return date;
}

void sand_explain_time(const struct sand_explain_output *output, const char *label, double time_s,
                       double whole_s)
{
    fputs("  ", output->out);
    sand_text_pad(output->out, label, LABEL);
    sand_text_pad_left(output->out, sand_explain_date(time_s).s, TIME);
    if (whole_s > 0) {
        sand_text_pad_left(output->out, sand_text_percent(time_s / whole_s).s, SHARE);
        sand_text_bar(output->out, output->style, time_s / whole_s);
    }
    fputc('\n', output->out);
}

void sand_explain_name(const struct sand_explain_output *output, const char *text)
{
    sand_text_pad(output->out, text, (int)strnlen(text, SAND_STR_SIZE));
}

const char *sand_explain_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void sand_explain_number(const struct sand_explain_output *output, const char *name, double value)
{
    fprintf(output->out, ", \"%s\": ", name);
    sand_json_number(output->out, value);
}

void sand_explain_text(const struct sand_explain_output *output, const char *name, const char *text)
{
    fprintf(output->out, ", \"%s\": ", name);
    sand_json_string(output->out, text);
}

enum sand_rc sand_explain_finish(const struct sand_explain_output *output, struct sand_diag *diag)
{
    return sand_stream_finish(output->out, "the explanation", diag);
}
