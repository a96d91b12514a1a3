/* Groups of allocations with the same colour: the rows of a legend.
 *
 *     allocation ──mv_colour_group──► group ──┬─► colour    of its pixels and of its row
 *                                             ├─► label     for the reader
 *                                             └─► words     of the search for exactly this group
 *
 * The colour, label and search of a row cannot disagree, since all three are computed from the
 * row's group. Leaks form a separate group in every colouring. When colouring by line or by stack,
 * each leak is a group. */
#pragma once

#include "view/frame/view.h"

/* The bits below these contain the row of a line (mv_site_colours), stack, category, stream or
 * pool, or the number of a step. */
#define MV_GROUP_LEAK      ((uint64_t)1 << 40)
#define MV_GROUP_NO_STACK  ((uint64_t)1 << 41)
#define MV_GROUP_NO_PYTHON ((uint64_t)1 << 42)
#define MV_GROUP_UNKNOWN   ((uint64_t)1 << 43) /* missing from the file, or not known yet */

enum { MV_GROUP_LABEL = 256, MV_COLOUR_STEPS = 6 };

/* How a device is coloured. The pointers are borrowed from the view. */
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    const mv_lives *lives; /* the rows to colour: the device's allocations, or its segments as
                              allocations, which can only be coloured by line of code */
    uint8_t mode;          /* mv_colour_mode */
    bool is_evaluated;
} mv_colouring;

/* Returns the colouring of the shown device, which must be ready. */
mv_colouring mv_colouring_of(const mv_view *view);

uint64_t mv_colour_group(const mv_colouring *c, uint32_t alloc);
uint32_t mv_group_colour(const mv_colouring *c, const mv_theme *theme, uint64_t group);

/* Whether allocations are coloured by line of code or by stack. Labels of these groups must be made
 * distinct (analyze/code/labels.h). */
static inline bool mv_colouring_is_by_code(const mv_colouring *c)
{
    return c->mode == MV_COLOUR_SITE || c->mode == MV_COLOUR_STACK;
}

/* Returns the number of steps when colouring by size or lifetime, otherwise 0. Steps have a fixed
 * order. */
uint32_t mv_colouring_steps(const mv_colouring *c);

/* Writes the label of a group, such as "64 KiB to 1 MiB", "activation" or "stream 0x7f12". For
 * code, it is the label of the line, which several groups may share. Returns `out`. */
const char *mv_group_label(const mv_colouring *c, uint64_t group, char out[MV_GROUP_LABEL]);

/* Writes the search (analyze/filter/filter.h) that matches exactly the group's allocations. Returns
 * false if there is no such search, or if it does not fit. */
bool mv_group_words(const mv_colouring *c, uint64_t group, char *out, size_t size);

/* Writes the search that matches everything outside these groups. If the groups include one leak,
 * they must include all leaks. */
bool mv_group_words_of_others(const mv_colouring *c, const uint64_t *groups, uint32_t count,
                              char *out, size_t size);

/* Write "stream 0x7f12" or "default stream", and "pool (1, 0)" or "default pool". Both return
 * `out`. */
const char *mv_stream_label(const mv_trace *trace, mv_stream_id stream, char out[MV_GROUP_LABEL]);
const char *mv_pool_label(const mv_trace *trace, mv_pool_id pool, char out[MV_GROUP_LABEL]);
