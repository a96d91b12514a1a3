/* The moment that --at names: finding it, printing it, and its fields in a report. */
#ifndef MV_MOMENT_OPTION_H
#define MV_MOMENT_OPTION_H

#include "cli/report/table.h"

/* The moment of one device, within --from and --to: the one that --at names, or `otherwise`
 * ("peak") without --at. False, with a message, if there is no such moment or memory runs out. */
bool mv_at_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const char *otherwise,
                mv_moment *out);

/* The same in a file other than the first; messages name that file. */
bool mv_at_find_in(mv_cli *cli, const char *file, const mv_trace *trace, const mv_lives *lives,
                   const char *otherwise, mv_moment *out);

/* Whether --at names an event (by number, or as an out-of-memory event) that this device does not
 * have, but another device does. Then a report on several devices skips this one. */
bool mv_at_is_elsewhere(const mv_cli *cli, const mv_trace *trace, uint32_t device);

/* Whether --at names a peak, as it does by default. If so, reserved memory is reported at its own
 * peak. */
bool mv_at_is_peak(const mv_cli *cli);

/* The moment of --at, in words: "the peak", "the end", else its text. */
const char *mv_at_words(const mv_cli *cli);

/* "before the first event", "event 812", "event 812 (1.234 s)". */
#define MV_AT_TEXT 64
const char *mv_at_text(char text[MV_AT_TEXT], const mv_trace *trace, const mv_moment *moment);

/* Its fields, as members of `object` ("at."), for the fields of a report. */
#define MV_AT_FIELDS(MEMBER, object, moment)                   \
    MEMBER(object "event", mv_value_event((moment)->event))    \
    MEMBER(object "time_us", mv_value_time((moment)->time_us)) \
    MEMBER(object "allocated", (moment)->bytes.allocated)      \
    MEMBER(object "requested", (moment)->bytes.requested)      \
    MEMBER(object "reserved", (moment)->bytes.reserved)        \
    MEMBER(object "active", (moment)->bytes.active)

#endif
