// Field tables of <trace>, of <mix>, and of the mixes of the catalogue.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment.h"
#include "speccheck.h"
#include "spectable.h"

#define FIELDS(array) .fields = (array), .n_fields = SPEC_COUNT(array)
#define CHILDREN(array) .children = (array), .n_children = SPEC_COUNT(array)
#define MANY(struct_name, member)                                                                  \
    .place = SPEC_ARRAY, .offset = offsetof(struct_name, member),                                  \
    .count_offset = offsetof(struct_name, n_##member)
#define OPTIONAL_TEXT(struct_name, member)                                                         \
    SPEC_MEMBER(SPEC_TEXT, struct_name, member), .need = SPEC_OPTIONAL

static const char *const speeds[] = {
    [SAND_TRACE_RECORDED] = "recorded", [SAND_TRACE_MODEL] = "model", NULL};

// ---- traces ----

static const char *const formats[] = {
    [SAND_TRACE_SWF] = "swf", [SAND_TRACE_PHILLY] = "philly", [SAND_TRACE_CSV] = "csv", NULL};
static const char *const sizes[] = {
    [SAND_TRACE_REQUESTED] = "requested", [SAND_TRACE_ALLOCATED] = "allocated", NULL};
static const char *const walltimes[] = {[SAND_TRACE_WALLTIME_NONE] = "none",
                                        [SAND_TRACE_WALLTIME_EXACT] = "exact",
                                        [SAND_TRACE_WALLTIME_FACTOR] = "factor",
                                        [SAND_TRACE_WALLTIME_LIMIT] = "limit",
                                        NULL};
static const char *const overruns[] = {[SAND_TRACE_OVERRUN_KEEP] = "keep",
                                       [SAND_TRACE_OVERRUN_CUT] = "cut",
                                       [SAND_TRACE_OVERRUN_RAISE] = "raise",
                                       NULL};
static const char *const duplicates[] = {"keep", "drop", NULL};
static const char *const fractions[] = {"up", "drop", NULL};

static const struct spec_field trace_class_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_trace_class, id), .doc = "Name of the class."},
    {.name = "min_gpus",
     SPEC_WHOLE(struct sand_trace_class, min_gpus),
     SPEC_PRESET("0"),
     .doc = "Fewest GPUs of its jobs."},
    {.name = "max_gpus",
     SPEC_WHOLE(struct sand_trace_class, max_gpus),
     SPEC_PRESET("0"),
     .doc = "Most GPUs of its jobs; 0: no bound."},
    {.name = "account",
     OPTIONAL_TEXT(struct sand_trace_class, account),
     .doc = "Shell pattern of the account."},
    {.name = "user",
     OPTIONAL_TEXT(struct sand_trace_class, user),
     .doc = "Shell pattern of the user."},
    {.name = "queue",
     OPTIONAL_TEXT(struct sand_trace_class, queue),
     .doc = "Shell pattern of the queue."},
    {.name = "partition",
     OPTIONAL_TEXT(struct sand_trace_class, partition),
     .doc = "Shell pattern of the partition or virtual cluster."},
    {.name = "name",
     OPTIONAL_TEXT(struct sand_trace_class, name),
     .doc = "Shell pattern of the job's name."},
    {.name = "limit",
     SPEC_DATE_NS(struct sand_trace_class, limit_ns),
     SPEC_PRESET("0s"),
     .doc = "Requested time under walltime=\"limit\"; 0s: the trace's."},
    {.name = "speed",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_class, speed),
     .words = speeds,
     SPEC_PRESET("recorded"),
     .doc = "recorded: the duration holds wherever the job runs; model: it was measured at "
            "`placement` and grows with the model's step time elsewhere."},
    {.name = "model",
     SPEC_REFERENCE(SPEC_MODEL, struct sand_trace_class, model),
     .need = SPEC_OPTIONAL,
     .doc = "What its jobs train, with speed=\"model\"."},
    {.name = "software",
     SPEC_REFERENCE(SPEC_SOFTWARE, struct sand_trace_class, software),
     .need = SPEC_OPTIONAL,
     .doc = "The stack they train with, with speed=\"model\"."},
    {.name = "placement",
     OPTIONAL_TEXT(struct sand_trace_class, placement),
     .doc = "Where the durations were measured, with speed=\"model\": healthy, the first nodes of "
            "an empty cluster."},
};

