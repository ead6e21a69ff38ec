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

static enum sand_rc report_undone(const struct sand_jobs_row *jobs, size_t n,
                                  struct sand_diag *diag)
{
    size_t undone = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_undone(&jobs[i]) && ++undone <= MAX_NAMED)
            sand_diag_add(diag, SAND_WARNING, NULL, 0,
                          "job \"%s\" of replication %u is %s at the end of the experiment",
                          jobs[i].id.text, jobs[i].replication,
                          strcmp(jobs[i].state.text, "waiting") == 0 ? "still waiting to start"
                                                                     : jobs[i].state.text);
    }
    if (undone == 0)
        return SAND_OK;
    return sand_fail(diag, SAND_ERR_UNIT,
                     "%zu of %zu jobs did not finish; lengthen the experiment's duration, or give "
                     "them less to do",
                     undone, n);
}

enum sand_rc sand_cli_check_finished(const char *path, struct sand_diag *diag)
{
    struct sand_results *results = NULL;
    const void *jobs = NULL;
    size_t n = 0;
    SAND_TRY(sand_results_open(path, &results, diag));
    enum sand_rc rc = sand_results_table(results, SAND_TABLE_jobs, &jobs, &n, diag);
    if (rc == SAND_OK)
        rc = report_undone(jobs, n, diag);
    sand_results_close(results);
    return rc;
}
