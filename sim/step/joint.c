// From a joint question to a joint problem, and to bytes and back.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "joint.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "filegate.h"
#include "ids.h"
#include "jointproblem.h"
#include "mem.h"

// A link that transfers fill leaves this share to the steps: they give way to each other.
static const double least_share = 0.02;

struct placed {
    uint8_t digest[32];
    struct sand_step_problem *problem;
    uint32_t asked; // number in the question
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    const int by_digest = memcmp(x->digest, y->digest, sizeof x->digest);
    return by_digest != 0 ? by_digest : (x->asked > y->asked) - (x->asked < y->asked);
}

static enum sand_rc settle_all(const struct sand_joint_question *q, sand_step_solver *solver,
                               void *self, struct placed *placed, struct sand_diag *diag)
{
    for (size_t i = 0; i < q->n; i++) {
        placed[i].asked = (uint32_t)i;
        SAND_TRY(step_settle_coupled(&q->steps[i], q->links, q->n_links, solver, self,
                                     &placed[i].problem, diag));
        sand_step_digest(placed[i].problem, placed[i].digest);
    }
    return SAND_OK;
}

static const struct sand_stream_link *stream_link(const struct sand_joint_transfer *transfer,
                                                  uint32_t link)
{
    for (size_t i = 0; i < transfer->n_links && transfer->links[i].link <= link; i++)
        if (transfer->links[i].link == link)
            return &transfer->links[i];
    return NULL;
}

// Of a link that no step crosses.
static double transfer_capacity_Bps(const struct sand_joint_question *q, uint32_t link)
{
    for (size_t t = 0; t < q->n_transfers; t++) {
        const struct sand_stream_link *crossed = stream_link(&q->transfers[t], link);
        if (crossed)
            return crossed->capacity_Bps;
    }
    return 1; // nobody's
}

static enum sand_rc set_transfers(const struct sand_joint_question *q, struct sand_joint_problem *p)
{
    p->transfers = sand_calloc(q->n_transfers, sizeof *p->transfers);
    p->uses = sand_calloc(q->n_transfers * q->n_links, sizeof *p->uses);
    if (p->transfers == NULL || p->uses == NULL)
        return SAND_ERR_NOMEM;
    p->n_transfers = q->n_transfers;
    for (size_t t = 0; t < q->n_transfers; t++) {
        struct joint_transfer *made = &p->transfers[t];
        made->stream_Bps = q->transfers[t].stream_Bps;
        made->first = (uint32_t)p->n_uses;
        for (size_t l = 0; l < q->n_links; l++) {
            const struct sand_stream_link *crossed = stream_link(&q->transfers[t], q->links[l]);
            if (crossed)
                p->uses[p->n_uses++] = (struct joint_use){(uint32_t)l, crossed->streams};
        }
        made->n = (uint32_t)p->n_uses - made->first;
    }
    return SAND_OK;
}

// The capacity every part has for a coupled link: they have the same fabric.
static enum sand_rc set_links(const struct sand_joint_question *q, struct sand_joint_problem *p)
{
    p->n_links = q->n_links;
    p->link_Bps = sand_calloc(q->n_links, sizeof *p->link_Bps);
    if (p->link_Bps == NULL)
        return SAND_ERR_NOMEM;
    for (uint32_t i = 0; i < p->n; i++)
        for (size_t l = 0; l < p->parts[i]->n_links; l++)
            if (p->parts[i]->link_coupled[l] != SAND_NONE)
                p->link_Bps[p->parts[i]->link_coupled[l]] = p->parts[i]->link_Bps[l];
    for (size_t l = 0; l < q->n_links; l++)
        if (!(p->link_Bps[l] > 0))
            p->link_Bps[l] = transfer_capacity_Bps(q, q->links[l]);
    for (size_t l = 0; q->background_Bps != NULL && l < q->n_links; l++) {
        const double left_Bps = p->link_Bps[l] - q->background_Bps[l];
        const double least_Bps = least_share * p->link_Bps[l];
        p->link_Bps[l] = left_Bps > least_Bps ? left_Bps : least_Bps;
    }
    return SAND_OK;
}

// Equal jobs have equal answers: the first of them is the one that is asked for.
static uint32_t first_equal(struct placed *placed, uint32_t i)
{
    uint32_t first = i;
    while (first > 0 && memcmp(placed[first - 1].digest, placed[i].digest, 32) == 0)
        first--;
    const uint32_t asked = placed[i].asked;
    placed[i].asked = placed[first].asked;
    placed[first].asked = asked;
    return first;
}

static void place(const struct sand_joint_question *q, struct placed *placed,
                  struct sand_joint_problem *p)
{
    qsort(placed, q->n, sizeof *placed, compare_placed);
    p->asked = p->n;
    // Those who are played together have one answer for all.
    for (uint32_t i = 0; !p->together && i < p->n && p->asked == p->n; i++)
        if (placed[i].asked + 1 == q->asked)
            p->asked = first_equal(placed, i);
    for (uint32_t i = 0; i < p->n; i++) {
        p->parts[i] = placed[i].problem;
        p->place[placed[i].asked] = i;
    }
}

