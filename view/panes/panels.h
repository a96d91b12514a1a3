/* The panes next to the timeline. This header declares the data that they keep between frames, and
 * the queries that workers run for them. Only the files of these panes include this header.
 *
 *     pane_state.c      segments with their blocks, at the cursor      heap_moment, state
 *     pane_flame.c      flame graph                                    flames
 *     pane_tables.c     tables                                         tables
 *     pane_details.c    one allocation, segment or event               allocation_history,
 *                                                                      event_words
 *     pane_reports.c    problems                                       advice/findings,
 *                                                                      finding_places
 *     pane_whatif.c     other settings and changes, replayed           document/whatif_replay
 *
 * A pane queries its slot in each frame. While a newer query is running, the pane shows the old
 * result, unless the old result belongs to another device. */
#pragma once

#include <pthread.h>

#include "analyze/events/event_words.h"
#include "base/plain.h"
#include "view/panes/allocation_history.h"
#include "view/panes/finding_places.h"
#include "view/panes/flames.h"
#include "view/panes/listing.h"
#include "view/panes/panes.h"
#include "viz/core/heap_moment.h"
#include "viz/pictures/icicle.h"
#include "viz/pictures/state_scene.h"

/* The beginning of data about one or two devices that several jobs use. The first job that needs
 * the data builds it, and other jobs that need it wait. */
typedef struct mv_shared mv_shared;
struct mv_shared {
    mv_shared *next;
    const mv_document_device *of[2]; /* the second may be NULL */
    mv_arena arena;
    bool is_made; /* the data was built; if false, memory ran out */
};

typedef struct {
    pthread_mutex_t lock;
    mv_shared *first;
} mv_shared_list;

/* Builds the data for the query `ask`. Returns false when out of memory. */
typedef bool mv_shared_fn(mv_arena *arena, const void *ask, void *out);

/* Returns the data about the devices, `size` bytes that begin with an mv_shared; NULL when out of
 * memory. */
const void *mv_shared_get(mv_panels *panels, mv_shared_list *list, const mv_document_device *device,
                          const mv_document_device *other, size_t size, mv_shared_fn *make,
                          const void *ask);

typedef struct {
    mv_shared shared;
    mv_index active; /* index that measures MV_INDEX_ACTIVE */
    mv_listing_size ever[MV_LISTING_SIZE_ROWS];
} mv_panel_facts;

/* The difference between the peaks of two devices. */
typedef struct {
    mv_shared shared;
    mv_diff_code code;
    mv_diff found;
} mv_panel_change;

/* ---- results: `ask` is the query, which the caller compares with the current query ------- */

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint32_t event;
    uint16_t by_address;
    uint16_t fill; /* mv_state_opts.rows */
    uint32_t columns, rows;
} mv_heap_query;
MV_PLAIN_END

typedef struct {
    mv_heap_query ask;
    mv_heap_moment heap;
    mv_state state;
} mv_heap_answer;

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint64_t focus; /* path of the node in focus; 0: the root */
    uint32_t source, by_blocks, is_inverted, has_all_frames;
    uint32_t event, a, b;
    uint32_t width; /* width in pixels */
    uint64_t is_evaluated;
    const mv_document *other; /* device to compare with, for MV_FLAMES_CHANGE */
    const mv_document_device *other_device;
    char only[MV_SEARCH_TEXT]; /* a search, of which only the hits are counted; "": everything is
                                  counted */
} mv_flames_question;
MV_PLAIN_END

typedef struct {
    mv_flames_question ask;
    mv_filter_bits only; /* the rows that ask.only selects */
    mv_flames flames;
    mv_levels level[2];    /* levels before and after, for MV_FLAMES_CHANGE */
    uint32_t focus;        /* node in focus */
    mv_icicle_boxes boxes; /* boxes, whose depths are relative to the node in focus */
    uint32_t levels;       /* number of levels that fit, for printed pictures */
} mv_flames_answer;

/* Returns the query for the device's allocations. */
mv_flames_query mv_flames_answer_query(const mv_flames_answer *answer);

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint32_t kind, is_evaluated, event, sort, is_ascending;
    uint32_t a, b, of_segments; /* LINES, CATEGORIES: the interval */
    char rows[MV_ROW_FILTER];   /* show only rows that contain this string; "": all rows */
    char only[MV_SEARCH_TEXT];  /* a search, of which only the hits are counted; "": everything is
                                   counted */
} mv_listing_question;
MV_PLAIN_END

