/* A recording inside the program, for users who have no file yet: 12 steps of a small training, in
 * each of which a forward hook keeps 2 MiB (testdata/snapshots/leak_in_training.pickle as a
 * .bin). */
#ifndef MV_SAMPLE_H
#define MV_SAMPLE_H

#include "base/cursor.h"

/* Its name, which mv_trace_read accepts as a path. ./memviz:sample is a file with that name. */
#define MV_SAMPLE_NAME "memviz:sample"

bool mv_sample_is(const char *path);

/* Its bytes; empty in the page, where a button contains the recording (web/page.html). */
mv_span mv_sample(void);

#endif
