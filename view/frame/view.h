/* The viewer without a window: what it shows, what the user does to it, and its picture.
 *
 *     input (view/state/user_input.h) ──► mv_view_input ──► commands ──► mv_view
 *                                                                  │ mv_view_frame
 *                                   panes paint ◄──────────────────┘
 *                                        └──► scene ──► SDL, PNG of a test, SVG
 *
 * ┌ toolbar ───────────────────────────────────────────────────┐
 * │ main: timeline | segments | allocator state                │
 * │ minimap                                                    │
 * │ lower: flame | tables | details | reports                  │
 * └ status bar ────────────────────────────────────────────────┘
 *
 * One selection (cursor, interval, pinned allocation, search, device) is shared by all panes. The
 * scene is a function of the view, the size and the scale: the same view gives the same picture. */
#ifndef MV_VIEW_H
#define MV_VIEW_H

#include "analyze/filter/filter.h"
#include "view/document/document.h"
#include "view/document/file_system.h"
#include "view/document/jobs.h"
#include "view/frame/sheet.h"
#include "view/frame/ui.h"
#include "view/state/bookmarks.h"
#include "view/state/keymap.h"
#include "view/state/session.h"
#include "view/state/spot.h"
#include "view/state/user_input.h"
#include "view/state/view_history.h"
#include "view/state/view_state.h"
#include "viz/core/timescale.h"

/* The panes. */
typedef enum {
    MV_PANE_NONE,
    MV_PANE_TIMELINE, /* also of segments */
    MV_PANE_MINIMAP,
    MV_PANE_STATE,
    MV_PANE_RANKS,
    MV_PANE_FLAME,
    MV_PANE_TABLES,
    MV_PANE_DETAILS,
    MV_PANE_REPORTS,
    MV_PANE_COUNT
} mv_pane;

/* Panes keep what only they need in structs of their own. */
typedef struct mv_intents mv_intents;             /* writable.h: the state */
typedef struct mv_timeline_pane mv_timeline_pane; /* pane_timeline.h: timeline and segments */
typedef struct mv_panels mv_panels;               /* panels.h: state and lower tabs */
typedef struct mv_chrome mv_chrome;               /* chrome.h: bars, overlays, history */

typedef struct {
    bool is_dark;
    bool is_threaded;         /* false: every frame is complete, for tests */
    bool in_turns;            /* with is_threaded: one thread, which calls mv_view_turn */
    float scale;              /* 0: 1 */
    uint64_t tile_bytes;      /* most memory of tiles; 0: 64 MiB */
    void (*wake)(void *user); /* called from other threads: a frame would show something new */
    void (*copy)(void *user, const char *text); /* to the clipboard */
    const char *(*paste)(void *user); /* from it, valid until the next call; may be NULL */
    void *user;
    const mv_file_system *files; /* for the dialogue that opens files; NULL: it has no list */
    const char *keys;            /* lines of the user's own (view/state/keymap.h); NULL: none */
} mv_view_opts;

/* What a view shows at first, in the words of the command line (--from, --to, --at, --filter,
 * --device). Texts live as long as the view; NULL: not given. */
typedef struct {
    const char *from, *to; /* analyze/lives/position.h */
    const char *at;        /* analyze/totals/moment.h */
    const char *filter;
    const char *level;         /* a text of --level */
    uint32_t device;           /* ordinal; MV_NO_ROW: the first that has events */
    uint8_t main;              /* mv_main_view */
    const mv_session *session; /* what it has comes last; its files are added by the caller */
} mv_view_start;

/* The documents of all files at one level of memory. Rows are only added, since workers read them.
 */
typedef struct mv_level_files mv_level_files;
struct mv_level_files {
    mv_level_files *next;
    const char *level;
    uint32_t count;
    mv_document **documents; /* [count] */
};

/* What the devices of all files are called (device_rows.h). */
typedef struct {
    mv_arena arena;
    uint32_t count;
    const char **name; /* [count] */
} mv_device_names;

struct mv_view {
    mv_view_opts opts;
    mv_budget *budget;
    mv_arena arena;
    mv_arena frame_arena;
    mv_loader *loader;
    mv_jobs *jobs;
    uint32_t document_count;
    mv_document **documents;                       /* [document_count] of the shown level */
    mv_level_files *level_files, *all_level_files; /* the shown one; all that were */
    mv_device_names names;

    /* A frame of the panes alone, complete, without overlays and buttons: what exports write. */
    const mv_scene *(*bare_frame)(mv_view *view);
    mv_paper_sheet *sheet;    /* the frame is for paper; NULL: for a window */
    const mv_view_state *now; /* both are written by view/intents/ only */
    const mv_view_desk *desk;
    const mv_bookmarks *bookmarks;
    const mv_view_history *history;
    mv_intents *intents;
    mv_spot spot; /* where the keyboard is among the panes and bars */
    mv_keymap keymap;
    bool is_closing;   /* the user wants to quit */
    char message[256]; /* of the last command, for the status bar */
    bool is_alarm;     /* it reports a problem */

    /* What is under the pointer, set by the pane that painted it; MV_NO_ROW: nothing. */
    uint32_t hover;
    uint32_t hover_segment;
    uint64_t requested; /* bytes at the cursor, while their curve is shown; else MV_NO_BYTES */

