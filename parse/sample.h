/* A recording inside the program, for people who have none yet: 12 steps of a small training, of
 * which a forward hook keeps 2 MiB each (testdata/snapshots/leak_in_training.pickle as a .bin). */
#ifndef MV_SAMPLE_H
#define MV_SAMPLE_H

#include "base/cursor.h"

/* Its name: mv_trace_read takes it for a path. ./memviz:sample is a file of that name. */
#define MV_SAMPLE_NAME "memviz:sample"

bool mv_sample_is(const char *path);

/* Its bytes; none in the page, whose button has them (web/page.html). */
mv_span mv_sample(void);

#endif
