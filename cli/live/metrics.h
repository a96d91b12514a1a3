/* Exports the figures of `memviz top` to a cluster's own dashboards, in Prometheus' text format
 * 0.0.4. They are served over HTTP on a port of this machine or on a Unix socket. */
#pragma once

#include "cli/live/top_report.h"

/* Writes a report's metrics, with the first `limit` lines of code on each device. */
void mv_metrics_put(FILE *out, const mv_top_report *report);

/* Writes the body of a response. Returns false if the recordings can no longer be read. */
typedef bool mv_metrics_fn(void *user, FILE *out);

/* Answers requests until SIGINT or SIGTERM arrives. `where` is a port on 127.0.0.1 or the path of a
 * Unix socket. The port refuses clients of other users. The socket is only accessible to this user,
 * and is removed at the end. A client must send its request within a second. Fails, with a
 * sentence, if it cannot listen there or if `text` fails. */
mv_code mv_metrics_serve(const char *where, mv_metrics_fn *text, void *user, mv_err *err);
