// Bytes of a file, unpacked on the way if it is .xz or .gz (private to workloads/import).
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_WORKLOADS_IMPORT_TRACESTREAM_H
#define SAND_WORKLOADS_IMPORT_TRACESTREAM_H

#include <stddef.h>

#include "diag.h"

struct trace_stream;

enum sand_rc trace_stream_open(const char *path, struct trace_stream **stream,
                               struct sand_diag *diag);
// Up to `room` bytes; *got is 0 at the end only.
enum sand_rc trace_stream_read(struct trace_stream *stream, char *data, size_t room, size_t *got,
                               struct sand_diag *diag);
enum sand_rc trace_stream_rewind(struct trace_stream *stream, struct sand_diag *diag);
void trace_stream_close(struct trace_stream *stream); // NULL is fine

const char *trace_stream_packing(const struct trace_stream *stream); // "plain", "xz", "gz"

#endif
