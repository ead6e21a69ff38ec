// Every source of jobs is a feed; a stream takes the earliest job of all feeds, and the set runs
// one stream to its end to check and to report. No job is kept. SPDX-License-Identifier:
// GPL-2.0-or-later
#include "jobset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jobsetparts.h"

uint32_t sand_jobset_room(const struct sand_experiment *experiment)
{
    return experiment->cluster.n_nodes - experiment->hot_spares;
}

int sand_jobset_train(const struct sand_experiment *experiment,
                      const struct sand_transformer *model, const struct sand_software *software,
                      const struct sand_split *split, struct sand_job_spec *job)
{
    const uint32_t gpus = sand_job_gpus(job, experiment->cluster.node_type->n_gpus);
    const double replica =
        (double)split->tp * (double)split->pp * (double)(split->cp > 0 ? split->cp : 1);
    struct sand_split laid = *split;
    if (!(replica >= 1) || replica > (double)gpus)
        return 0;
    laid.dp = gpus / (uint32_t)replica;
    if (sand_split_check(model, &laid, gpus, NULL) != SAND_OK)
        return 0;
    job->kind = SAND_JOB_TRAIN;
    job->model = model;
    job->software = software;
    job->split = laid;
    return 1;
}

static enum sand_rc no_memory(struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_NOMEM, "the jobs of the experiment: out of memory");
}

// ---- feeds --------------------------------------------------------------------------------------

static enum sand_rc advance_list(struct sand_jobfeed *feed, struct sand_diag *diag)
{
    const struct sand_job_spec *job;
    uint32_t number = 0;
    SAND_TRY(feed->source.next(feed->source.self, &job, &number, diag));
    feed->have = job != NULL;
    if (!job)
        return SAND_OK;
    feed->job = *job;
    feed->number = number;
    return SAND_OK;
}

static enum sand_rc open_list(struct sand_jobfeed *feed, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = feed->experiment;
    feed->advance = advance_list;
    if (sand_joblist_open(experiment->jobs, experiment->n_jobs, &feed->list, &feed->source) !=
        SAND_OK)
        return no_memory(diag);
    return SAND_OK;
}

static void close_feed(struct sand_jobfeed *feed)
{
    sand_joblist_close(feed->list);
    if (!feed->borrowed)
        sand_trace_close(feed->reader);
    sand_arrivals_close(feed->arrivals);
    sand_free(feed->id);
    sand_free(feed->user);
}

// ---- streams ------------------------------------------------------------------------------------

void sand_jobstream_close(struct sand_jobstream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; i < stream->n_feeds; i++)
        close_feed(&stream->feeds[i]);
    sand_free(stream->feeds);
    sand_free(stream);
}

// A feed's jobs are numbered after those of the feeds before it.
static enum sand_rc open_feeds(const struct sand_jobset *set, uint32_t replication, int first,
                               struct sand_jobstream *stream, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = set->experiment;
    struct sand_jobfeed *feed = stream->feeds;
    uint64_t next = experiment->n_jobs;
    SAND_TRY(open_list(feed++, diag));
    for (size_t i = 0; i < experiment->n_traces; i++, feed++) {
        SAND_TRY(sand_jobtrace_feed(&set->traces[i], first, feed, diag));
        feed->next = next;
        next += set->traces[i].kept;
    }
    for (size_t i = 0; i < experiment->n_mixes; i++, feed++) {
        uint64_t n = 0;
        const struct sand_mix *mix = experiment->mixes[i].mix;
        SAND_TRY(sand_jobmix_feed(mix, replication, feed, diag));
        feed->next = next;
        if (i + 1 < experiment->n_mixes)
            SAND_TRY(sand_jobmix_count(experiment, mix, replication, &n, diag));
        next += n;
    }
    return SAND_OK;
}

