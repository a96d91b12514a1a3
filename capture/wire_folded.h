/* The folded part of a bounded recording (docs/recorder.md), which the launcher writes next to the
 * live file, as LIVE.folded. It contains whatever is still needed from records that were removed
 * from the live file.
 *
 *     byte 0          mv_wire_header
 *     byte 65536      FACTS chunk as in a live file; its keys begin with "folded_"
 *     ...             FOLDED chunk
 *     ...             PLACES chunk
 *
 * Chunks have the format of a live file (wire_live.h), and are sealed. The whole file is replaced
 * by a rename before the records in it are removed from the live file, so the two files together
 * are complete at all times. Readers skip records of the live file up to number `through`.
 *
 * FOLDED contains records of EVENTS, of all threads, sorted by number: those that made the memory
 * that was still alive after number `through`, and those that opened ranges that were still open.
 * Missing numbers are not lost events, because their records were folded. In the mv_wire_chunk,
 * first_row is `through`, and table_rows is a position in the live file; all chunks at or after it
 * are read.
 *
 * PLACES contains the positions of earlier chunks that are read too (names, and chunks that are
 * still open), as 64-bit numbers in ascending order. */
#pragma once

#include "capture/wire_live.h"

#define MV_FOLDED_SUFFIX ".folded"

enum { MV_LIVE_FOLDED = 259, MV_LIVE_PLACES = 260 };

/* Facts:
 *     folded_max_size    the bound in bytes, as given by the user
 *     folded_max_age_us  the bound in microseconds, as given by the user
 *     folded_peak_D      largest number of bytes allocated at once on device D before
 *                        folded_until_us
 *     folded_curve_D     the same number in each of up to 64 spans of equal length:
 *                        "us:bytes us:bytes ...", with the end of each span
 *     folded_lines_D     allocations by line on device D before folded_until_us: "US SPAN",
 *                        the start and the length of the spans, and then for each line
 *                        ";ADDR COUNT BORN FREED LEAST LEAST...": the address of one of its blocks
 *                        in the folded part, the number of allocations, their bytes, the bytes
 *                        freed, and the smallest number of bytes that the line held in each span.
 *                        The last span is incomplete. The first entry, with ADDR 0, is for all
 *                        lines together; all other entries are the lines that have grown the most
 * and the facts below. */
#define MV_FACT_FOLDED       "folded_events"   /* number of removed events */
#define MV_FACT_FOLDED_UNTIL "folded_until_us" /* time of the last removed event, CLOCK_MONOTONIC */
#define MV_FACT_FOLDED_SINCE "folded_since_us" /* time of the first removed event */
#define MV_FACT_FOLDED_LINES "folded_lines_"   /* key, followed by a device's number D */
#define MV_FACT_FOLDED_BOUND "folded_bound"    /* bound reached last: "size" or "age" */