    mv_slot *search_slot;
    /* What now.search matches on the shown device; NULL: there is no search, it is wrong, or the
     * answer is not known yet. Valid for one frame. */
    const mv_filter_bits *matches;         /* allocations */
    const mv_filter_bits *segment_matches; /* rows of lives.segments */
    uint64_t match_bytes;                  /* of the allocations that match, over all their lives */
    char search_why[MV_FILTER_WHY];        /* what is wrong with the search; "": nothing */

    mv_ui ui;
    mv_pyramid_reader levels;                /* of the shown device: for this thread only */
    const mv_document_device *levels_of;     /* the pyramid that `levels` reads */
    bool is_incomplete;                      /* the last frame asked for what was not known yet */
    double ms;                               /* time of the frame, for animations; 0 in tests */
    mv_box main_box, minimap_box, lower_box; /* of the last frame */

    mv_timeline_pane *timeline;
    mv_panels *panels;
    mv_chrome *chrome;
};

/* NULL when memory is out. `budget` must outlive the view. */
mv_view *mv_view_open(mv_budget *budget, const mv_view_opts *opts);
void mv_view_close(mv_view *view);

/* Adds a file; it is shown if it is the first one, or the shown one could not be read. A session
 * (view/state/session.h), which is known by its first line, is opened: the files of it that are
 * not open yet are added, and it says what is shown. */
void mv_view_add(mv_view *view, const char *path);

/* The first file of a session that is none on a disk; file_count: there is none. A session may come
 * from anyone, and a pipe or a device that it names would be waited for: it is not opened then. */
uint32_t mv_session_special_file(const mv_session *session);

/* Adds a file, whatever it is, and shows nothing of it; false: there is no room. */
bool mv_view_add_file(mv_view *view, const char *path);

/* Goes there as soon as the first file is shown; the status bar reports what is not a position. To
 * be called before the files are added: one of them may be ready at once. */
void mv_view_begin_at(mv_view *view, const mv_view_start *start);

void mv_view_input(mv_view *view, const mv_input *input);

/* Paints the frame of width x height pixels at `ms` (a clock that only goes forward). The scene is
 * valid until the next frame. */
const mv_scene *mv_view_frame(mv_view *view, float width, float height, double ms);

/* The beginning of every frame: an empty scene of that size, and what has become ready. Called by
 * mv_view_frame, and by what paints another frame (view/paper/). */
void mv_view_frame_begin(mv_view *view, float width, float height, double ms);

/* The title of the window: names the file that is shown. */
enum { MV_VIEW_TITLE = 300 };
void mv_view_title(const mv_view *view, char out[MV_VIEW_TITLE]);

/* Whether a frame would look different from the last one without an input: something moves. */
bool mv_view_is_animating(const mv_view *view);

/* With opts.in_turns: does a piece of what is wanted: a tile, an answer, a stage of loading. False:
 * nothing was wanted. Frames and inputs may come between the turns. */
bool mv_view_turn(mv_view *view);

/* Nothing is loading, computing or moving: `wait idle` of a script waits for this. */
bool mv_view_is_idle(const mv_view *view);

/* ---- for panes --------------------------------------------------------------------------- */

/* The shown document and device; NULL when there is none, or it is not ready. */
const mv_document *mv_view_document(const mv_view *view);
const mv_document_device *mv_view_device(const mv_view *view); /* MV_DEVICE_SHOWN or later */
bool mv_view_is_judged(const mv_view *view);                   /* and its reports are ready */

/* The chosen device once its thread has made it, which may happen in the middle of a frame; NULL
 * before. The next frame makes it the shown one. */
const mv_document_device *mv_view_arrived(const mv_view *view);

/* The saved outline of the device that is being read (view/document/saved_index.h), which is shown
 * until it is ready; NULL: there is none, or the device is ready. */
const mv_saved_device *mv_view_outline(const mv_view *view);

/* The device that the shown one is compared with; NULL: none, or it is not ready. */
const mv_document_device *mv_view_other(const mv_view *view);

/* The levels of memory that the shown file has; none until it is open. The row of the shown one;
 * `count` when the file does not have what was asked for. */
const mv_level_list *mv_view_levels(const mv_view *view);
uint32_t mv_view_level(const mv_view *view);

/* Whether a key has just moved the keyboard to a row of that command: a list scrolls to it. */
bool mv_spot_came_to(const mv_view *view, mv_command_id command, uint32_t *row);

/* Devices of all files that are open so far. */
uint32_t mv_view_device_count(const mv_view *view);

/* Whether typed text goes into a field: then the window asks for it. */
bool mv_view_wants_text(const mv_view *view);

void mv_view_say(mv_view *view, bool is_alarm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The colour of an allocation in the current mode: the same in every pane. */
uint32_t mv_view_colour(const mv_view *view, uint32_t alloc);

/* Changes whenever mv_view_colour may return other colours: pictures that panes keep depend on it.
 */
uint64_t mv_view_colour_key(const mv_view *view);

/* Names of mv_colour_mode and mv_clock. */
const char *mv_colour_name(uint8_t mode);
const char *mv_clock_name(uint8_t clock);

/* The allocations that a search matches, for workers. False when it is wrong, or memory is out. */
bool mv_search_allocs(mv_arena *arena, const mv_trace *trace, const mv_document_device *device,
                      bool is_judged, const char *search, mv_filter_bits *out);

/* Finds what the search matches: once a frame. */
bool mv_search_open(mv_view *view);
void mv_search_update(mv_view *view);

/* Puts a text into the clipboard. */
void mv_view_copy(mv_view *view, const char *text);

#endif