static enum sand_rc open_stream(const struct sand_jobset *set, uint32_t replication, int first,
                                struct sand_jobstream **stream, struct sand_diag *diag)
{
    struct sand_jobstream *made = sand_calloc(1, sizeof *made);
    if (!made)
        return no_memory(diag);
    made->n_feeds = 1 + set->experiment->n_traces + set->experiment->n_mixes;
    made->feeds = sand_calloc(made->n_feeds, sizeof *made->feeds);
    enum sand_rc rc = made->feeds ? SAND_OK : no_memory(diag);
    for (size_t i = 0; made->feeds && i < made->n_feeds; i++)
        made->feeds[i].experiment = set->experiment;
    if (rc == SAND_OK)
        rc = open_feeds(set, replication, first, made, diag);
    for (size_t i = 0; rc == SAND_OK && i < made->n_feeds; i++)
        rc = made->feeds[i].advance(&made->feeds[i], diag);
    if (rc == SAND_OK)
        *stream = made;
    else
        sand_jobstream_close(made);
    return rc;
}

// Feeds are few: a document and its elements.
static struct sand_jobfeed *earliest(const struct sand_jobstream *stream)
{
    struct sand_jobfeed *best = NULL;
    for (size_t i = 0; i < stream->n_feeds; i++) {
        struct sand_jobfeed *feed = &stream->feeds[i];
        if (feed->have && (!best || feed->job.submit_ns < best->job.submit_ns))
            best = feed;
    }
    return best;
}

static enum sand_rc next_job(void *self, const struct sand_job_spec **job, uint32_t *number,
                             struct sand_diag *diag)
{
    struct sand_jobstream *stream = self;
    *job = NULL;
    if (stream->given)
        SAND_TRY(stream->given->advance(stream->given, diag));
    stream->given = earliest(stream);
    if (!stream->given)
        return SAND_OK;
    if (stream->given->number >= UINT32_MAX)
        return sand_fail(diag, SAND_ERR_INPUT, "more than 4,294,967,295 jobs; run fewer at a time");
    *job = &stream->given->job;
    *number = (uint32_t)stream->given->number;
    return SAND_OK;
}

// Those written out are counted, those of mixes are not known beforehand, those of traces never
// save.
static uint32_t max_savers(const struct sand_experiment *experiment,
                           const struct sand_job_source *written)
{
    for (size_t i = 0; i < experiment->n_mixes; i++)
        for (size_t k = 0; k < experiment->mixes[i].mix->n_classes; k++)
            if (experiment->mixes[i].mix->classes[k].speed == SAND_TRACE_MODEL)
                return UINT32_MAX;
    return written->max_savers;
}

enum sand_rc sand_jobset_stream(const struct sand_jobset *set, uint32_t replication,
                                struct sand_jobstream **stream, struct sand_job_source *source,
                                struct sand_diag *diag)
{
    SAND_TRY(open_stream(set, replication, 0, stream, diag));
    *source = (struct sand_job_source){
        .self = *stream,
        .next = next_job,
        .max_savers = max_savers(set->experiment, &(*stream)->feeds[0].source),
    };
    return SAND_OK;
}

// ---- opening ------------------------------------------------------------------------------------

static enum sand_rc check_mixes(const struct sand_experiment *experiment, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    for (size_t i = 0; i < experiment->n_mixes; i++) {
        const struct sand_mix *mix = experiment->mixes[i].mix;
        const enum sand_rc one = sand_mix_check(mix, diag);
        rc = rc == SAND_OK ? one : rc;
        for (size_t k = 0; k < i; k++)
            if (strcmp(experiment->mixes[k].mix->id, mix->id) == 0)
                rc = sand_fail(diag, SAND_ERR_INPUT,
                               "mix \"%s\" is used twice, which gives every job twice; write one "
                               "mix with twice its rate",
                               mix->id);
    }
    return rc;
}

