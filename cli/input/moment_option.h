/* Finds the time that --at names, prints it, and reports its fields. */
#pragma once

#include "cli/report/table.h"

/* Finds the time that --at names on one device, within --from and --to. Without --at, finds
 * `otherwise` ("peak"). Returns false, with a message, if there is no such time or memory runs
 * out. */
bool mv_at_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const char *otherwise,
                mv_moment *out);

/* Like mv_at_find, but for a file other than the first. Messages name that file. */
bool mv_at_find_in(mv_cli *cli, const char *file, const mv_trace *trace, const mv_lives *lives,
                   const char *otherwise, mv_moment *out);

/* Whether --at names an event (by number, or as an out-of-memory event) that is not on this device
 * but on another one. A report on several devices then skips this device. */
bool mv_at_is_elsewhere(const mv_cli *cli, const mv_trace *trace, uint32_t device);

/* Whether --at names a peak, as it does by default. If so, reserved memory is reported at the peak
 * of reserved memory. */
bool mv_at_is_peak(const mv_cli *cli);

/* Describes the time that --at names: "the peak", "the end", or otherwise the argument itself. */
const char *mv_at_words(const mv_cli *cli);

/* Returns "before the first event", "event 812" or "event 812 (1.234 s)". */
#define MV_AT_TEXT 64
const char *mv_at_text(char text[MV_AT_TEXT], const mv_trace *trace, const mv_moment *moment);

/* The fields of an mv_moment, as members of `object` ("at."), for a report's list of fields. */
#define MV_AT_FIELDS(MEMBER, object, moment)                   \
    MEMBER(object "event", mv_value_event((moment)->event))    \
    MEMBER(object "time_us", mv_value_time((moment)->time_us)) \
    MEMBER(object "allocated", (moment)->bytes.allocated)      \
    MEMBER(object "requested", (moment)->bytes.requested)      \
    MEMBER(object "reserved", (moment)->bytes.reserved)        \
    MEMBER(object "active", (moment)->bytes.active)
