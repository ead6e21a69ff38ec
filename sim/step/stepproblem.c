// Packing, digest and freeing of a step problem, over one list of its arrays.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "stepproblem.h"

#include <string.h>

#include "filegate.h"
#include "mem.h"
#include "step.h"
#include "train.h"

void step_problem_arrays(struct sand_step_problem *p, struct step_array arrays[STEP_N_ARRAYS])
{
    const struct step_array all[STEP_N_ARRAYS] = {
        {(void **)&p->actors, &p->n_actors, sizeof *p->actors},
        {(void **)&p->flows, &p->n_flows, sizeof *p->flows},
        {(void **)&p->chunks, &p->n_chunks, sizeof *p->chunks},
        {(void **)&p->stages, &p->n_stages, sizeof *p->stages},
        {(void **)&p->link_Bps, &p->n_links, sizeof *p->link_Bps},
        {(void **)&p->route, &p->n_route, sizeof *p->route},
        {(void **)&p->sends, &p->n_sends, sizeof *p->sends},
        {(void **)&p->rings, &p->n_rings, sizeof *p->rings},
        {(void **)&p->ops, &p->n_ops, sizeof *p->ops},
        {(void **)&p->link_coupled, &p->n_link_coupled, sizeof *p->link_coupled},
    };
    memcpy(arrays, all, sizeof all);
}

void sand_step_problem_free(struct sand_step_problem *problem)
{
    if (problem == NULL)
        return;
    struct step_array arrays[STEP_N_ARRAYS];
    step_problem_arrays(problem, arrays);
    for (size_t i = 0; i < STEP_N_ARRAYS; i++)
        sand_free(*arrays[i].data);
    sand_free(problem->watches);
    sand_free(problem->watch_uses);
    sand_free(problem);
}

// The arrays are only read; the list of them is shared with those who write.
static void const_arrays(const struct sand_step_problem *problem, struct sand_step_problem *shallow,
                         struct step_array *arrays)
{
    *shallow = *problem;
    step_problem_arrays(shallow, arrays);
}

void sand_step_digest(const struct sand_step_problem *problem, uint8_t digest[32])
{
    struct sand_step_problem shallow;
    struct step_array arrays[STEP_N_ARRAYS];
    const_arrays(problem, &shallow, arrays);
    struct sand_hash hash;
    sand_hash_init(&hash);
    sand_hash_add(&hash, &problem->header, sizeof problem->header);
    for (size_t i = 0; i < STEP_N_ARRAYS; i++) {
        const uint64_t n = *arrays[i].n;
        sand_hash_add(&hash, &n, sizeof n);
        sand_hash_add(&hash, *arrays[i].data, *arrays[i].n * arrays[i].size);
    }
    sand_hash_end(&hash, digest);
}

struct pack_head {
    uint64_t magic;
    uint64_t n[STEP_N_ARRAYS];
    struct step_header header;
};

enum { PACK_MAGIC = 0x53544550 };

enum sand_rc sand_step_pack(const struct sand_step_problem *problem, void **bytes, size_t *size)
{
    struct sand_step_problem shallow;
    struct step_array arrays[STEP_N_ARRAYS];
    const_arrays(problem, &shallow, arrays);
    struct pack_head head = {.magic = PACK_MAGIC, .header = problem->header};
    size_t total = sizeof head;
    for (size_t i = 0; i < STEP_N_ARRAYS; i++) {
        head.n[i] = *arrays[i].n;
        total += *arrays[i].n * arrays[i].size;
    }
    char *out = sand_calloc(total, 1);
    if (out == NULL)
        return SAND_ERR_NOMEM;
    memcpy(out, &head, sizeof head);
    size_t at = sizeof head;
    for (size_t i = 0; i < STEP_N_ARRAYS; i++) {
        if (*arrays[i].n > 0)
            memcpy(out + at, *arrays[i].data, *arrays[i].n * arrays[i].size);
        at += *arrays[i].n * arrays[i].size;
    }
    *bytes = out;
    *size = total;
    return SAND_OK;
}

static enum sand_rc unpack_array(const struct step_array *array, uint64_t n, const char *bytes,
                                 size_t size, size_t *at)
{
    if (n > (size - *at) / array->size)
        return SAND_ERR_INTERNAL;
    *array->data = sand_calloc((size_t)n, array->size);
    if (*array->data == NULL)
        return SAND_ERR_NOMEM;
    *array->n = (size_t)n;
    if (n > 0)
        memcpy(*array->data, bytes + *at, (size_t)n * array->size);
    *at += (size_t)n * array->size;
    return SAND_OK;
}

enum sand_rc sand_step_unpack(const void *bytes, size_t size, struct sand_step_problem **problem)
{
    struct pack_head head;
    if (size < sizeof head)
        return SAND_ERR_INTERNAL;
    memcpy(&head, bytes, sizeof head);
    if (head.magic != PACK_MAGIC)
        return SAND_ERR_INTERNAL;
    struct sand_step_problem *p = sand_calloc(1, sizeof *p);
    if (p == NULL)
        return SAND_ERR_NOMEM;
    p->header = head.header;
    struct step_array arrays[STEP_N_ARRAYS];
    step_problem_arrays(p, arrays);
    size_t at = sizeof head;
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; i < STEP_N_ARRAYS && rc == SAND_OK; i++)
        rc = unpack_array(&arrays[i], head.n[i], bytes, size, &at);
    if (rc == SAND_OK && at != size)
        rc = SAND_ERR_INTERNAL;
    if (rc != SAND_OK) {
        sand_step_problem_free(p);
        return rc;
    }
    *problem = p;
    return SAND_OK;
}
