/* The stack of a printed plot: shapes with tooltips, in place of the tiles that the window uses.
 *
 *     stack_shapes.c    chooses and lays out the rows (viz/pictures/layout.h); painting order
 *     stack_outline.c   turns elements into polygons and rectangles, and describes them
 *     stack_fullness.c  segments coloured by how full they are
 *
 * A column of the layout is a pixel of the plot. It shows the instant at which the curves are
 * highest within the column, so the top of the stack matches the outline. */
#pragma once

#include "view/timeline/plot.h"
#include "viz/pictures/layout.h"

/* The rows of one colour group (view/frame/colour_groups.h). */
typedef struct {
    uint64_t group;
    uint32_t row;    /* one of the rows */
    bool is_lighter; /* the next shape is drawn in the lighter shade, so that neighbours differ */
    bool is_seen;    /* the group has a shape */
} mv_stack_site;

typedef struct {
    mv_plot *plot;
    mv_arena scratch;
    const mv_lives *lives; /* the rows that are drawn separately */
    const uint32_t *rank;  /* [rows] their ranks in plot->index; NULL: each rank equals its row */
    mv_colouring colouring;
    uint32_t *site_of; /* [rows] the index in `sites` of each row */
    mv_stack_site *sites;
    uint32_t site_count;
    uint32_t *seen;    /* ranks with a shape; it becomes plot->seen */
    uint64_t *covered; /* [columns] number of bytes that have a shape */
    uint32_t largest;  /* number of rows that are drawn separately while the others form a band; 0:
                          all rows are drawn separately */
    mv_layout layout;
} mv_stack;

static inline uint32_t mv_stack_rank(const mv_stack *s, uint32_t row)
{
    return s->rank ? s->rank[row] : row;
}

/* Returns the x of a column's left edge. A heap without events is one column, which is drawn as a
 * bar. */
float mv_stack_x(const mv_stack *s, uint32_t column);

/* Returns the y of a number of bytes, in steps of a tenth of a pixel. Smaller changes in height do
 * not make a corner. */
float mv_stack_y(const mv_stack *s, uint64_t bytes);

/* Records that the group of an element has a shape, for the legend. */
void mv_stack_see(mv_stack *s, const mv_element *e);

/* Returns the colour of a group, which is the same as in the window. */
uint32_t mv_stack_colour(const mv_stack *s, const mv_stack_site *site);

/* Return the tooltip that describes an element; NULL if it does not fit in the budget for
 * tooltips. */
const char *mv_stack_text(mv_stack *s, const mv_element *e);
const char *mv_stack_take(mv_stack *s, const char *text);

/* Paints the area below the levels of the columns. */
void mv_stack_area(mv_stack *s, const uint64_t *levels, mv_shape shape);

/* Paints the outline of an element if the element is large enough. */
void mv_stack_edges(mv_stack *s, const mv_element *e);

/* Paint the shapes, and add their number to the sheet's `drawn`. Return false when out of
 * memory. */
bool mv_stack_paint_outlines(mv_stack *s);
bool mv_stack_paint_fullness(mv_stack *s);
