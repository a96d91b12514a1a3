/* Counts the groups for a legend: every group (view/frame/colour_groups.h) that has a pixel in the
 * window, or bytes at the legend's moment or at the window's highest moment. Each frame counts a
 * part of them, so that no frame has to wait. */
#pragma once

#include "base/plain.h"
#include "view/frame/colour_groups.h"
#include "viz/core/tiles.h"

enum { MV_LEGEND_MOST = 40 }; /* maximum number of rows in a legend */

/* The group of everything that does not fit into the table. It never has a row. */
#define MV_GROUP_REST ((uint64_t)1 << 50)

typedef struct {
    uint64_t key;        /* key of the group */
    uint64_t bytes;      /* bytes alive at the legend's moment */
    uint64_t high_bytes; /* bytes alive at the highest moment of the window */
    uint32_t blocks;     /* number of blocks alive at the legend's moment */
    uint32_t alloc;      /* an allocation of the group */
    bool is_used;        /* this slot of the hash table is used */
    bool is_seen;        /* the group has a pixel */
    bool is_rest;        /* the group never has a separate row, because there is no room in the
                            table, or no colour for it */
    const char *label;   /* label of one of the first groups; NULL: not made */
} mv_legend_group;

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    uint64_t colours; /* mv_view_colour_key */
    uint64_t only;    /* identifies the rows that are drawn */
    uint64_t tiles;   /* identifies the content of the window; 0: only the two moments count */
    const mv_document_device *device;
    size_t search;  /* identifies the hits; 0: there is no search */
    uint32_t event; /* the event of the legend's moment */
    uint32_t high;  /* the highest moment of the window, or `event` */
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
    uint32_t next;           /* rank or tile to count next */
    uint32_t count;          /* number of groups */
    uint32_t named;          /* number of groups at the front that may have rows */
    mv_legend_group *groups; /* a hash table while counting; afterwards [count] groups, most
                                important first */
    mv_legend_sum all;       /* sum of all groups at the legend's moment */
    mv_legend_sum hits;      /* the part of `all` that the search matches */
    mv_legend_sum hidden;    /* number of bytes that are alive at the legend's moment but not
                              * drawn */
    uint32_t rest;           /* colour of all groups without a separate row; 0: each has its own
                                colour */
    bool is_done;
    mv_arena labels;
} mv_legend;

/* One row as it is shown. */
typedef struct {
    uint64_t key; /* key of a group */
    bool is_others;
    bool is_all_leaks; /* the row stands for leaks of several lines or stacks */
    uint32_t groups;   /* number of groups in the row */
    uint32_t colour;   /* colour of the row's swatch; 0: there is none */
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

/* What to count. */
typedef struct {
    mv_colouring colouring;
    const mv_index *index;
    const uint64_t *only;          /* one bit for each rank, set if the row is drawn; NULL: all rows
                                      are */
    const mv_filter_bits *matches; /* matches of the search; NULL: there is no search */
    const mv_tile_frame *tiles;    /* tiles of this frame; NULL: none */
    const uint32_t *seen;          /* [seen_count] other ranks that have a pixel; NULL: none */
    const uint32_t *spikes;        /* [spike_count] ranks of the spikes; MV_NO_ROW: none */
    uint32_t seen_count, spike_count;
    uint32_t rest; /* colour of all groups without a pixel; 0: each has its own colour */
} mv_legend_source;

/* Starts counting. `arena` keeps the table. Returns false when out of memory. */
bool mv_legend_begin(mv_legend *legend, mv_arena *arena, const mv_legend_query *ask);

/* Counts up to `most` more allocations. Returns true when counting is finished. */
bool mv_legend_count(mv_legend *legend, mv_arena *arena, const mv_legend_source *from,
                     uint32_t most);

/* Chooses up to `most` rows in the order shown: leaks first, then the other rows with the most
 * bytes first, and rows without bytes last. Steps keep their fixed order. The last row stands for
 * all groups without a separate row. */
void mv_legend_choose(const mv_legend *legend, const mv_colouring *colouring, const mv_theme *theme,
                      mv_scene *scene, uint32_t most, mv_legend_rows *out);

/* Writes the search for a row. Returns false if there is none. */
bool mv_legend_words(const mv_legend_rows *rows, const mv_colouring *colouring, uint32_t row,
                     char out[MV_SEARCH_TEXT]);

void mv_legend_release(mv_legend *legend);
