/* The chunks of a memviz container in file order, for debugging files. */
#ifndef MV_CHUNK_LIST_H
#define MV_CHUNK_LIST_H

#include "cli/commands.h"

/* Prints one line for the header, for each chunk, for each range that is not a chunk, and for the
 * footer. Does not use the index. Each line says whether the hash is right; damage is reported, not
 * a failure. Returns the exit status. */
int mv_chunks_list(mv_cli *cli);

#endif