typedef struct {
    mv_listing_question question;
    mv_filter_bits only; /* the rows that question.only selects */
    mv_listing_query ask;
    mv_listing table;
} mv_listing_answer;

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint64_t tries; /* 1: includes other settings */
} mv_findings_question;
MV_PLAIN_END

typedef struct {
    mv_findings_question ask;
    mv_findings findings;
    mv_finding_place *places; /* [findings.count] */
} mv_findings_answer;

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint32_t event;          /* event to describe; MV_NO_ROW: describe `alloc` or `segment`
                                instead */
    uint32_t alloc, segment; /* allocation and segment to describe, as rows of lives, or
                                MV_NO_ROW */
    uint32_t has_history;    /* whether to find the allocation's history */
} mv_explanation_question;
MV_PLAIN_END

typedef struct {
    mv_explanation_question ask;
    mv_event_explanation story;
    mv_allocation_history history; /* history of story.alloc, if it was requested and there is such
                                      an allocation */
} mv_explanation_answer;

/* A row of the reports: a finding on the shown device and level, or a verdict on another device or
 * level. */
typedef struct {
    uint32_t finding;    /* row of the findings; MV_NO_ROW: the row is a verdict, which the
                            following members describe */
    const char *level;   /* value of --level; NULL: the shown level */
    uint32_t device_row; /* row of the document's devices on the shown level; MV_NO_ROW: see
                          * `level` */
    const char *where;   /* name of the memory, such as "pinned memory" or "device 1" */
    mv_finding_kind kind;
    uint64_t bytes;
    const char *text;
} mv_report_row;

enum { MV_MOST_REPORTS = 128, MV_MOST_TICKS = 160 };

/* ---- pane data ------------------------------------------------------------------------------ */

enum { MV_MOST_FOLDS = 64 }; /* maximum number of unfolded stacks; Details shows up to 4 */

/* The pointer in the allocator's state, which clicks or drags the picture. */
typedef struct {
    bool is_pressed, is_moving;
    float x, y; /* where the button was pressed, and later the position of the last move */
} mv_heap_drag;

struct mv_panels {
    mv_view *view;
    mv_shared_list facts, changes, users, ideals; /* users take long to find, and ideals seconds */
    mv_slot *heap, *ideal, *flames, *table, *findings, *details, *cursor_explanation;

    mv_state_place heap_place; /* how heap_shown was placed when it was painted */
    mv_heap_drag heap_drag;
    mv_box heap_events; /* box of the list of events next to the allocator's state */
    bool fits_hole;     /* zoom the allocator's state to the hole as soon as it is laid out */

    uint32_t flame_first; /* number of the level at the top of the pane */
    uint32_t flame_room;  /* number of levels that fit */
    uint64_t flame_spot;  /* path of the box that has the keyboard focus; 0: the root */
    mv_filter filter;     /* filter parsed from filter_text, which selects matching boxes */
    mv_arena filter_arena;
    char filter_text[MV_SEARCH_TEXT];

    uint32_t table_first[MV_LISTING_COUNT];
    uint32_t table_cursor; /* the cursor's event when the list last scrolled to it */

    uint32_t details_first;
    mv_explanation_question details_of; /* the query that the scroll position in `details_first`
                                           belongs to */

    uint32_t report_first;
    const mv_document_device *report_of;
    uint32_t report_count;
    mv_report_row reports[MV_MOST_REPORTS]; /* rows in the last frame, whose strings stay valid
                                               until the next one */

    uint32_t whatif_first;
    uint32_t whatif_count;
    const char *whatif_items[MV_MOST_TICKS]; /* items in the last frame, whose strings stay valid
                                                until the next one */

    /* The results that were painted in the last frame. Each result is valid until the next frame
     * sends its query. */
    const mv_heap_answer *heap_shown;
    const mv_flames_answer *flames_shown;
    const mv_listing_answer *table_shown;
    const mv_findings_answer *findings_shown;
    const mv_explanation_answer *details_shown;
};

/* Called by workers. Return NULL when out of memory. */
const mv_panel_change *mv_panels_change(mv_panels *panels, const mv_flames_question *question);
const mv_panel_facts *mv_panels_facts(mv_panels *panels, const mv_document_device *device);

/* ---- for the panes ------------------------------------------------------------------------ */

/* Paints the boxes of a flame graph, and below them the key of their colours in a printed
 * picture. */
void mv_flame_paint_answer(mv_view *view, mv_box box, const mv_flames_answer *answer);

/* Returns the allocation that Details shows; MV_NO_ROW: Details shows a segment or an event. */
uint32_t mv_details_alloc(const mv_view *view);

