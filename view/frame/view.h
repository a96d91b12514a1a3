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
 * All panes share one selection: the cursor, interval, pinned allocation, search and device. The
 * scene depends only on the view, the size and the scale, so equal views give equal pictures. */
#pragma once

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
    MV_PANE_TIMELINE, /* allocations or segments */
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

/* Each pane keeps its private data in a separate struct. */
typedef struct mv_intents mv_intents;             /* writable.h: the state that can be written */
typedef struct mv_timeline_pane mv_timeline_pane; /* pane_timeline.h: timeline and segments */
typedef struct mv_panels mv_panels;               /* panels.h: state and lower tabs */
typedef struct mv_chrome mv_chrome;               /* chrome.h: bars, overlays, history */

typedef struct {
    bool is_dark;
    bool is_threaded;    /* work is done by other threads; if false, every frame is complete when it
                          * is returned, for tests */
    bool is_cooperative; /* together with is_threaded, there is only one thread, which calls
                            mv_view_run_one_task */
    bool tries_settings; /* reports include how much other settings would save, as soon as these
                            settings have been replayed */
    float scale;         /* scale of text and padding; 0: 1 */
    uint64_t tile_bytes; /* maximum memory for tiles; 0: 64 MiB */
    void (*wake)(void *user); /* called from other threads when a new frame would look different */
    void (*copy)(void *user, const char *text); /* copies to the clipboard */
    const char *(*paste)(void *user); /* returns the clipboard's text, valid until the next call;
                                         may return NULL */
    void *user;
    const mv_file_system *files;    /* file access for the dialogue that opens files; NULL: the
                                       dialogue has no list */
    const mv_source_files *sources; /* source files of the recorded program; NULL: source is never
                                       shown */
    const char *keys;               /* the user's key bindings (view/state/keymap.h); NULL: there
                                       are none */
    mv_live_readers *readers;       /* keep what was decoded of live files (parse/live_readers.h);
                                       NULL: nothing is kept */
    bool offers_tour;               /* start the tour as soon as the first device is shown */
} mv_view_opts;

/* The initial view, as given on the command line (--from, --to, --at, --filter, --device). Strings
 * must stay valid as long as the view is open. NULL: not given. */
typedef struct {
    const char *from, *to; /* analyze/lives/position.h */
    const char *at;        /* analyze/totals/moment.h */
    const char *filter;
    const char *level;         /* value of --level */
    uint32_t device;           /* ordinal; MV_NO_ROW: the first device with events */
    uint8_t main;              /* mv_main_view */
    const mv_session *session; /* applied last; the caller must add its files */
} mv_view_start;

/* The documents of all files at one memory level. Entries are added but never removed, because
 * workers read them. */
typedef struct mv_level_files mv_level_files;
struct mv_level_files {
    mv_level_files *next;
    const char *level;
    uint32_t count;
    mv_document **documents; /* [count] */
};

/* The state of files that are still being written, if the view follows them (view/follow.h). */
typedef struct {
    bool is_followed;
    bool is_paused;  /* the user has paused following */
    bool has_ended;  /* the recordings have ended, and all their data is shown */
    double fresh_ms; /* time of the last check that found no newer data */
} mv_view_live;

