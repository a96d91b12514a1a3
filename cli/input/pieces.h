/* Passes the events of the command's first file to an analysis, piece by piece (parse/pieces.h), if
 * the command reads pieces. A file that was read as a whole is a single piece. Several pieces are
 * read at the same time, and their lives found, within the memory limit. */
#pragma once

#include "analyze/lives/lives_join.h"
#include "base/bitmap.h"
#include "cli/commands.h"

/* Adds a piece to an analysis. `piece` and `lives` are released after the call. */
typedef mv_code mv_add_piece_fn(void *user, const mv_trace *piece, const mv_lives *lives,
                                mv_err *err);

/* Calls `add` for each of a device's pieces, in order. Stops at the first failure. */
mv_code mv_input_each_piece(mv_cli *cli, const mv_trace *trace, uint32_t device,
                            mv_add_piece_fn *add, void *user, mv_err *err);

/* Finds the lives of a whole device from its pieces (analyze/lives/lives_join.h). Fails with
 * MV_CORRUPT if the file must be read as a whole. */
mv_code mv_input_join_pieces(mv_cli *cli, const mv_trace *trace, uint32_t device,
                             mv_lives_kept kept, mv_lives *out, mv_err *err);

/* Reads the kept events of a device, with all columns, into `arena`; a mv_read_kept_fn whose user is
 * an mv_cli. */
mv_code mv_input_read_kept(void *cli, mv_arena *arena, uint32_t device, const mv_bitmap *kept,
                           mv_events *out, mv_err *err);

/* Fails with MV_CORRUPT, because the pieces are not sufficient and the command must run again on
 * the whole file. */
mv_code mv_input_needs_whole(mv_cli *cli, mv_err *err);

/* Returns the exit status for a command whose analysis failed. Prints a message, unless the command
 * will run again on the whole file. */
int mv_input_failed(const mv_cli *cli, const mv_err *err);