static const struct spec_child trace_class_children[] = {
    {.element = &spec_split, .offset = offsetof(struct sand_trace_class, split), .max = 1},
    {.element = &spec_checkpoint,
     .offset = offsetof(struct sand_trace_class, checkpoint),
     .max = 1,
     .presets = 1},
};

const struct spec_element spec_trace_class = {
    .name = "class",
    .key = "trace.class",
    FIELDS(trace_class_fields),
    CHILDREN(trace_class_children),
    .size = sizeof(struct sand_trace_class),
    .finish = spec_finish_trace_class,
    .doc = "A class of jobs; the first that matches is a job's. dp of the split is replaced by "
           "what the job's nodes give."};

static const struct spec_field trace_fields[] = {
    {.name = "file",
     SPEC_MEMBER(SPEC_PATH, struct sand_trace_spec, file),
     .doc = "The trace, plain or packed by xz or gzip; `sandtable run --trace` names another."},
    {.name = "format",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_spec, format),
     .words = formats,
     .doc = "See traces.md."},
    {.name = "columns",
     OPTIONAL_TEXT(struct sand_trace_spec, columns),
     .doc = "The column map of a csv: FIELD=COLUMN[:UNIT], separated by commas."},
    {.name = "size",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_spec, size),
     .words = sizes,
     SPEC_PRESET("requested"),
     .doc = "Which number of processors of an swf counts."},
    {.name = "processors_per_node",
     SPEC_SIZE(struct sand_trace_spec, processors_per_node),
     SPEC_PRESET("1"),
     .doc = "Nodes = processors / this, rounded up; where GPUs are counted, the cluster's nodes "
            "say how many one has."},
    {.name = "walltime",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_spec, walltime),
     .words = walltimes,
     SPEC_PRESET("none"),
     .doc = "Requested time of rows that have none."},
    {.name = "walltime_factor",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_trace_spec, walltime_factor),
     SPEC_PRESET("1"),
     .range = {1, 0, 0, 0},
     .doc = "Requested over run time under walltime=\"factor\"."},
    {.name = "walltime_limit",
     SPEC_DATE_NS(struct sand_trace_spec, walltime_limit_ns),
     SPEC_PRESET("0s"),
     .doc = "Requested time under walltime=\"limit\" of jobs whose class has none."},
    {.name = "overrun",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_spec, overrun),
     .words = overruns,
     SPEC_PRESET("keep"),
     .doc = "A run longer than requested: kept, cut to the request, or the request is raised."},
    {.name = "duplicates",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_spec, drop_duplicates),
     .words = duplicates,
     SPEC_PRESET("keep"),
     .doc = "Rows equal to an earlier one byte by byte."},
    {.name = "fractions",
     SPEC_MEMBER(SPEC_WORD, struct sand_trace_spec, drop_fractions),
     .words = fractions,
     SPEC_PRESET("up"),
     .doc = "Fractions of a GPU or processor: rounded up, or the row is dropped."},
};

static const struct spec_child trace_children[] = {
    {.element = &spec_trace_class, MANY(struct sand_trace_spec, classes)},
};

const struct spec_element spec_trace = {
    .name = "trace",
    .key = "trace",
    FIELDS(trace_fields),
    CHILDREN(trace_children),
    .size = sizeof(struct sand_trace_spec),
    .finish = spec_finish_trace,
    .doc = "Jobs from a file that a cluster's scheduler, or somebody, has written. Time 0 is the "
           "first submit; jobs larger than the cluster without its spares are dropped."};

// ---- mixes ----

static const char *const days[] = {"monday", "tuesday",  "wednesday", "thursday",
                                   "friday", "saturday", "sunday",    NULL};
static const char *const outcomes[] = {
    [SAND_MIX_COMPLETE] = "complete", [SAND_MIX_CANCEL] = "cancel", [SAND_MIX_FAIL] = "fail", NULL};
#define QUANTITY_WORD(name, text) [SAND_MIX_##name] = #name,
static const char *const quantities[] = {SAND_MIX_QUANTITIES(QUANTITY_WORD) NULL};
#undef QUANTITY_WORD

