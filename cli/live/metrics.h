/* The figures of `memviz top` for a cluster's own dashboards: Prometheus' text format 0.0.4, over
 * HTTP on a port of this machine or on a Unix socket. */
#ifndef MV_METRICS_H
#define MV_METRICS_H

#include "cli/live/top_report.h"

/* Writes the metrics of a report, with the first `limit` lines of code of each device. */
void mv_metrics_put(FILE *out, const mv_top_report *report);

/* Writes the text of a response; false: the recordings can no longer be read. */
typedef bool mv_metrics_fn(void *user, FILE *out);

/* Answers requests until SIGINT or SIGTERM arrives. `where` is a port on 127.0.0.1, which refuses
 * clients of other users, or the path of a Unix socket for this user, which is removed at the end.
 * A client must send its request within a second. Fails, with a sentence, if it cannot listen
 * there, or if a text fails. */
mv_code mv_metrics_serve(const char *where, mv_metrics_fn *text, void *user, mv_err *err);

#endif