static enum sand_rc check(const struct sand_experiment *experiment, struct sand_diag *diag)
{
    if (experiment->n_traces + experiment->n_mixes == 0)
        return SAND_OK;
    if (experiment->hot_spares >= experiment->cluster.n_nodes)
        return sand_fail(diag, SAND_ERR_INPUT,
                         "cluster \"%s\": all %u nodes are hot spares (hot_spares=\"%u\"), which "
                         "leaves none for jobs",
                         experiment->cluster.name, experiment->cluster.n_nodes,
                         experiment->hot_spares);
    return check_mixes(experiment, diag);
}

static enum sand_rc open_traces(struct sand_jobset *set, FILE *rows, struct sand_diag *diag)
{
    const struct sand_experiment *experiment = set->experiment;
    set->traces = sand_calloc(experiment->n_traces, sizeof *set->traces);
    if (!set->traces)
        return no_memory(diag);
    if (rows && experiment->n_traces > 0)
        sand_trace_log_head(rows);
    for (size_t i = 0; i < experiment->n_traces; i++)
        SAND_TRY(sand_jobtrace_open(set, &experiment->traces[i], rows, &set->traces[i], diag));
    return SAND_OK;
}

static enum sand_rc visit_all(struct sand_jobstream *stream, const struct sand_job_visitor *visitor,
                              struct sand_diag *diag)
{
    enum sand_rc kept = SAND_OK;
    for (;;) {
        const struct sand_job_spec *job;
        uint32_t number;
        SAND_TRY(next_job(stream, &job, &number, diag));
        if (!job)
            return kept;
        const enum sand_rc rc = visitor ? visitor->visit(visitor->self, job, diag) : SAND_OK;
        kept = kept == SAND_OK ? rc : kept;
    }
}

static enum sand_rc write_report(struct sand_jobset *set, const struct sand_jobstream *stream,
                                 struct sand_diag *diag)
{
    FILE *out = open_memstream(&set->report, &set->report_size);
    if (!out)
        return no_memory(diag);
    for (size_t i = 0; i < stream->n_feeds; i++) {
        if (stream->feeds[i].trace)
            sand_jobtrace_report(&stream->feeds[i], out);
        else if (stream->feeds[i].mix)
            sand_jobmix_report(&stream->feeds[i], out);
    }
    return fclose(out) == 0 ? SAND_OK : no_memory(diag);
}

static enum sand_rc fill(struct sand_jobset *set, const struct sand_job_visitor *visitor,
                         struct sand_diag *diag)
{
    struct sand_jobstream *stream = NULL;
    SAND_TRY(check(set->experiment, diag));
    SAND_TRY(open_traces(set, visitor ? visitor->rows : NULL, diag));
    SAND_TRY(open_stream(set, 0, 1, &stream, diag));
    enum sand_rc rc = visit_all(stream, visitor, diag);
    if (rc == SAND_OK)
        rc = write_report(set, stream, diag);
    sand_jobstream_close(stream);
    for (size_t i = 0; rc == SAND_OK && i < set->experiment->n_traces; i++)
        set->traces[i].kept = sand_trace_report(set->traces[i].known)->kept;
    return rc;
}

enum sand_rc sand_jobset_open(const struct sand_experiment *experiment,
                              const struct sand_job_visitor *visitor, struct sand_jobset **set,
                              struct sand_diag *diag)
{
    struct sand_jobset *opened = sand_calloc(1, sizeof *opened);
    if (!opened)
        return no_memory(diag);
    opened->experiment = experiment;
    const enum sand_rc rc = fill(opened, visitor, diag);
    if (rc != SAND_OK) {
        sand_jobset_close(opened);
        return rc;
    }
    *set = opened;
    return SAND_OK;
}

void sand_jobset_close(struct sand_jobset *set)
{
    if (!set)
        return;
    for (size_t i = 0; set->traces && i < set->experiment->n_traces; i++)
        sand_jobtrace_close(&set->traces[i]);
    sand_free(set->traces);
    free(set->report); // open_memstream's own
    sand_arena_clear(&set->arena);
    sand_free(set);
}

void sand_jobset_report(const struct sand_jobset *set, FILE *out)
{
    if (set->report)
        fputs(set->report, out);
}
