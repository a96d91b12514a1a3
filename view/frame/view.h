/* The viewer without a window: its state, its inputs, and its picture.
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
#include "view/document/file_verdicts.h"
#include "view/document/jobs.h"
#include "view/document/source_files.h"
#include "view/document/whatif_replay.h"
#include "view/frame/field.h"
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
    MV_PANE_WHATIF,
    MV_PANE_COUNT
} mv_pane;

/* Panes keep their private data in separate structs. */
typedef struct mv_intents mv_intents;             /* writable.h: the state */
typedef struct mv_timeline_pane mv_timeline_pane; /* pane_timeline.h: timeline and segments */
typedef struct mv_panels mv_panels;               /* panels.h: state and lower tabs */
typedef struct mv_chrome mv_chrome;               /* chrome.h: bars, overlays, history */

typedef struct {
    bool is_dark;
    bool is_threaded;    /* false: every frame is complete, for tests */
    bool is_cooperative; /* with is_threaded: a single thread, which calls mv_view_run_one_task */
    bool tries_settings; /* reports include the savings of other settings, once replayed */
    float scale;         /* 0: 1 */
    uint64_t tile_bytes; /* limit for the memory of tiles; 0: 64 MiB */
    void (*wake)(void *user); /* called from other threads: a new frame would look different */
    void (*copy)(void *user, const char *text); /* copies to the clipboard */
    const char *(*paste)(void *user); /* pastes from it; valid until the next call; may be NULL */
    void *user;
    const mv_file_system *files;    /* for the dialogue that opens files; NULL: without a list */
    const mv_source_files *sources; /* of the recorded program; NULL: source is never shown */
    const char *keys;               /* the user's key bindings (view/state/keymap.h); NULL: none */
    bool offers_tour;               /* the tour begins with the first device shown */
} mv_view_opts;

/* The initial view, as given on the command line (--from, --to, --at, --filter, --device). Texts
 * must live as long as the view; NULL: not given. */
typedef struct {
    const char *from, *to; /* analyze/lives/position.h */
    const char *at;        /* analyze/totals/moment.h */
    const char *filter;
    const char *level;         /* a text of --level */
    uint32_t device;           /* ordinal; MV_NO_ROW: the first device with events */
    uint8_t main;              /* mv_main_view */
    const mv_session *session; /* applied last; the caller adds its files */
} mv_view_start;

/* The documents of all files at one memory level. Rows are only added, since workers read them. */
typedef struct mv_level_files mv_level_files;
struct mv_level_files {
    mv_level_files *next;
    const char *level;
    uint32_t count;
    mv_document **documents; /* [count] */
};

/* The state of files that are being written, if the view follows them (view/follow.h). */
typedef struct {
    bool is_followed;
    bool is_paused;  /* by the user */
    bool has_ended;  /* the recordings have ended: everything is shown */
    double fresh_ms; /* time of the last check that found no newer data */
} mv_view_live;

/* The names of the devices of all files (device_rows.h). */
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
    mv_document **documents;                       /* [document_count] at the shown level */
    mv_level_files *level_files, *all_level_files; /* the shown level; all levels shown so far */
    mv_device_names names;

    /* A frame of the panes alone, complete, without overlays and buttons, for exports. */
    const mv_scene *(*bare_frame)(mv_view *view);
    mv_paper_sheet *sheet;    /* the frame is for paper; NULL: for a window */
    const mv_view_state *now; /* written only by view/intents/ */
    const mv_view_desk *desk;
    const mv_bookmarks *bookmarks;
    const mv_view_history *history;
    mv_intents *intents;
    mv_spot spot; /* which pane or bar has the keyboard */
    mv_keymap keymap;
    bool is_closing;   /* the user wants to quit */
    char message[256]; /* result of the last command, for the status bar */
    bool is_alarm;     /* it reports a problem */
    mv_view_live live;

    /* The allocation under the pointer, set by the pane that painted it; MV_NO_ROW: none. */
    uint32_t hover;
    uint32_t hover_segment;
    uint64_t requested; /* at the cursor, while the curve is shown; otherwise MV_NO_BYTES */

    mv_slot *verdict_slot;
    const mv_file_verdicts
        *verdicts; /* of a file with several levels; NULL: not known yet. Valid for one frame */
    mv_slot *whatif_slot;
    mv_whatif_shared whatif_shared;
    const mv_whatif_answer
        *whatif; /* for now.whatif; NULL: nothing ticked, not ready, or out of memory. Valid for one
                  * frame */
    bool is_whatif_without_memory;
    mv_slot *search_slot;
    /* The matches of now.search on the shown device; NULL: no search, an invalid search, or no
     * result yet. Valid for one frame. */
    const mv_filter_bits *matches;         /* allocations */
    const mv_filter_bits *segment_matches; /* rows of lives.segments */
    uint64_t match_bytes;                  /* sum of all matching allocations */
    char search_why[MV_FILTER_WHY];        /* the error in the search; "": none */

    mv_ui ui;
    mv_pyramid_reader levels;                /* for the shown device, on this thread only */
    const mv_document_device *levels_of;     /* the pyramid that `levels` reads */
    bool is_incomplete;                      /* some results were not ready in the last frame */
    double ms;                               /* time of the frame, for animations; 0 in tests */
    mv_box main_box, minimap_box, lower_box; /* in the last frame */

    mv_text_field *row_field; /* the filter of a table's rows */
    mv_timeline_pane *timeline;
    mv_panels *panels;
    mv_chrome *chrome;
};

