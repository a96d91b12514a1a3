/* The stack of a plot on paper: shapes with texts for the pointer, in place of the window's tiles.
 *
 *     stack_shapes.c    which rows, and where they are (viz/pictures/layout.h); the order of
 * painting stack_outline.c   elements as polygons and rectangles, and what they are
 *     stack_fullness.c  segments by how full they are
 *
 * A column of the layout is a pixel of the plot, and shows the instant at which the plot's curves
 * have their highest level in it; so the stack ends where the outline is. */
#ifndef MV_STACK_SHAPES_H
#define MV_STACK_SHAPES_H

#include "view/timeline/plot.h"
#include "viz/pictures/layout.h"

/* Rows with one group of colours (view/frame/colour_groups.h). */
typedef struct {
    uint64_t group;
    uint32_t row;    /* the first of them */
    bool is_lighter; /* the next shape: neighbours differ */
    bool is_seen;    /* it has a shape */
} mv_stack_site;

typedef struct {
    mv_plot *plot;
    mv_arena scratch;
    const mv_lives *lives; /* of the rows that are drawn one by one */
    const uint32_t *rank;  /* [rows] their ranks in plot->index; NULL: the same */
    mv_colouring colouring;
    uint32_t *site_of; /* [rows] rows of `sites` */
    mv_stack_site *sites;
    uint32_t site_count;
    uint32_t *seen;    /* plot->seen, once there is one */
    uint64_t *covered; /* [columns] bytes with a shape */
    uint32_t largest;  /* rows one by one, if the others are a band; 0: all */
    mv_layout layout;
} mv_stack;

static inline uint32_t mv_stack_rank(const mv_stack *s, uint32_t row)
{
    return s->rank ? s->rank[row] : row;
}

/* The x of a column's left edge. A heap without events is one column, drawn as a bar. */
float mv_stack_x(const mv_stack *s, uint32_t column);

/* The y of a number of bytes, in tenths of a pixel: a smaller step is not a corner. */
float mv_stack_y(const mv_stack *s, uint64_t bytes);

/* An element has a shape: its group belongs into the legend. */
void mv_stack_see(mv_stack *s, const mv_element *e);

/* The colour of the window. */
uint32_t mv_stack_colour(const mv_stack *s, const mv_stack_site *site);

/* What an element is: a text for the pointer, within the budget; NULL: there is no room. */
const char *mv_stack_text(mv_stack *s, const mv_element *e);
const char *mv_stack_take(mv_stack *s, const char *text);

/* The area below levels of the columns. */
void mv_stack_area(mv_stack *s, const uint64_t *levels, mv_shape shape);

/* The outline of an element that is large enough for one. */
void mv_stack_edges(mv_stack *s, const mv_element *e);

/* False when memory is out. They add to the sheet's `drawn`. */
bool mv_stack_paint_outlines(mv_stack *s);
bool mv_stack_paint_fullness(mv_stack *s);

#endif
