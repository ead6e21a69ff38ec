// A measured collective as a question: node, network, communicator, algorithm.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_ANALYSIS_VALIDATE_COLLCASE_H
#define SAND_ANALYSIS_VALIDATE_COLLCASE_H

#include "collcost.h"
#include "csvrows.h"

enum sand_coll_column {
    SAND_COLL_ID,
    SAND_COLL_SOURCE,
    SAND_COLL_CONFIRMED,
    SAND_COLL_PLATFORM,
    SAND_COLL_GPU,
    SAND_COLL_GPUS,
    SAND_COLL_NODES,
    SAND_COLL_NETWORK,
    SAND_COLL_COLLECTIVE,
    SAND_COLL_ALGORITHM,
    SAND_COLL_PROTOCOL,
    SAND_COLL_VERSION,
    SAND_COLL_BYTES,
    SAND_COLL_TIME,
    SAND_COLL_ALGBW,
    SAND_COLL_BUSBW,
    SAND_COLL_COLUMNS,
    SAND_COLL_FAULT = SAND_COLL_COLUMNS // of a row that could not be read; NULL
};

// Reads the file; only gpu, gpus, collective and message_bytes need be columns.
enum sand_rc sand_coll_rows_read(const char *path, struct sand_csv_rows *rows,
                                 struct sand_diag *diag);

// The constants that predictions use: a copy of the catalogue's, so that a fit can move them. The
// cases point into it; it must not move.
enum { SAND_COLL_LINKS = 64, SAND_COLL_KERNELS = 64 };
struct sand_coll_model {
    struct sand_collectives constants; // its kernels are `kernels`
    const struct sand_coll_rules *rules;
    struct sand_coll_kernel kernels[SAND_COLL_KERNELS];
    struct sand_link_type links[SAND_COLL_LINKS];
    size_t n_links;
};
// SAND_ERR_INPUT if the catalogue has more kernels than fit.
enum sand_rc sand_coll_model_open(struct sand_coll_model *model,
                                  const struct sand_coll_rules *rules, struct sand_diag *diag);

enum sand_coll_class {
    SAND_COLL_SCORED,
    SAND_COLL_LISTED, // flagged, recalled, ill specified or too coarse: predicted, not scored
    SAND_COLL_SKIPPED
};

enum { SAND_COLL_WHY = 300, SAND_COLL_KEY = 64 };

struct sand_coll_case {
    const char *const *cell; // SAND_COLL_COLUMNS texts and a fault
    enum sand_coll_class class;
    char why[SAND_COLL_WHY];    // for the latter two
    char source[SAND_COLL_KEY]; // rows of one source: the id without its number
    const struct sand_coll_machine *machine;
    const struct sand_coll_network *network; // NULL: inside a domain, or the node's own NICs
    double measured_s;
    struct sand_collective collective;
    struct sand_coll_wish wish;
    struct sand_comm comm;
};

// Fills a case from a row, as docs/validation.md says. What cannot be read makes the case listed or
// skipped and says why. SAND_ERR_NOMEM only.
enum sand_rc sand_coll_case_read(struct sand_coll_model *model, const char *const *cell,
                                 struct sand_coll_case *out);

// The prediction: SAND_OK and its terms, or SAND_ERR_INPUT. A forced algorithm that the platform
// has not falls back to the library's choice under protocol Simple.
enum sand_rc sand_coll_case_predict(const struct sand_coll_model *model,
                                    const struct sand_coll_case *c, struct sand_coll_terms *terms);

#endif
