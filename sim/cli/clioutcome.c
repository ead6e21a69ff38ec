// Whether every job of a run did what it was given to do: a run that leaves work undone must not
// pass for one that finished it. SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "cli.h"
#include "store.h"

enum { MAX_NAMED = 3 };

static int is_undone(const struct sand_jobs_row *job)
{
    return strcmp(job->state.text, "unfinished") == 0 || strcmp(job->state.text, "waiting") == 0 ||
           strcmp(job->state.text, "failed") == 0;
}

// Counts the jobs that pass by and names the first few that are not done; keeps none.
struct outcome {
    size_t n, undone;
    struct sand_diag *diag;
};

static int pass(void *self, const void *row)
{
    struct outcome *outcome = self;
    const struct sand_jobs_row *job = row;
    outcome->n++;
    if (is_undone(job) && ++outcome->undone <= MAX_NAMED)
        sand_diag_add(outcome->diag, SAND_WARNING, NULL, 0,
                      "job \"%s\" of replication %u is %s at the end of the experiment",
                      job->id.text, job->replication,
                      strcmp(job->state.text, "waiting") == 0 ? "still waiting to start"
                                                              : job->state.text);
    return 0;
}

enum sand_rc sand_cli_check_finished(const char *path, struct sand_diag *diag)
{
    struct sand_results *results = NULL;
    struct outcome outcome = {.diag = diag};
    const void *none;
    size_t n;
    SAND_TRY(sand_results_open(path, &results, diag));
    enum sand_rc rc = sand_results_pick(results, SAND_TABLE_jobs, pass, &outcome, &none, &n, diag);
    if (rc == SAND_OK && outcome.undone > 0)
        rc = sand_fail(diag, SAND_ERR_UNIT,
                       "%zu of %zu jobs did not finish; lengthen the experiment's duration, or "
                       "give them less to do",
                       outcome.undone, outcome.n);
    sand_results_close(results);
    return rc;
}
