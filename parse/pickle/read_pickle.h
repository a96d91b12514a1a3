/* Reads a pickle as mv_pickle_read does. Another thread reads the file ahead of the machine in blocks
 * of this length; 0: no other thread does. */
#pragma once

#include "parse/readers.h"

mv_code mv_pickle_read_in_blocks(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                                 uint32_t block_bytes, mv_trace *out, mv_err *err);
