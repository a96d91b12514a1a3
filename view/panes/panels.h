/* The panes beside the timeline: their data between frames, and the queries that workers run for
 * them. Only the files of these panes include it.
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
 * A pane queries its slot each frame; while a newer query is running, it shows the old result,
 * unless that is about another device. */
#ifndef MV_PANELS_H
#define MV_PANELS_H

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

/* Data of a device for several jobs; built once, by the first job that needs it. */
typedef struct mv_panel_facts mv_panel_facts;
struct mv_panel_facts {
    mv_panel_facts *next;
    const mv_document_device *device;
    mv_arena arena;
    bool is_made;    /* false: out of memory */
    mv_index active; /* measures MV_INDEX_ACTIVE */
    mv_listing_size ever[MV_LISTING_SIZE_ROWS];
};

/* Previous and next users of a block's bytes, also built once. */
typedef struct mv_panel_users mv_panel_users;
struct mv_panel_users {
    mv_panel_users *next;
    const mv_document_device *device;
    mv_arena arena;
    bool is_made;
    mv_address_users users;
};

typedef struct mv_panel_ideal mv_panel_ideal; /* pane_state_ideal.c */

/* The difference between the peaks of two devices, also built once. */
typedef struct mv_panel_change mv_panel_change;
struct mv_panel_change {
    mv_panel_change *next;
    const mv_document_device *before, *after;
    mv_arena arena;
    bool is_made;
    mv_diff_code code;
    mv_diff found;
};

/* ---- results: `ask` is the query; the caller compares it with the current one ---------------- */

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint32_t event;
    uint32_t by_address;
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
    uint64_t focus; /* path of the focused node; 0: the root */
    uint32_t source, by_blocks, is_inverted, has_all_frames;
    uint32_t event, a, b;
    uint32_t width; /* pixels */
    uint64_t is_evaluated;
    const mv_document *other; /* for MV_FLAMES_CHANGE: the device compared with */
    const mv_document_device *other_device;
    char only[MV_SEARCH_TEXT]; /* a search: only its hits are counted; "": all */
} mv_flames_question;
MV_PLAIN_END

typedef struct {
    mv_flames_question ask;
    mv_filter_bits only; /* filter bits of ask.only */
    mv_flames flames;
    mv_levels level[2];    /* for MV_FLAMES_CHANGE: before and after */
    uint32_t focus;        /* node */
    mv_icicle_boxes boxes; /* depths are relative to the focus */
    uint32_t levels;       /* on paper: number of levels that fit */
} mv_flames_answer;

/* The query about the device's allocations. */
mv_flames_query mv_flames_answer_query(const mv_flames_answer *answer);

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint32_t kind, is_evaluated, event, sort, is_ascending;
    uint32_t a, b, of_segments; /* LINES, CATEGORIES */
    char rows[MV_ROW_FILTER];   /* only rows that contain it; "": all */
    char only[MV_SEARCH_TEXT];  /* a search: only its hits are counted; "": all */
} mv_listing_question;
MV_PLAIN_END

typedef struct {
    mv_listing_question question;
    mv_filter_bits only; /* filter bits of question.only */
    mv_listing_query ask;
    mv_listing table;
} mv_listing_answer;

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint64_t tries; /* 1: including other settings */
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
    uint32_t event;          /* the event to describe; MV_NO_ROW: one of the following instead */
    uint32_t alloc, segment; /* rows of lives, or MV_NO_ROW */
    uint32_t has_history;    /* includes the allocation's history */
} mv_explanation_question;
MV_PLAIN_END

typedef struct {
    mv_explanation_question ask;
    mv_event_explanation story;
    mv_allocation_history history; /* of story.alloc, if requested and there is one */
} mv_explanation_answer;

/* A row of the reports: a finding on the shown device and level, or a verdict about another. */
typedef struct {
    uint32_t finding;    /* row of findings, or MV_NO_ROW: */
    const char *level;   /* text of --level; NULL: the shown one */
    uint32_t device_row; /* row of the document's devices on the shown level; MV_NO_ROW: as on
                          * `level` */
    const char *where;   /* "pinned memory", "device 1" */
    mv_finding_kind kind;
    uint64_t bytes;
    const char *text;
} mv_report_row;

enum { MV_MOST_REPORTS = 128, MV_MOST_TICKS = 160 };

/* ---- pane data ------------------------------------------------------------------------------ */

enum { MV_MOST_FOLDS = 64 }; /* stacks that Details shows: up to 4 */

/* The pointer in the allocator's state: a click, or a drag of the picture. */
typedef struct {
    bool is_pressed, is_moving;
    float x, y; /* position of the press, then of the last move */
} mv_heap_drag;

struct mv_panels {
    mv_view *view;
    pthread_mutex_t lock;       /* guards `facts` and `changes` */
    pthread_mutex_t users_lock; /* guards `users`, which take the longest */
    mv_panel_facts *facts;
    mv_panel_change *changes;
    mv_panel_users *users;
    pthread_mutex_t ideal_lock; /* guards `ideals`, which take seconds */
    mv_panel_ideal *ideals;
    mv_slot *heap, *ideal, *flames, *table, *findings, *details, *cursor_explanation;

    mv_state_place heap_place; /* where heap_shown was painted */
    mv_heap_drag heap_drag;
    mv_box heap_events; /* of the list of events beside it */
    bool fits_hole;     /* the state zooms to the hole as soon as it is laid out */

    uint32_t flame_first; /* the level at the top of the pane */
    uint32_t flame_room;  /* levels that fit */
    uint64_t flame_spot;  /* path of the box at the keyboard; 0: the root */
    mv_filter filter;     /* parsed from filter_text: selects matching boxes */
    mv_arena filter_arena;
    char filter_text[MV_SEARCH_TEXT];

