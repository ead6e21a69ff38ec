// Words of a name, brought to one spelling.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "namewords.h"

#include <ctype.h>
#include <string.h>

enum { MOST_WORDS = 24, MOST_WORD = 24 };

struct words {
    char word[MOST_WORDS][MOST_WORD];
    int n;
};

static int is_digits(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)text[i]))
            return 0;
    return n > 0;
}

static void add(struct words *words, const char *text, size_t n)
{
    if (n == 0 || n >= MOST_WORD || words->n == MOST_WORDS)
        return;
    memcpy(words->word[words->n], text, n);
    words->word[words->n++][n] = '\0';
}

// "80gb" and "80gib" are 80g, "sxm5" is sxm; families stand apart from their numbers ("rtx4090").
static void add_spelled(struct words *words, const char *text, size_t n)
{
    static const char *const families[] = {"rtx",   "tpu",  "gaudi", "trainium",
                                           "llama", "qwen", "gemma"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        const size_t length = strlen(families[i]);
        if (n > length && memcmp(text, families[i], length) == 0) {
            add(words, text, length);
            text += length;
            n -= length;
        }
    }
    if (n > 2 && text[n - 1] == 'b' && text[n - 2] == 'g' && is_digits(text, n - 2))
        n--;
    else if (n > 3 && memcmp(text + n - 3, "gib", 3) == 0 && is_digits(text, n - 3))
        n -= 2;
    else if (n == 4 && memcmp(text, "sxm", 3) == 0)
        n--;
    add(words, text, n);
}

static void split(const char *name, struct words *words)
{
    char word[MOST_WORD];
    size_t n = 0;
    words->n = 0;
    for (;; name++) {
        if (isalnum((unsigned char)*name)) {
            if (n < MOST_WORD - 1)
                word[n++] = (char)tolower((unsigned char)*name);
            continue;
        }
        add_spelled(words, word, n);
        n = 0;
        if (*name == '\0')
            return;
    }
}

int sand_name_words(const char *rule, const char *name)
{
    struct words wanted, given;
    split(rule, &wanted);
    split(name, &given);
    for (int i = 0; i < wanted.n; i++) {
        int found = 0;
        for (int k = 0; k < given.n && !found; k++)
            found = strcmp(wanted.word[i], given.word[k]) == 0;
        if (!found)
            return 0;
    }
    return wanted.n;
}

int sand_name_begins(const char *name, const char *prefix)
{
    return prefix == NULL || strncasecmp(name, prefix, strlen(prefix)) == 0;
}

int sand_name_contains(const char *name, const char *part)
{
    return part == NULL || strstr(name, part) != NULL;
}

static int says_here(const char *text, const char *word)
{
    for (; *word != '\0'; word++) {
        const int joins = *text == '-' || *text == '_' || *text == ' ';
        if (*word == '-')
            text += joins;
        else if (tolower((unsigned char)*text) == tolower((unsigned char)*word))
            text++;
        else
            return 0;
    }
    return 1;
}

int sand_name_says(const char *text, const char *word)
{
    for (; *text != '\0'; text++)
        if (says_here(text, word))
            return 1;
    return 0;
}
