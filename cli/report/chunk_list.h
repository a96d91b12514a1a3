/* The chunks of a memviz container, as they stand in the file: for people debugging files. */
#ifndef MV_CHUNK_LIST_H
#define MV_CHUNK_LIST_H

#include "cli/commands.h"

/* One line for the header, each chunk, each stretch that is none, and the footer, in file order
 * and without use of the index; whether each hash holds is said, and damage is no failure.
 * Returns the exit status. */
int mv_chunks_list(mv_cli *cli);

#endif