    uint32_t table_first[MV_LISTING_COUNT];
    uint32_t table_cursor; /* the cursor's event when the list was last scrolled to it */

    uint32_t details_first;
    mv_explanation_question details_of; /* the query that the scroll position belongs to */

    uint32_t report_first;
    const mv_document_device *report_of;
    uint32_t report_count;
    mv_report_row reports[MV_MOST_REPORTS]; /* in the last frame; texts live as long as it */

    uint32_t whatif_first;
    uint32_t whatif_count;
    const char *whatif_items[MV_MOST_TICKS]; /* in the last frame; texts live as long as it */

    /* Results painted in the last frame; each is valid until the query of the next frame. */
    const mv_heap_answer *heap_shown;
    const mv_flames_answer *flames_shown;
    const mv_listing_answer *table_shown;
    const mv_findings_answer *findings_shown;
    const mv_explanation_answer *details_shown;
};

/* For workers; NULL when out of memory. */
const mv_panel_change *mv_panels_change(mv_panels *panels, const mv_flames_question *question);
const mv_panel_facts *mv_panels_facts(mv_panels *panels, const mv_document_device *device);

/* ---- for the panes ------------------------------------------------------------------------ */

/* The boxes of a result, and below them the key of their colours, for paper. */
void mv_flame_paint_answer(mv_view *view, mv_box box, const mv_flames_answer *answer);

/* The allocation shown by Details; MV_NO_ROW: it shows a segment or an event. */
uint32_t mv_details_alloc(const mv_view *view);

/* The table shown: the ledger has a separate tab. */
static inline uint32_t mv_tables_kind(const mv_view_state *now)
{
    return now->tab == MV_TAB_LEDGER ? MV_LISTING_LEDGER : now->table_kind;
}

/* Tables are sorted largest first by default, except markers. */
static inline bool mv_tables_is_ascending(uint32_t kind, bool is_turned)
{
    return is_turned != (kind == MV_LISTING_MARKERS);
}

static inline bool mv_tables_is_turned(uint32_t kind, bool is_ascending)
{
    return is_ascending != (kind == MV_LISTING_MARKERS);
}

/* The selected events [a, b), or else the events in the timeline. */
void mv_panels_interval(const mv_view *view, uint32_t *a, uint32_t *b);

/* Copies the search whose hits are isolated; false, and "": none. */
bool mv_panels_isolated(const mv_view *view, char only[MV_SEARCH_TEXT]);

/* The shown device and its document; if there is none yet, returns false and paints a line that
 * explains it. */
bool mv_panels_device(mv_view *view, mv_box box, const mv_document **document,
                      const mv_document_device **device);

/* Lines of text, MV_UI_LINE high (less for small text), from the top of a box that scrolls by whole
 * lines. */
typedef struct {
    mv_view *view;
    mv_box box;
    float size;     /* size of letters at scale 1; 0: MV_UI_TEXT */
    float y;        /* y of the next line */
    uint32_t first; /* number of lines scrolled away */
    uint32_t count; /* number of lines so far */
} mv_panel_lines;

/* The box of the next line; without height if the line is not visible. */
mv_box mv_panel_line(mv_panel_lines *lines);

/* Paints a text on at most `most` lines, broken at blanks; the last line is cut. Returns the number
 * of lines. */
uint32_t mv_panel_wrap(mv_panel_lines *lines, float left, float width, uint32_t colour,
                       uint32_t most, const char *text);

/* The number of lines that fit. */
/* Places the buttons of a pane's head in rows of MV_PANEL_HEAD; widths are in pixels at scale 1, and
 * the last box gets the rest of its row. Returns the number of rows; `out` may be NULL. */
enum { MV_PANEL_HEAD = 22 };
uint32_t mv_panel_flow(const mv_view *view, mv_box pane, const float *widths, uint32_t count,
                       mv_box *out);
uint32_t mv_panel_room(const mv_view *view, mv_box box);

/* The wheel scrolls *first by three lines a notch; painting keeps it in range. */
bool mv_panel_wheel(const mv_input *input, uint32_t *first);

/* A formatted text of the frame. */
const char *mv_panel_say(mv_view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *mv_panel_size(mv_view *view, uint64_t bytes); /* "2.00 MiB" */

/* "after event 8,407, 1.204 s". */
const char *mv_panel_moment(mv_view *view, uint32_t event);

/* The story of the event before the cursor (analyze/events/event_words.h), at first without the
 * next user of the address; NULL: there is no such event. Valid until the next frame. */
const mv_event_explanation *mv_panels_cursor_explanation(mv_view *view);

/* The query of Details: the pinned allocation or segment, or else the one under the pointer, or
 * else the cursor's event. */
mv_explanation_question mv_details_question(const mv_view *view);

/* The part of the story that is available immediately: without the previous and next users of the
 * address. NULL: out of memory. Valid for this frame. */
const mv_event_explanation *mv_panels_explain(mv_view *view,
                                              const mv_explanation_question *question);

/* The complete story; NULL: not ready yet, or there is none. */
const mv_event_explanation *mv_details_explanation(mv_view *view);

mv_heap_query mv_state_question(const mv_view *view, mv_box box);

/* The ideal placement above the allocator's state: its height, 0 if it is not shown; and its
 * job. */
float mv_state_ideal_height(const mv_view *view);
void mv_state_ideal_paint(mv_view *view, mv_box box);
void *mv_state_ideal_find(mv_arena *arena, void *panels, const void *ask);
uint32_t mv_state_ideal_query_bytes(void);
void mv_state_ideal_free(mv_panels *panels);

#endif