/* The names of the devices in all files (device_rows.h). */
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
    mv_document **documents;                       /* [document_count] documents at the shown
                                                      level */
    mv_level_files *level_files, *all_level_files; /* files at the shown level, and at all levels
                                                      that have been shown */
    mv_device_names names;

    /* Paints a complete frame of only the panes, without overlays and buttons, for exports. */
    const mv_scene *(*bare_frame)(mv_view *view);
    mv_paper_sheet *sheet;    /* settings of a printed frame; NULL: the frame is for a window */
    const mv_view_state *now; /* written only by view/intents/ */
    const mv_view_desk *desk;
    const mv_bookmarks *bookmarks;
    const mv_view_history *history;
    mv_intents *intents;
    mv_spot spot; /* which pane or bar has the keyboard focus */
    mv_keymap keymap;
    bool is_closing;   /* the user wants to quit */
    char message[256]; /* result of the last command, for the status bar */
    bool is_alarm;     /* `message` reports a problem */
    mv_view_live live;

    /* The allocation and the segment under the pointer, set by the pane that paints them;
     * MV_NO_ROW: none. */
    uint32_t hover;
    uint32_t hover_segment;
    uint64_t requested; /* requested bytes at the cursor; MV_NO_BYTES if their curve is not shown */

    mv_slot *verdict_slot;
    const mv_file_verdicts
        *verdicts; /* verdicts on a file with several levels; NULL: not known yet. Valid for one
                      frame */
    mv_slot *whatif_slot;
    mv_whatif_shared whatif_shared;
    const mv_whatif_answer
        *whatif; /* result of replaying now.whatif; NULL: nothing is ticked, the result is not
                  * ready, or memory ran out. Valid for one frame */
    bool is_whatif_without_memory;
    mv_slot *search_slot;
    /* The matches of now.search on the shown device; NULL: there is no search, it is invalid, or
     * there is no result yet. Valid for one frame. */
    const mv_filter_bits *matches;         /* allocations */
    const mv_filter_bits *segment_matches; /* rows of lives.segments */
    char search_why[MV_FILTER_WHY];        /* why the search is invalid; "": it is valid */

    mv_ui ui;
    mv_pyramid_reader levels;                /* reads the pyramid of the shown device; used on this
                                                thread only */
    const mv_document_device *levels_of;     /* device whose pyramid `levels` reads */
    bool is_incomplete;                      /* some results were not ready when the last frame was
                                                painted */
    double ms;                               /* time of the frame, for animations; always 0 in
                                                tests */
    mv_box main_box, minimap_box, lower_box; /* boxes in the last frame */

    mv_text_field *row_field; /* field for the row filter of the tables */
    mv_timeline_pane *timeline;
    mv_panels *panels;
    mv_chrome *chrome;
};

/* Opens a view. Returns NULL when out of memory. `budget` must outlive the view. */
mv_view *mv_view_open(mv_budget *budget, const mv_view_opts *opts);
void mv_view_close(mv_view *view);

/* Adds a file. The file is shown if it is the first one, or if the shown file could not be read. A
 * session (view/state/session.h) is recognised by its first line. Opening a session adds those of
 * its files that are not open yet, and the session then determines what is shown. */
void mv_view_add(mv_view *view, const char *path);
/* Like mv_view_add, for a file that was dropped or chosen. Several such files at once are shown as
 * ranks, one below the other, as on the command line. */
void mv_view_drop(mv_view *view, const char *path);

/* Returns the index of the session's first file that is not a regular file on disk, or file_count
 * if there is none. A session with such a file is not opened, because anyone may have written the
 * session, and a pipe or a device in it could block the viewer forever. */
uint32_t mv_session_special_file(const mv_session *session);

/* Adds a file of any kind without showing it. Returns false if there is no room. */
bool mv_view_add_file(mv_view *view, const char *path);

/* Goes to the start position as soon as the first file is shown. The status bar reports invalid
 * positions. Must be called before files are added, because a small file may be ready at once. */
void mv_view_begin_at(mv_view *view, const mv_view_start *start);

void mv_view_input(mv_view *view, const mv_input *input);

/* Paints a frame of width x height pixels at time `ms`, which must never decrease. The scene is
 * valid until the next frame. */
const mv_scene *mv_view_frame(mv_view *view, float width, float height, double ms);

/* Begins a frame with an empty scene of that size, and fetches new results. mv_view_frame calls it,
 * and so does code that paints other frames (view/paper/). */
void mv_view_frame_begin(mv_view *view, float width, float height, double ms);

