/* Counts the groups in a legend: every group (view/frame/colour_groups.h) with a pixel in the
 * window, or with bytes at the legend's moment or at the window's highest moment. Each frame adds a
 * part, so that no frame waits. */
#ifndef MV_LEGEND_COUNT_H
#define MV_LEGEND_COUNT_H

#include "base/plain.h"
#include "view/frame/colour_groups.h"
#include "viz/core/tiles.h"

enum { MV_LEGEND_MOST = 40 }; /* rows */

/* The bit of the group for everything that does not fit the table: it never has a row. */
#define MV_GROUP_REST ((uint64_t)1 << 50)

typedef struct {
    uint64_t key;        /* of the group */
    uint64_t bytes;      /* alive at the legend's moment */
    uint64_t high_bytes; /* alive at the highest moment of the window */
    uint32_t blocks;     /* alive at the legend's moment */
    uint32_t alloc;      /* one of them */
    bool is_used;        /* the slot in the table is used */
    bool is_seen;        /* it has a pixel */
    bool is_rest;        /* never a separate row: no room in the table, or no colour */
    const char *label;   /* for the first groups; NULL: not made */
} mv_legend_group;

/* Compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    uint64_t colours; /* mv_view_colour_key */
    uint64_t only;    /* identifies the drawn rows */
    uint64_t tiles;   /* identifies the content of the window; 0: only moments count */
    const mv_document_device *device;
    size_t search;  /* identifies the hits; 0: no search */
    uint32_t event; /* the legend's moment */
    uint32_t high;  /* the highest moment of the window; otherwise `event` */
} mv_legend_query;
MV_PLAIN_END

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
} mv_legend_sum;

typedef struct {
    mv_legend_query ask;
    /* progress */
    uint8_t part;
    uint32_t next;           /* rank, or tile */
    uint32_t count;          /* groups */
    uint32_t named;          /* number of groups at the front that may have separate rows */
    mv_legend_group *groups; /* a hash table while counting; then [count], most important first */
    mv_legend_sum all;       /* sum of all groups, at the moment */
    mv_legend_sum hits;      /* part of `all` */
    mv_legend_sum hidden;    /* alive at the moment, but not drawn */
    uint32_t rest;           /* the colour of groups without a separate row; 0: each has its own */
    bool is_done;
    mv_arena labels;
} mv_legend;

/* One row as shown. */
typedef struct {
    uint64_t key; /* key of a group */
    bool is_others;
    bool is_all_leaks; /* leaks of several lines or stacks */
    uint32_t groups;   /* number of groups in the row */
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

/* The data to count. */
typedef struct {
    mv_colouring colouring;
    const mv_index *index;
    const uint64_t *only;          /* one bit for each rank: the drawn rows; NULL: all */
    const mv_filter_bits *matches; /* NULL: there is no search */
    const mv_tile_frame *tiles;    /* of this frame; NULL: none */
    const uint32_t *seen;          /* [seen_count] other ranks with a pixel; NULL: none */
    const uint32_t *spikes;        /* [spike_count] spikes; MV_NO_ROW: none */
    uint32_t seen_count, spike_count;
    uint32_t rest; /* the colour of all groups without a pixel; 0: each has its own */
} mv_legend_source;

/* Starts counting; `arena` keeps the table. False when out of memory. */
bool mv_legend_begin(mv_legend *legend, mv_arena *arena, const mv_legend_query *ask);

/* Continues counting, up to `most` allocations; true when finished. */
bool mv_legend_count(mv_legend *legend, mv_arena *arena, const mv_legend_source *from,
                     uint32_t most);

/* Up to `most` rows, as shown: leaks first, then most bytes first, then rows without bytes; steps
 * in their fixed order. The last row collects all groups without a separate row. */
void mv_legend_choose(const mv_legend *legend, const mv_colouring *colouring, const mv_theme *theme,
                      mv_scene *scene, uint32_t most, mv_legend_rows *out);

/* The search for a row. False: there is none. */
bool mv_legend_words(const mv_legend_rows *rows, const mv_colouring *colouring, uint32_t row,
                     char out[MV_SEARCH_TEXT]);

void mv_legend_release(mv_legend *legend);

#endif