/* NULL when out of memory. `budget` must outlive the view. */
mv_view *mv_view_open(mv_budget *budget, const mv_view_opts *opts);
void mv_view_close(mv_view *view);

/* Adds a file; it is shown if it is the first one, or if the shown file could not be read. A
 * session (view/state/session.h), recognised by its first line, is opened: its missing files are
 * added, and it determines what is shown. */
void mv_view_add(mv_view *view, const char *path);
/* mv_view_add for a file that was dropped or chosen: several at once are ranks, side by side, as on
 * the command line. */
void mv_view_drop(mv_view *view, const char *path);

/* The first file of a session that is not a regular file on disk; file_count: there is none. A
 * session may come from anyone, and a pipe or a device in it could block forever: such a session is
 * not opened. */
uint32_t mv_session_special_file(const mv_session *session);

/* Adds a file of any kind without showing it; false: there is no room. */
bool mv_view_add_file(mv_view *view, const char *path);

/* Goes to the start position as soon as the first file is shown; the status bar reports invalid
 * positions. Call it before adding files: one may be ready at once. */
void mv_view_begin_at(mv_view *view, const mv_view_start *start);

void mv_view_input(mv_view *view, const mv_input *input);

/* Paints a frame of width x height pixels at `ms` (a clock that only goes forward). The scene is
 * valid until the next frame. */
const mv_scene *mv_view_frame(mv_view *view, float width, float height, double ms);

/* Begins every frame: an empty scene of that size, and new results. Called by mv_view_frame, and by
 * code that paints other frames (view/paper/). */
void mv_view_frame_begin(mv_view *view, float width, float height, double ms);

/* The title of the window: contains the name of the shown file. */
enum { MV_VIEW_TITLE = 300 };
void mv_view_title(const mv_view *view, char out[MV_VIEW_TITLE]);

/* Whether the next frame would look different even without input: something moves. */
bool mv_view_is_animating(const mv_view *view);

/* With opts.is_cooperative: runs one piece of pending work: a tile, a query, a loading stage. False:
 * nothing to do. Frames and inputs may come between calls. */
bool mv_view_run_one_task(mv_view *view);

/* Nothing is loading, computing or moving: a script's `wait idle` waits for this. */
bool mv_view_is_idle(const mv_view *view);

/* ---- for panes --------------------------------------------------------------------------- */

/* The shown document and device; NULL when there is none, or it is not ready. */
const mv_document *mv_view_document(const mv_view *view);
const mv_document_device *mv_view_device(const mv_view *view); /* MV_DEVICE_SHOWN or later */
bool mv_view_is_evaluated(const mv_view *view);                /* shown, with its reports */

/* The selected device once its thread has made it, which may happen in the middle of a frame; NULL
 * before. It is shown from the next frame on. */
const mv_document_device *mv_view_arrived(const mv_view *view);

/* The saved outline of the device being read (view/document/saved_index.h), shown until the device
 * is ready; NULL: no outline, or the device is ready. */
const mv_saved_device *mv_view_outline(const mv_view *view);

/* The device compared with the shown one; NULL: none, or it is not ready. */
const mv_document_device *mv_view_other(const mv_view *view);

/* The memory levels of the shown file; none until it is open. Returns the row of the shown level;
 * `count` if the file does not have the requested level. */
const mv_level_list *mv_view_levels(const mv_view *view);
uint32_t mv_view_level(const mv_view *view);

/* Whether a key has just moved the keyboard to a row of this command: a list scrolls to it. */
bool mv_focus_reached(const mv_view *view, mv_command_id command, uint32_t *row);

/* Number of devices of all files that are open so far. */
uint32_t mv_view_device_count(const mv_view *view);

/* Whether typed text goes into a field: the window enables text input then. */
bool mv_view_wants_text(const mv_view *view);

void mv_view_say(mv_view *view, bool is_alarm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The colour of an allocation in the current mode: the same in every pane. */
uint32_t mv_view_colour(const mv_view *view, uint32_t alloc);

/* Changes whenever mv_view_colour may return other colours: cached pictures of panes depend on
 * it. */
uint64_t mv_view_colour_key(const mv_view *view);

/* Names of mv_colour_mode and mv_clock. */
const char *mv_colour_name(uint8_t mode);
const char *mv_clock_name(uint8_t clock);

/* The allocations that match a search, for workers. False when the search is invalid, or when out
 * of memory. */
bool mv_search_allocs(mv_arena *arena, const mv_trace *trace, const mv_document_device *device,
                      bool is_evaluated, const char *search, mv_filter_bits *out);

/* Finds the matches of the search: once a frame. */
bool mv_search_open(mv_view *view);
void mv_search_update(mv_view *view);

/* The matches among the allocations of another device, in a slot that is opened for NULL. NULL: no
 * search is shown, it is invalid, or there is no result yet. Valid for one frame. */
const mv_filter_bits *mv_search_matches(mv_view *view, mv_slot **slot, const mv_document *document,
                                        const mv_document_device *device);

/* Sets view->whatif: once a frame. */
bool mv_whatif_open(mv_view *view);
void mv_whatif_update(mv_view *view);

/* Copies a text to the clipboard. */
void mv_view_copy(mv_view *view, const char *text);

#endif
