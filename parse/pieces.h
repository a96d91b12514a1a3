/* A container in pieces, each of which is analyzed like a whole trace, so that a file needs no more
 * memory than its tables and one piece of its events.
 *
 *     events of the device    |  piece 0  |  piece 1  |     piece 2     |
 *                                         ^ LIVING: what is alive here
 *
 * A piece begins at the first event, or where the file says what is alive (parse/model/living.h). It
 * is a trace with the tables of the whole file, whose events are those that began what is alive, and
 * then those of the piece. Devices without such chunks, or that were in use before the first event,
 * have one piece, with all of their events. */
#ifndef MV_PIECES_H
#define MV_PIECES_H

#include "parse/model/living.h"

typedef struct mv_pieces mv_pieces;

/* Opens a file of which some device has several pieces. `trace` is as read with
 * mv_read_opts.digest_suffices, until the file is closed. NULL for any other file, which is to be
 * read as a whole, and when memory is out: then trace is meaningless. */
mv_pieces *mv_pieces_open(mv_arena *arena, const char *path, mv_trace *trace);
void mv_pieces_close(mv_pieces *pieces); /* NULL is allowed */

/* At least 1; and the most events of a piece, with those before it. */
uint32_t mv_pieces_count(const mv_pieces *pieces, uint32_t device);
uint64_t mv_pieces_most(const mv_pieces *pieces, uint32_t device);

/* Reads a piece into `arena`; threads may do so at the same time, with arenas of their own. Events
 * of other devices are left out. Fails with MV_CORRUPT when a chunk is damaged: read the whole
 * file. */
mv_code mv_pieces_read(mv_pieces *pieces, mv_arena *arena, uint32_t device, uint32_t nth,
                       mv_trace *out, mv_err *err);

#endif
