/* Folded stacks: what flame graph tools read. A line is frames, outermost first, joined by ';',
 * then a blank and a number of bytes.
 *
 *     main.py:9 <module>;main.py:4 step;linear.py:134 forward 4096 */
#ifndef MV_FOLDED_H
#define MV_FOLDED_H

#include "analyze/filter/filter.h"
#include "analyze/flame/flame.h"
#include "cli/commands.h"

/* The two commands that write flame graphs, but for what they are about. `kept` are the
 * allocations that --filter leaves; NULL: all. */
typedef mv_code (*mv_folded_find)(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                  uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                                  mv_flame *out, mv_err *err);

/* That of `memory`: what is allocated, by stack. */
mv_code mv_folded_memory(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                         mv_flame *out, mv_err *err);

/* What --filter and --top leave of it. `kept` is set, or NULL without a filter. */
mv_code mv_folded_flame(mv_arena *arena, mv_cli *cli, const mv_filter *filter, mv_folded_find find,
                        const mv_trace *trace, const mv_lives *lives, uint32_t event,
                        const mv_sites *sites, const mv_filter_bits **kept, mv_flame *out,
                        mv_err *err);

/* Reads the file, finds the flame of each device at the moment of --at (`end` where it is not
 * given), writes it to -o as a whole or not at all, and reports. Where -o names a picture it is
 * drawn (cli/report/flame_picture.h). Returns the exit status. */
int mv_folded_run(mv_cli *cli, mv_folded_find find);

#endif
