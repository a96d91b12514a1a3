/* Containers in the folder in memory (in_process.h). */
#pragma once

#include "parse/writers.h"
#include "tests/fixture/fixture_container.h"
#include "tests/fixture/in_process.h"

const char *mvt_path_of(const char *name);

/* Reads a whole file into mvt_memory(). */
mv_span mvt_bytes_of(const char *name);

void mvt_put_trace(const char *name, const mv_trace *trace, const mv_write_opts *opts);

/* Writes the trace with digests and openings, as `convert` does. If `chunk_rows` is 0, chunks are as
 * long as usual. */
void mvt_put_with_digests(const char *name, const mv_trace *trace, uint32_t chunk_rows);

mv_trace mvt_trace_of(const char *name, const mv_read_opts *opts);

/* Takes a file apart, or assembles one with an index. */
mvt_container *mvt_container_of(const char *name);
void mvt_put_container(const char *name, mvt_container *c);
