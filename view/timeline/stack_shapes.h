/* The stack of a plot on paper: shapes with tooltips, in place of the window's tiles.
 *
 *     stack_shapes.c    choice and layout (viz/pictures/layout.h) of rows; painting order
 *     stack_outline.c   elements as polygons and rectangles, and their descriptions
 *     stack_fullness.c  segments by how full they are
 *
 * A column of the layout is a pixel of the plot, and shows the instant of the curves' highest level
 * in it; so the top of the stack matches the outline. */
#ifndef MV_STACK_SHAPES_H
#define MV_STACK_SHAPES_H

#include "view/timeline/plot.h"
#include "viz/pictures/layout.h"

/* Rows with one group of colours (view/frame/colour_groups.h). */
typedef struct {
    uint64_t group;
    uint32_t row;    /* one of them */
    bool is_lighter; /* shade of the next shape: neighbours differ */
    bool is_seen;    /* it has a shape */
} mv_stack_site;

typedef struct {
    mv_plot *plot;
    mv_arena scratch;
    const mv_lives *lives; /* the rows drawn separately */
    const uint32_t *rank;  /* [rows] their ranks in plot->index; NULL: equal */
    mv_colouring colouring;
    uint32_t *site_of; /* [rows] rows of `sites` */
    mv_stack_site *sites;
    uint32_t site_count;
    uint32_t *seen;    /* becomes plot->seen */
    uint64_t *covered; /* [columns] bytes with a shape */
    uint32_t largest;  /* number of rows drawn separately, if the others are a band; 0: all */
    mv_layout layout;
} mv_stack;

static inline uint32_t mv_stack_rank(const mv_stack *s, uint32_t row)
{
    return s->rank ? s->rank[row] : row;
}

/* The x of a column's left edge. A heap without events is one column, drawn as a bar. */
float mv_stack_x(const mv_stack *s, uint32_t column);

/* The y of a number of bytes, in tenths of a pixel: smaller steps make no corner. */
float mv_stack_y(const mv_stack *s, uint64_t bytes);

/* Marks the group of an element with a shape, for the legend. */
void mv_stack_see(mv_stack *s, const mv_element *e);

/* The same colour as in the window. */
uint32_t mv_stack_colour(const mv_stack *s, const mv_stack_site *site);

/* The description of an element: a tooltip, within the budget; NULL: there is no room. */
const char *mv_stack_text(mv_stack *s, const mv_element *e);
const char *mv_stack_take(mv_stack *s, const char *text);

/* The area below the levels of the columns. */
void mv_stack_area(mv_stack *s, const uint64_t *levels, mv_shape shape);

/* The outline of an element that is large enough. */
void mv_stack_edges(mv_stack *s, const mv_element *e);

/* False when out of memory. They add to the sheet's `drawn`. */
bool mv_stack_paint_outlines(mv_stack *s);
bool mv_stack_paint_fullness(mv_stack *s);

#endif
