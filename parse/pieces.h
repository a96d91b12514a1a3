/* Reads a container in pieces, each of which is analyzed like a whole trace, so that reading a file
 * takes no more memory than its tables and one piece of its events.
 *
 *     events of the device    |  piece 0  |  piece 1  |     piece 2     |
 *                                         ^ LIVING: blocks alive here
 *
 * A piece begins at the first event, or at a LIVING chunk (parse/model/living.h). Each piece is a
 * trace with the tables of the whole file; its events are the live rows, followed by the events of
 * the piece. Devices without LIVING chunks, and devices that were in use before the first event,
 * have one piece with all of their events. */
#pragma once

#include "parse/model/living.h"

typedef struct mv_pieces mv_pieces;

/* Opens a file in which at least one device has several pieces. Fills `trace` as reading with
 * mv_read_opts.digest_suffices does; it is valid until the file is closed. Returns NULL, with a
 * meaningless `trace`, when out of memory and for any other file, which must be read as a whole. */
mv_pieces *mv_pieces_open(mv_arena *arena, const char *path, mv_trace *trace);
void mv_pieces_close(mv_pieces *pieces); /* `pieces` may be NULL */

/* Returns the arena of the tables, for data that is released when the file is closed. */
mv_arena *mv_pieces_arena(mv_pieces *pieces);

/* Return the number of pieces, which is at least 1, and the largest number of events in a piece,
 * including its live rows. */
uint32_t mv_pieces_count(const mv_pieces *pieces, uint32_t device);
uint64_t mv_pieces_most(const mv_pieces *pieces, uint32_t device);

/* Leaves out event columns when pieces are read, which takes less time. `columns` is the set of the
 * columns that the caller needs (MV_EVENT_addr). In all other columns, each event has the absent
 * value, even if the file contains another; these columns belong to `pieces`. Hashes are checked for
 * all columns, but columns that are left out are not decoded, so a wrong value with a correct hash is
 * not found. May be called whenever no piece is being read. A column whose absent values find no
 * memory is read. `pieces` may be NULL. */
void mv_pieces_need(mv_pieces *pieces, uint32_t columns);

/* Reads the time of an event, even if times are left out. Fails with MV_CORRUPT if that is not
 * possible; the caller must then read the whole file instead. */
mv_code mv_pieces_time(mv_pieces *pieces, uint32_t device, uint32_t event, int64_t *time_us,
                       mv_err *err);

/* Reads a piece into `arena`. Threads with separate arenas may do so at the same time. Events of
 * other devices are left out. Fails with MV_CORRUPT if a chunk is damaged; the caller must then read
 * the whole file instead. */
mv_code mv_pieces_read(mv_pieces *pieces, mv_arena *arena, uint32_t device, uint32_t nth,
                       mv_trace *out, mv_err *err);