static const struct spec_field mix_hour_fields[] = {
    {.name = "of",
     SPEC_MEMBER(SPEC_U32, struct sand_mix_weight, at),
     .dim = SAND_DIM_COUNT,
     .range = {0, 23, 0, 0},
     .doc = "Hour of the day."},
    {.name = "weight",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_weight, weight),
     .doc = "Arrivals in it, relative."},
};

const struct spec_element spec_mix_hour = {
    .name = "hour",
    .key = "mix.hour",
    FIELDS(mix_hour_fields),
    .size = sizeof(struct sand_mix_weight),
    .doc = "Weight of an hour of the day; 1 for those not named."};

static const struct spec_field mix_day_fields[] = {
    {.name = "of",
     SPEC_MEMBER(SPEC_WORD, struct sand_mix_weight, at),
     .words = days,
     .doc = "Day of the week."},
    {.name = "weight",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_weight, weight),
     .doc = "Arrivals in it, relative."},
};

const struct spec_element spec_mix_day = {
    .name = "day",
    .key = "mix.day",
    FIELDS(mix_day_fields),
    .size = sizeof(struct sand_mix_weight),
    .doc = "Weight of a day of the week; 1 for those not named. Time 0 is Monday, 0:00."};

static const struct spec_field mix_size_fields[] = {
    {.name = "gpus", SPEC_SIZE(struct sand_mix_size, gpus), .doc = "GPUs of a job."},
    {.name = "weight",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_size, weight),
     SPEC_POSITIVE,
     .doc = "Jobs of this size, relative."},
};

const struct spec_element spec_mix_size = {.name = "size",
                                           .key = "mix.size",
                                           FIELDS(mix_size_fields),
                                           .size = sizeof(struct sand_mix_size),
                                           .doc = "A size of a class's jobs."};

static const struct spec_field mix_end_fields[] = {
    {.name = "as",
     SPEC_MEMBER(SPEC_WORD, struct sand_mix_end, outcome),
     .words = outcomes,
     .doc = "How the job ends."},
    {.name = "share",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_mix_end, share),
     SPEC_POSITIVE,
     .doc = "Of the class's jobs."},
    {.name = "run",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_mix_end, run.mean_s),
     SPEC_POSITIVE,
     .doc = "Run time: mean, for the lognormal law the median."},
    {.name = "run_law",
     SPEC_MEMBER(SPEC_WORD, struct sand_mix_end, run.kind),
     .words = spec_laws,
     SPEC_PRESET("constant"),
     .doc = "Its law."},
    {.name = "run_shape",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_end, run.shape),
     SPEC_PRESET("0"),
     .doc = "Weibull shape, or lognormal sigma."},
    {.name = "run_max",
     SPEC_QUANTITY(SAND_DIM_TIME, struct sand_mix_end, run.max_s),
     SPEC_PRESET("0s"),
     .doc = "Longest; 0s: no bound."},
};

const struct spec_element spec_mix_end = {.name = "end",
                                          .key = "mix.end",
                                          FIELDS(mix_end_fields),
                                          .size = sizeof(struct sand_mix_end),
                                          .doc = "One way in which jobs of a class end."};

static const struct spec_field mix_class_fields[] = {
    {.name = "id", SPEC_MEMBER(SPEC_ID, struct sand_mix_class, id), .doc = "Name of the class."},
    {.name = "share",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_mix_class, share),
     SPEC_POSITIVE,
     .doc = "Of the mix's jobs."},
    {.name = "cycle",
     SPEC_QUANTITY(SAND_DIM_FRACTION, struct sand_mix_class, cycle),
     SPEC_PRESET("1"),
     .doc = "0: arrivals at a constant rate; 1: by the weights of hours and days."},
    {.name = "users",
     SPEC_WHOLE(struct sand_mix_class, users),
     SPEC_PRESET("0"),
     .doc = "Users who share its jobs evenly; 0: not told apart."},
    {.name = "request_factor",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_class, request_factor),
     SPEC_PRESET("0"),
     .doc = "Requested time over the run that would complete; 0: the limit itself."},
    {.name = "limit",
     SPEC_DATE_NS(struct sand_mix_class, limit_ns),
     SPEC_PRESET("0s"),
     .doc = "Longest requested time; 0s: none."},
    {.name = "speed",
     SPEC_MEMBER(SPEC_WORD, struct sand_mix_class, speed),
     .words = speeds,
     SPEC_PRESET("recorded"),
     .doc = "recorded: the drawn run holds wherever the job runs; model: it is what the job takes "
            "at its healthy step time."},
    {.name = "model",
     SPEC_REFERENCE(SPEC_MODEL, struct sand_mix_class, model),
     .need = SPEC_OPTIONAL,
     .doc = "What its jobs train, with speed=\"model\"."},
    {.name = "software",
     SPEC_REFERENCE(SPEC_SOFTWARE, struct sand_mix_class, software),
     .need = SPEC_OPTIONAL,
     .doc = "The stack they train with, with speed=\"model\"."},
};

