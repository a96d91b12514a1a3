/* The allocator's state as shapes in a box, both for the viewer's pane and for pictures.
 *
 *     large pool, default stream · 60.0 MiB in 3 segments: ...
 *     ┌──────────┬────┬▼───────┐┌──────────     a frame and a marker above: the block of the event
 *     │ a        │ b  ┃ c      ┃│ d             colour and label come from the caller
 *     └──────────┴────┴────────┘└──────────
 *
 * Hatched memory is freed, but a stream may still use it. A dark edge is memory lost to rounding,
 * and an empty box is free memory. Grey bars are pieces that are too small to show separately;
 * their height shows how full they are. */
#pragma once

#include "viz/pictures/state_place.h"
#include "viz/scene/palette.h"

/* What a mark on a range of addresses means. */
typedef enum {
    MV_STATE_HOVER,  /* a thin frame: the range is under the pointer */
    MV_STATE_PINNED, /* a thick frame */
    MV_STATE_EVENT,  /* a thick frame and a marker above: the range that the event changed */
    MV_STATE_GONE    /* a dashed frame and a marker: the range as it was before the event */
} mv_state_mark_kind;

typedef struct {
    uint64_t addr, bytes; /* the marked range; 0 bytes: there is no mark */
    mv_state_mark_kind kind;
} mv_state_mark;

enum { MV_STATE_MARKS = 4 };

/* The symbols that occur in a scene, for its key. */
typedef struct {
    bool rest, pending, rounding, event, gone, pinned;
    uint32_t drawn; /* number of pieces that are drawn as separate boxes */
} mv_state_seen;

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_heap_map *map;
    uint32_t event; /* the event after which the state is shown; MV_BEFORE: before the first
                     * event */
    bool by_address;
    mv_state_place place;
    const mv_theme *theme;
    mv_scene *scene;
    mv_state_mark marks[MV_STATE_MARKS];

    void *user; /* argument that is passed to the functions below */
    /* Returns the fill of a block. Sets *is_named if the block may have a label. */
    uint32_t (*colour)(void *user, uint32_t alloc, bool *is_named);
    /* Returns the line of code that allocated a block; valid until the next call. */
    const char *(*label)(void *user, uint32_t alloc);
    /* Returns the tooltip of a box, for pictures in which each box has a tooltip; NULL: none. */
    const char *(*title)(void *user, const mv_state_box *box);

    mv_state_seen seen; /* set when the scene is painted */
} mv_state_scene;

/* Paints the groups, their segments and blocks, and the marks. */
void mv_state_scene_paint(mv_state_scene *s);

/* Explains the symbols that occur, as lines of text with swatches between `y` and `bottom`. Returns
 * the y below the last line. */
float mv_state_scene_key(mv_state_scene *s, float x, float y, float width, float bottom);

/* Returns a description of a box in several lines: its bytes and the line of code that allocated
 * them, the requested bytes, its age, and its address. The string is in the scene's arena. */
const char *mv_state_scene_describe(const mv_state_scene *s, const mv_state_box *box);

/* Returns a name for the memory of a level without allocator pools, such as "memory from calls of
 * CUDA"; NULL: the level has pools. */
const char *mv_state_level_name(mv_scene *scene, const mv_trace *trace);

/* Returns the segment of the map that contains this byte; MV_NO_ROW: none. */
uint32_t mv_state_segment_at(const mv_heap_map *map, uint64_t addr);

/* Returns the size of the free piece that begins at an address; 0: no free piece begins there. */
uint64_t mv_state_hole_at(const mv_heap_map *map, uint64_t addr);

/* Returns "642 MiB reserved = 125 MiB allocated + 221 MiB stranded in used segments + 296 MiB in
 * unused segments", as in the fragmentation report. Parts that are zero are left out. `whole` is
 * mv_state.whole. */
const char *mv_state_sums_text(mv_scene *scene, const mv_trace *trace, const mv_heap_sums *sums,
                               uint64_t whole);

/* Returns "516 MiB is free: the largest hole has 20.3 MiB, 96 % is in smaller holes · 6.59 MiB is
 * lost to rounding"; "" if nothing is reserved, or on a level of calls. */
const char *mv_state_holes_text(mv_scene *scene, const mv_trace *trace, const mv_lives *lives,
                                const mv_heap_sums *sums, uint64_t largest);
