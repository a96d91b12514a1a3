/* Runs of the built program, for tests of the command line.
 *
 *     mvt_run r = mvt_sh("$MEMVIZ trace --limit 1 $SNAPS/gpt_train.pickle");
 *     cr_assert_eq(r.status, 0);
 *     mvt_run_drop(&r); */
#ifndef MV_FIXTURE_PROGRAM_H
#define MV_FIXTURE_PROGRAM_H

#include <stddef.h>

#include "parse/base/cursor.h"

typedef struct {
    int status; /* exit status; 128 + signal when one ended it */
    char *out;  /* NUL-terminated */
    char *err;
    size_t out_length, err_length;
} mvt_run;

/* Runs a shell command in an empty folder of its own, which is removed afterwards. $MEMVIZ is the
 * program, $SNAPS the folder of real snapshots, $RELEASES that of made ones; neither output is a
 * terminal. */
mvt_run mvt_sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mvt_run_drop(mvt_run *run);

/* A new file of these bytes, for a command to read; the test unlinks it. */
#define MVT_PATH 64
void mvt_put_file(char path[MVT_PATH], mv_span bytes);

#endif
