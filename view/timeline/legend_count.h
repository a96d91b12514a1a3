/* The groups that a legend has rows for: every one (view/frame/colour_groups.h) that has a
 * pixel in the window, or bytes at the moment that the legend tells about, or at the highest moment
 * of the window. Added up a part in each frame, so that no frame waits. */
#ifndef MV_LEGEND_COUNT_H
#define MV_LEGEND_COUNT_H

#include "base/plain.h"
#include "view/frame/colour_groups.h"
#include "viz/core/tiles.h"

enum { MV_LEGEND_MOST = 40 }; /* rows */

/* The bit of the group for what did not fit into the table: never a row of its own. */
#define MV_GROUP_REST ((uint64_t)1 << 50)

typedef struct {
    uint64_t key;        /* of the group */
    uint64_t bytes;      /* alive at the moment */
    uint64_t high_bytes; /* alive at the highest moment of the window */
    uint32_t blocks;     /* alive at the moment */
    uint32_t alloc;      /* one of them */
    bool is_used;        /* the place in the table is taken */
    bool is_seen;        /* it has a pixel */
    bool is_rest;        /* never a row of its own: no room in the table, or no colour of its own */
    const char *label;   /* of the first groups; NULL: not made */
} mv_legend_group;

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    uint64_t colours; /* mv_view_colour_key */
    uint64_t only;    /* identifies the rows that are drawn */
    uint64_t tiles;   /* identifies what is in the window; 0: only moments count */
    const mv_document_device *device;
    size_t search;  /* identifies the hits; 0: there are none */
    uint32_t event; /* the moment */
    uint32_t high;  /* the highest moment of the window; else `event` */
} mv_legend_ask;
MV_PLAIN_END

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
} mv_legend_sum;

typedef struct {
    mv_legend_ask ask;
    /* progress */
    uint8_t part;
    uint32_t next;  /* rank, or tile */
    uint32_t count; /* groups */
    uint32_t named; /* the first of them, which may have a row of their own */
    mv_legend_group
        *groups;          /* a hash table while counting; then [count], the most important first */
    mv_legend_sum all;    /* of all groups, at the moment */
    mv_legend_sum hits;   /* part of it */
    mv_legend_sum hidden; /* alive at the moment, and not drawn */
    uint32_t rest;        /* the colour of groups without a row of their own; 0: each has its own */
    bool is_done;
    mv_arena labels;
} mv_legend;

/* One row as shown. */
typedef struct {
    uint64_t key; /* of a group */
    bool is_others;
    bool is_all_leaks; /* leaks of several lines or stacks */
    uint32_t groups;   /* this many are in it */
    uint32_t colour;   /* 0: none */
    uint64_t bytes;
    uint32_t blocks;
    const char *label;
} mv_legend_row;

typedef struct {
    const mv_document_device *device;
    uint64_t colours;
    uint32_t count;
    mv_legend_row row[MV_LEGEND_MOST];
} mv_legend_rows;

/* What is counted from. */
typedef struct {
    mv_colouring colouring;
    const mv_index *index;
    const uint64_t *only;          /* a bit a rank: the rows that are drawn; NULL: all */
    const mv_filter_bits *matches; /* NULL: there is no search */
    const mv_tile_frame *tiles;    /* of this frame; NULL: none */
    const uint32_t *seen;          /* [seen_count] ranks that have a pixel besides; NULL: none */
    const uint32_t *spikes;        /* [spike_count] likewise; MV_NO_ROW: none */
    uint32_t seen_count, spike_count;
    uint32_t rest; /* the colour of all groups that are not seen; 0: each has its own */
} mv_legend_source;

/* Begins anew; `arena` keeps the table. False when memory is out. */
bool mv_legend_begin(mv_legend *legend, mv_arena *arena, const mv_legend_ask *ask);

/* Counts on, `most` allocations at most; true when it is done. */
bool mv_legend_count(mv_legend *legend, mv_arena *arena, const mv_legend_source *from,
                     uint32_t most);

/* At most `most` rows, as they are shown: leaks first, then most bytes first, then what has none;
 * steps in their own order. What has no row of its own is in the last one. */
void mv_legend_choose(const mv_legend *legend, const mv_colouring *colouring, const mv_theme *theme,
                      mv_scene *scene, uint32_t most, mv_legend_rows *out);

/* The search for a row. False: there is none. */
bool mv_legend_words(const mv_legend_rows *rows, const mv_colouring *colouring, uint32_t row,
                     char out[MV_SEARCH_TEXT]);

void mv_legend_release(mv_legend *legend);

#endif