/* Returns the kind of the table shown. The ledger has a separate tab. */
static inline uint32_t mv_tables_kind(const mv_view_state *now)
{
    return now->tab == MV_TAB_LEDGER ? MV_LISTING_LEDGER : now->table_kind;
}

/* Tables are sorted largest first by default, except for markers. */
static inline bool mv_tables_is_ascending(uint32_t kind, bool is_turned)
{
    return is_turned != (kind == MV_LISTING_MARKERS);
}

static inline bool mv_tables_is_turned(uint32_t kind, bool is_ascending)
{
    return is_ascending != (kind == MV_LISTING_MARKERS);
}

/* Finds the selected events [a, b), or if nothing is selected, the events that the timeline
 * shows. */
void mv_panels_interval(const mv_view *view, uint32_t *a, uint32_t *b);

/* Copies the search whose hits are isolated. Returns false, and "", if there is none. */
bool mv_panels_isolated(const mv_view *view, char only[MV_SEARCH_TEXT]);

/* Paints the reason why a pane has nothing to show, in the middle of the pane. */
void mv_panel_remark(mv_view *view, mv_box box, const char *text);

/* Finds the shown device and its document. If there is none yet, returns false and paints a line
 * that explains why. */
bool mv_panels_device(mv_view *view, mv_box box, const mv_document **document,
                      const mv_document_device **device);

/* Lines of text in a box that scrolls by whole lines, from top to bottom. A line is MV_UI_LINE
 * high, or less for small text. */
typedef struct {
    mv_view *view;
    mv_box box;
    float size;     /* size of the letters at scale 1; 0: MV_UI_TEXT */
    float y;        /* position of the next line */
    uint32_t first; /* number of lines that are scrolled off the top */
    uint32_t count; /* number of lines so far */
} mv_panel_lines;

/* Returns the box of the next line. It has no height if the line is not visible. */
mv_box mv_panel_line(mv_panel_lines *lines);

/* Paints text on at most `most` lines, broken at blanks. If there is more text, the last line is
 * cut. Returns the number of lines. */
uint32_t mv_panel_wrap(mv_panel_lines *lines, float left, float width, uint32_t colour,
                       uint32_t most, const char *text);

/* Places the buttons at the top of a pane in rows of height MV_PANEL_HEAD. Widths are in pixels at
 * scale 1, and the last box extends to the end of its row. Returns the number of rows. `out` may be
 * NULL. */
enum { MV_PANEL_HEAD = 22 };
uint32_t mv_panel_flow(const mv_view *view, mv_box pane, const float *widths, uint32_t count,
                       mv_box *out);

/* Returns the number of lines that fit into the box. */
uint32_t mv_panel_room(const mv_view *view, mv_box box);

/* Scrolls *first by three lines per notch of the wheel. Painting keeps *first in range. */
bool mv_panel_wheel(const mv_input *input, uint32_t *first);

/* Formats a string, which is valid for this frame. */
const char *mv_panel_say(mv_view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *mv_panel_size(mv_view *view, uint64_t bytes); /* returns a string such as "2.00 MiB" */

/* Returns a string such as "after event 8,407, 1.204 s". */
const char *mv_panel_moment(mv_view *view, uint32_t event);

/* Returns the story of the event before the cursor (analyze/events/event_words.h), which at first
 * lacks the next user of the address; NULL: there is no such event. Valid until the next frame. */
const mv_event_explanation *mv_panels_cursor_explanation(mv_view *view);

/* Returns the query for Details. It describes the pinned allocation or segment, or if nothing is
 * pinned, the one under the pointer. If nothing is under the pointer either, it describes the
 * cursor's event. */
mv_explanation_question mv_details_question(const mv_view *view);

/* Returns the part of the story that is available immediately, without the previous and next users
 * of the address. Returns NULL when out of memory. Valid for this frame. */
const mv_event_explanation *mv_panels_explain(mv_view *view,
                                              const mv_explanation_question *question);

/* Returns the complete story; NULL: it is not ready yet, or there is none. */
const mv_event_explanation *mv_details_explanation(mv_view *view);

mv_heap_query mv_state_question(const mv_view *view, mv_box box);

/* The ideal placement above the allocator's state. mv_state_ideal_height returns its height (0: it
 * is not shown), and mv_state_ideal_find is its job. */
float mv_state_ideal_height(const mv_view *view);
void mv_state_ideal_paint(mv_view *view, mv_box box);
void *mv_state_ideal_find(mv_arena *arena, void *panels, const void *ask);
uint32_t mv_state_ideal_query_bytes(void);