/* Writes the title of the window, which contains the name of the shown file. */
enum { MV_VIEW_TITLE = 300 };
void mv_view_title(const mv_view *view, char out[MV_VIEW_TITLE]);

/* Whether the next frame would look different even without input, because something is moving. */
bool mv_view_is_animating(const mv_view *view);

/* With opts.is_cooperative: runs one piece of pending work, such as a tile, a query or a loading
 * stage. Returns false if there is nothing to do. Frames and inputs may come between calls. */
bool mv_view_run_one_task(mv_view *view);

/* Whether the view is idle, that is, nothing is loading, being computed or moving. A script's `wait
 * idle` waits until this function returns true. */
bool mv_view_is_idle(const mv_view *view);

/* ---- for panes --------------------------------------------------------------------------- */

/* Return the shown document and device; NULL if there is none, or if it is not ready. */
const mv_document *mv_view_document(const mv_view *view);
const mv_document_device *mv_view_device(const mv_view *view); /* its stage is MV_DEVICE_SHOWN or
                                                                  later */
bool mv_view_is_evaluated(const mv_view *view);                /* the device is shown, and its
                                                                  reports are ready */

/* Returns the selected device as soon as the loader has prepared it, which may happen in the middle
 * of a frame; NULL before then. The device is shown starting with the next frame. */
const mv_document_device *mv_view_arrived(const mv_view *view);

/* Returns the outline of the device that will be shown (view/document/outline.h), which is shown
 * until the device is ready; NULL: there is no outline, or the device is ready. */
const mv_outline *mv_view_outline(const mv_view *view);

/* Returns the device that the shown one is compared with; NULL: there is none, or it is not
 * ready. */
const mv_document_device *mv_view_other(const mv_view *view);

/* mv_view_levels returns the shown file's memory levels, which are empty until the file is open.
 * mv_view_level returns the row of the shown level, or `count` if the file does not have the
 * requested level. */
const mv_level_list *mv_view_levels(const mv_view *view);
uint32_t mv_view_level(const mv_view *view);

/* Whether a key has just moved the keyboard focus to a row of this command. If so, the list scrolls
 * to that row. */
bool mv_focus_reached(const mv_view *view, mv_command_id command, uint32_t *row);

/* Returns the number of devices in all files that are open so far. */
uint32_t mv_view_device_count(const mv_view *view);

/* Whether typed text goes into a field. The window then enables text input. */
bool mv_view_wants_text(const mv_view *view);

void mv_view_say(mv_view *view, bool is_alarm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the colour of an allocation in the current mode. Every pane uses this colour. */
uint32_t mv_view_colour(const mv_view *view, uint32_t alloc);

/* Returns a key that changes whenever mv_view_colour may return other colours. Cached pictures of
 * panes depend on it. */
uint64_t mv_view_colour_key(const mv_view *view);

/* Return the names of an mv_colour_mode and an mv_clock. */
const char *mv_colour_name(uint8_t mode);
const char *mv_clock_name(uint8_t clock);

/* Finds the allocations that match a search, for workers. Returns false if the search is invalid,
 * or when out of memory. */
bool mv_search_allocs(mv_arena *arena, const mv_trace *trace, const mv_document_device *device,
                      bool is_evaluated, const char *search, mv_filter_bits *out);

/* Finds the matches of the search, once per frame. */
bool mv_search_open(mv_view *view);
void mv_search_update(mv_view *view);

/* Returns the matches among the allocations of another device. The slot is opened if it is NULL.
 * Returns NULL if no search is shown, the search is invalid, or there is no result yet. The result
 * is valid for one frame. */
const mv_filter_bits *mv_search_matches(mv_view *view, mv_slot **slot, const mv_document *document,
                                        const mv_document_device *device);

/* Sets view->whatif, once per frame. */
bool mv_whatif_open(mv_view *view);
void mv_whatif_update(mv_view *view);

/* Copies a string to the clipboard. */
void mv_view_copy(mv_view *view, const char *text);
