// The step function in an array ordered by date.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static int64_t later(int64_t date_ns, int64_t length_ns)
{
    return length_ns > INT64_MAX - date_ns ? INT64_MAX : date_ns + length_ns;
}

static int insert(struct sand_profile *profile, size_t place, struct sand_profile_step step)
{
    if (profile->n == profile->capacity) {
        const size_t capacity = profile->capacity > 0 ? 2 * profile->capacity : 64;
        struct sand_profile_step *steps = realloc(profile->steps, capacity * sizeof *steps);
        if (steps == NULL)
            return -1;
        profile->steps = steps;
        profile->capacity = capacity;
    }
    memmove(&profile->steps[place + 1], &profile->steps[place],
            (profile->n - place) * sizeof *profile->steps);
    profile->steps[place] = step;
    profile->n++;
    return 0;
}

int sand_profile_begin(struct sand_profile *profile, int64_t now_ns, uint64_t n_free)
{
    profile->n = 0;
    return insert(profile, 0, (struct sand_profile_step){now_ns, n_free});
}

int sand_profile_release(struct sand_profile *profile, int64_t date_ns, uint64_t n_nodes)
{
    struct sand_profile_step *last = &profile->steps[profile->n - 1];
    if (last->date_ns == date_ns) {
        last->n_free += n_nodes;
        return 0;
    }
    return insert(profile, profile->n, (struct sand_profile_step){date_ns, last->n_free + n_nodes});
}

int64_t sand_profile_earliest(const struct sand_profile *profile, uint64_t n_nodes,
                              int64_t length_ns)
{
    size_t begin = 0;
    for (size_t i = 0; i < profile->n; i++) {
        if (profile->steps[i].date_ns >= later(profile->steps[begin].date_ns, length_ns))
            break;
        if (profile->steps[i].n_free < n_nodes)
            begin = i + 1;
        if (begin == profile->n)
            return INT64_MAX;
    }
    return profile->steps[begin].date_ns;
}

int sand_profile_fits_now(const struct sand_profile *profile, uint64_t n_nodes, int64_t length_ns)
{
    const int64_t end_ns = later(profile->steps[0].date_ns, length_ns);
    for (size_t i = 0; i < profile->n && profile->steps[i].date_ns < end_ns; i++) {
        if (profile->steps[i].n_free < n_nodes)
            return 0;
    }
    return 1;
}

// Index of the last step that begins at or before the date.
static size_t step_at(const struct sand_profile *profile, int64_t date_ns)
{
    size_t low = 0, high = profile->n;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (profile->steps[middle].date_ns <= date_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t sand_profile_free_at(const struct sand_profile *profile, int64_t date_ns)
{
    return profile->steps[step_at(profile, date_ns)].n_free;
}

// Makes a step begin at the date; *place gets its index.
static int cut(struct sand_profile *profile, int64_t date_ns, size_t *place)
{
    *place = step_at(profile, date_ns);
    if (profile->steps[*place].date_ns == date_ns)
        return 0;
    const struct sand_profile_step step = {date_ns, profile->steps[*place].n_free};
    return insert(profile, ++*place, step);
}

int sand_profile_take(struct sand_profile *profile, int64_t begin_ns, int64_t length_ns,
                      uint64_t n_nodes)
{
    const int64_t end_ns = later(begin_ns, length_ns);
    size_t begin, end = profile->n;
    if (cut(profile, begin_ns, &begin) != 0)
        return -1;
    if (end_ns == INT64_MAX)
        end = profile->n;
    else if (cut(profile, end_ns, &end) != 0)
        return -1;
    for (size_t i = begin; i < end; i++)
        profile->steps[i].n_free -= n_nodes;
    return 0;
}

void sand_profile_free(struct sand_profile *profile)
{
    free(profile->steps);
    *profile = (struct sand_profile){0};
}
