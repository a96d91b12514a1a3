/* A recording built into the program, for users who have no file yet: 12 steps of a small training
 * run, in each of which a forward hook leaks 2 MiB (testdata/snapshots/leak_in_training.pickle,
 * converted to .bin). */
#pragma once

#include "base/cursor.h"

/* The sample's name, which mv_trace_read accepts as a path. To read a file with this name, write
 * ./memviz:sample. */
#define MV_SAMPLE_NAME "memviz:sample"

bool mv_sample_is(const char *path);

/* Returns the sample's bytes. The result is empty in the web page, where a button contains the
 * recording (web/page.html). */
mv_span mv_sample(void);