static const struct spec_child mix_class_children[] = {
    {.element = &spec_split, .offset = offsetof(struct sand_mix_class, split), .max = 1},
    {.element = &spec_checkpoint,
     .offset = offsetof(struct sand_mix_class, checkpoint),
     .max = 1,
     .presets = 1},
    {.element = &spec_mix_size, MANY(struct sand_mix_class, sizes), .min = 1},
    {.element = &spec_mix_end, MANY(struct sand_mix_class, ends), .min = 1},
};

const struct spec_element spec_mix_class = {
    .name = "class",
    .key = "mix.class",
    FIELDS(mix_class_fields),
    CHILDREN(mix_class_children),
    .size = sizeof(struct sand_mix_class),
    .finish = spec_finish_mix_class,
    .doc = "A class of synthetic jobs. dp of the split is replaced by what a job's GPUs give."};

static const struct spec_field mix_figure_fields[] = {
    {.name = "of",
     SPEC_MEMBER(SPEC_WORD, struct sand_mix_figure, quantity),
     .words = quantities,
     .doc = "Which figure."},
    {.name = "value",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_figure, value),
     .doc = "The source's value; times in s."},
    {.name = "within",
     SPEC_QUANTITY(SAND_DIM_NUMBER, struct sand_mix_figure, within),
     SPEC_POSITIVE,
     .doc = "How near the mix's own expectation is meant to be, relative."},
};

const struct spec_element spec_mix_figure = {.name = "figure",
                                             .key = "mix.figure",
                                             FIELDS(mix_figure_fields),
                                             .size = sizeof(struct sand_mix_figure),
                                             .doc = "A figure of the source that the mix is "
                                                    "fitted to."};

static const struct spec_field mix_fields[] = {
    SPEC_ENTRY_HEAD(struct sand_mix),
    {.name = "rate",
     SPEC_QUANTITY(SAND_DIM_RATE, struct sand_mix, jobs_per_s),
     SPEC_POSITIVE,
     .doc = "Jobs per time, mean over a week, all classes."},
};

static const struct spec_child mix_children[] = {
    {.element = &spec_mix_hour, MANY(struct sand_mix, hours)},
    {.element = &spec_mix_day, MANY(struct sand_mix, days)},
    {.element = &spec_mix_class, MANY(struct sand_mix, classes), .min = 1},
    {.element = &spec_mix_figure, MANY(struct sand_mix, figures)},
};

const struct spec_element spec_mix = {
    .name = "mix",
    .key = "mix",
    FIELDS(mix_fields),
    CHILDREN(mix_children),
    .size = sizeof(struct sand_mix),
    .kind = SPEC_MIX,
    .doc = "Classes of synthetic jobs: when they arrive, how large and long they are, how they "
           "end."};

static const struct spec_field jobs_mix_fields[] = {
    {.name = "use",
     SPEC_REFERENCE(SPEC_MIX, struct sand_mix_use, mix),
     .doc = "A mix of the catalogue or of the definitions."},
};

const struct spec_element spec_jobs_mix = {
    .name = "mix",
    .key = "jobs.mix",
    FIELDS(jobs_mix_fields),
    .size = sizeof(struct sand_mix_use),
    .doc = "Synthetic jobs, drawn anew in every replication, for as long as the experiment "
           "lasts."};
