/* The events of the command's first file, piece by piece (parse/pieces.h), if the command reads
 * pieces; a file that was read as a whole is one piece. Pieces are read, and their lives found, in
 * parallel, within the memory limit. */
#ifndef MV_INPUT_PIECES_H
#define MV_INPUT_PIECES_H

#include "analyze/lives/lives.h"
#include "cli/commands.h"

/* Adds a piece to an analysis. The lives belong to the piece; both are released afterwards. */
typedef mv_code mv_add_piece_fn(void *user, const mv_trace *piece, const mv_lives *lives,
                                mv_err *err);

/* Calls `add` for the pieces of a device in order; stops at a failure. */
mv_code mv_input_each_piece(mv_cli *cli, const mv_trace *trace, uint32_t device,
                            mv_add_piece_fn *add, void *user, mv_err *err);

/* Fails with MV_CORRUPT: the pieces do not suffice, and the command will run again. */
mv_code mv_input_needs_whole(mv_cli *cli, mv_err *err);

/* The status of a command whose analysis failed: with a message, unless it will run again on the
 * whole file. */
int mv_input_failed(const mv_cli *cli, const mv_err *err);

#endif