static enum sand_rc fill(const struct sand_joint_question *q, sand_step_solver *solver, void *self,
                         struct sand_joint_problem *p, struct sand_diag *diag)
{
    struct placed *placed = sand_calloc(q->n, sizeof *placed);
    if (placed == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    enum sand_rc rc = settle_all(q, solver, self, placed, diag);
    place(q, placed, p);
    if (rc == SAND_OK)
        rc = set_links(q, p);
    if (rc == SAND_OK)
        rc = set_transfers(q, p);
    sand_free(placed);
    return rc;
}

enum sand_rc sand_joint_prepare(const struct sand_joint_question *question,
                                sand_step_solver *solver, void *self,
                                struct sand_joint_problem **problem, struct sand_diag *diag)
{
    if (question->n + question->n_transfers == 0 || question->n > SAND_JOINT_JOBS ||
        question->n_transfers > SAND_JOINT_TRANSFERS || question->n_offsets > SAND_JOINT_OFFSETS)
        return sand_fail(diag, SAND_ERR_INTERNAL,
                         "%zu jobs and %zu transfers share links from %u offsets; at most %d, %d "
                         "and %d are simulated",
                         question->n, question->n_transfers, question->n_offsets, SAND_JOINT_JOBS,
                         SAND_JOINT_TRANSFERS, SAND_JOINT_OFFSETS);
    struct sand_joint_problem *p = sand_calloc(1, sizeof *p);
    if (p == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "out of memory");
    p->n = (uint32_t)question->n;
    p->pipelines = question->pipelines != 0;
    const uint32_t few = question->asked > 0 ? SAND_JOINT_ALWAYS_TOGETHER : SAND_JOINT_TOGETHER;
    p->together = p->n <= few || question->n_transfers > 0 || p->pipelines || question->together;
    p->n_steps = question->n_steps;
    p->n_offsets = question->n_offsets;
    const enum sand_rc rc = fill(question, solver, self, p, diag);
    if (rc != SAND_OK) {
        sand_joint_problem_free(p);
        return rc;
    }
    *problem = p;
    return SAND_OK;
}

void sand_joint_problem_free(struct sand_joint_problem *problem)
{
    if (problem == NULL)
        return;
    for (uint32_t i = 0; i < problem->n; i++)
        sand_step_problem_free(problem->parts[i]);
    sand_free(problem->link_Bps);
    sand_free(problem->transfers);
    sand_free(problem->uses);
    sand_free(problem);
}

uint32_t sand_joint_place(const struct sand_joint_problem *problem, size_t i)
{
    return problem->place[i];
}

// ---- digest, bytes ------------------------------------------------------------------------------

struct joint_head {
    uint64_t magic;
    uint32_t n, pipelines, n_steps, n_offsets;
    uint32_t together, asked;
    uint64_t n_links, n_transfers, n_uses;
    uint64_t size[SAND_JOINT_JOBS]; // of each part
};

enum { JOINT_MAGIC = 0x4a4f494e };

static struct joint_head head_of(const struct sand_joint_problem *p)
{
    return (struct joint_head){.magic = JOINT_MAGIC,
                               .n = p->n,
                               .pipelines = p->pipelines,
                               .n_steps = p->n_steps,
                               .n_offsets = p->n_offsets,
                               .together = p->together,
                               .asked = p->asked,
                               .n_links = p->n_links,
                               .n_transfers = p->n_transfers,
                               .n_uses = p->n_uses};
}

// What a problem has besides its parts, so that digest, packing and unpacking cannot forget one.
enum { JOINT_ARRAYS = 3 };
static void arrays_of(struct sand_joint_problem *p, struct step_array arrays[JOINT_ARRAYS])
{
    arrays[0] = (struct step_array){(void **)&p->link_Bps, &p->n_links, sizeof *p->link_Bps};
    arrays[1] = (struct step_array){(void **)&p->transfers, &p->n_transfers, sizeof *p->transfers};
    arrays[2] = (struct step_array){(void **)&p->uses, &p->n_uses, sizeof *p->uses};
}

void sand_joint_digest(const struct sand_joint_problem *problem, uint8_t digest[32])
{
    const struct joint_head head = head_of(problem);
    struct sand_hash hash;
    sand_hash_init(&hash);
    sand_hash_add(&hash, &head, sizeof head);
    struct sand_joint_problem all = *problem;
    struct step_array arrays[JOINT_ARRAYS];
    arrays_of(&all, arrays);
    for (int a = 0; a < JOINT_ARRAYS; a++)
        sand_hash_add(&hash, *arrays[a].data, *arrays[a].n * arrays[a].size);
    for (uint32_t i = 0; i < problem->n; i++) {
        uint8_t part[32];
        sand_step_digest(problem->parts[i], part);
        sand_hash_add(&hash, part, sizeof part);
    }
    sand_hash_end(&hash, digest);
}

static enum sand_rc pack_parts(const struct sand_joint_problem *p, void **parts,
                               struct joint_head *head, size_t *total)
{
    for (uint32_t i = 0; i < p->n; i++) {
        size_t size = 0;
        SAND_TRY(sand_step_pack(p->parts[i], &parts[i], &size));
        head->size[i] = size;
        *total += size;
    }
    return SAND_OK;
}

enum sand_rc sand_joint_pack(const struct sand_joint_problem *problem, void **bytes, size_t *size)
{
    struct joint_head head = head_of(problem);
    void *parts[SAND_JOINT_JOBS] = {0};
    struct sand_joint_problem all = *problem;
    struct step_array arrays[JOINT_ARRAYS];
    arrays_of(&all, arrays);
    *size = sizeof head;
    for (int a = 0; a < JOINT_ARRAYS; a++)
        *size += *arrays[a].n * arrays[a].size;
    enum sand_rc rc = pack_parts(problem, parts, &head, size);
    char *out = rc == SAND_OK ? sand_calloc(*size, 1) : NULL;
    if (out != NULL) {
        memcpy(out, &head, sizeof head);
        char *at = out + sizeof head;
        for (int a = 0; a < JOINT_ARRAYS; a++) {
            const size_t bytes_of = *arrays[a].n * arrays[a].size;
            if (bytes_of > 0)
                memcpy(at, *arrays[a].data, bytes_of);
            at += bytes_of;
        }
        for (uint32_t i = 0; i < problem->n; at += head.size[i], i++)
            memcpy(at, parts[i], head.size[i]);
    } else if (rc == SAND_OK) {
        rc = SAND_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < problem->n; i++)
        sand_free(parts[i]);
    *bytes = out;
    return rc;
}

static enum sand_rc unpack_parts(const struct joint_head *head, const char *bytes, size_t size,
                                 struct sand_joint_problem *p)
{
    for (uint32_t i = 0; i < head->n; i++) {
        if (head->size[i] > size)
            return SAND_ERR_INTERNAL;
        SAND_TRY(sand_step_unpack(bytes, (size_t)head->size[i], &p->parts[i]));
        bytes += head->size[i];
        size -= (size_t)head->size[i];
    }
    return size == 0 ? SAND_OK : SAND_ERR_INTERNAL;
}

static enum sand_rc unpack_arrays(const char **bytes, size_t *size, struct sand_joint_problem *p)
{
    struct step_array arrays[JOINT_ARRAYS];
    arrays_of(p, arrays);
    for (int a = 0; a < JOINT_ARRAYS; a++) {
        if (*arrays[a].n > *size / arrays[a].size)
            return SAND_ERR_INTERNAL;
        const size_t bytes_of = *arrays[a].n * arrays[a].size;
        *arrays[a].data = sand_calloc(*arrays[a].n, arrays[a].size);
        if (*arrays[a].data == NULL)
            return SAND_ERR_NOMEM;
        if (bytes_of > 0)
            memcpy(*arrays[a].data, *bytes, bytes_of);
        *bytes += bytes_of;
        *size -= bytes_of;
    }
    return SAND_OK;
}

// Nothing points beyond what there is.
static enum sand_rc check_uses(const struct sand_joint_problem *p)
{
    for (size_t t = 0; t < p->n_transfers; t++)
        if ((uint64_t)p->transfers[t].first + p->transfers[t].n > p->n_uses)
            return SAND_ERR_INTERNAL;
    for (size_t u = 0; u < p->n_uses; u++)
        if (p->uses[u].link >= p->n_links)
            return SAND_ERR_INTERNAL;
    return SAND_OK;
}

enum sand_rc sand_joint_unpack(const void *bytes, size_t size, struct sand_joint_problem **problem)
{
    struct joint_head head;
    if (size < sizeof head)
        return SAND_ERR_INTERNAL;
    memcpy(&head, bytes, sizeof head);
    size -= sizeof head;
    if (head.magic != JOINT_MAGIC || head.n > SAND_JOINT_JOBS ||
        head.n_transfers > SAND_JOINT_TRANSFERS || head.n + head.n_transfers == 0 ||
        head.n_offsets > SAND_JOINT_OFFSETS)
        return SAND_ERR_INTERNAL;
    struct sand_joint_problem *p = sand_calloc(1, sizeof *p);
    if (p == NULL)
        return SAND_ERR_NOMEM;
    const char *at = (const char *)bytes + sizeof head;
    p->n = head.n;
    p->pipelines = head.pipelines;
    p->n_steps = head.n_steps;
    p->n_offsets = head.n_offsets;
    p->together = head.together;
    p->asked = head.asked;
    p->n_links = (size_t)head.n_links;
    p->n_transfers = (size_t)head.n_transfers;
    p->n_uses = (size_t)head.n_uses;
    enum sand_rc rc = unpack_arrays(&at, &size, p);
    if (rc == SAND_OK)
        rc = check_uses(p);
    if (rc == SAND_OK)
        rc = unpack_parts(&head, at, size, p);
    if (rc != SAND_OK) {
        sand_joint_problem_free(p);
        return rc;
    }
    *problem = p;
    return SAND_OK;
}
