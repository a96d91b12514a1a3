/* The chunks of a memviz container in file order, for debugging files. */
#ifndef MV_CHUNK_LIST_H
#define MV_CHUNK_LIST_H

#include "cli/commands.h"

/* Prints one line for the header, for each chunk, for each range outside chunks, and for the
 * footer. Does not use the index. Each line shows whether the hash matches; damage is reported and
 * does not fail the command. Returns the exit status. */
int mv_chunks_list(mv_cli *cli);

#endif
