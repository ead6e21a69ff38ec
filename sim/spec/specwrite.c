// Small helpers of the three writers.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "specwrite.h"

static void write_words(FILE *out, const char *const *words)
{
    fputs("one of ", out);
    for (size_t i = 0; words[i]; i++)
        fprintf(out, "%s%s", i ? ", " : "", words[i]);
}

void spec_write_type(FILE *out, const struct spec_field *field)
{
    static const char *const texts[] = {
        [SPEC_NS] = "a time",   [SPEC_YESNO] = "yes or no", [SPEC_TEXT] = "text",
        [SPEC_ID] = "a name",   [SPEC_DATE] = "a date",     [SPEC_NAMES] = "attribute names",
        [SPEC_PATH] = "a file",
    };
    if (field->type == SPEC_REF)
        fprintf(out, "reference to %s", spec_kind_name(field->kind));
    else if (field->type == SPEC_WORD)
        write_words(out, field->words);
    else if (field->type == SPEC_F64 || field->type == SPEC_U32 || field->type == SPEC_U64)
        fputs(sand_dim_name(field->dim), out);
    else
        fputs(texts[field->type], out);
}

enum sand_rc spec_write_end(FILE *out)
{
    return fflush(out) == 0 && !ferror(out) ? SAND_OK : SAND_ERR_IO;
}
