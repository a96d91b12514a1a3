/* The viewer as a program: in a window, or scripted without a window. This header uses no SDL
 * types, so callers do not need SDL headers. If memviz is built without SDL (CMake: MV_SDL),
 * opening the window reports an error.
 *
 *     view/sdl/sdl_window.c        the window: events in, frames out
 *     view/headless/headless_run.c      without a window: scripts, pictures, timings
 * */
#pragma once

#include "view/frame/view.h"

typedef struct {
    mv_budget *budget;
    uint32_t file_count;
    char *const *files; /* [file_count] */
    mv_view_start start;
    bool is_dark;
    float scale;            /* scale of text and padding; 0: that of the display */
    uint32_t width, height; /* size of the window or the picture; 0: chosen to suit the screen */
    uint64_t tile_bytes;    /* maximum memory for cached pictures; 0: 64 MiB */
    const char *keys;       /* the user's key bindings (view/state/keymap.h); NULL: there are
                               none */
    bool is_followed;       /* the files are still being written and are followed (view/follow.h) */
    const char *renderer;   /* an SDL render driver, such as "opengl"; NULL: the best one
                               available */
} mv_viewer_opts;

/* Whether a window will probably open, because SDL is installed and the environment has a
 * display. */
bool mv_viewer_can_show(void);

/* Opens the window and returns when the user closes it. Returns MV_IO, with the reason in `err`, if
 * there is no SDL or no display. */
mv_code mv_viewer_show(const mv_viewer_opts *opts, mv_err *err);

typedef struct {
    const char *script;    /* text of a script (view/script.h) to run first; its shots are written
                              as files. NULL: no script. With a script, no file has to be given. */
    FILE *dump;            /* where the script's dumps are written; NULL: dumps are ignored */
    uint32_t bench_frames; /* number of frames over which the path in view/headless/panzoom.h is
                              played; 0: the path is not played */
    const char *shot;      /* path of the file for a picture of the last frame; NULL: none */
} mv_viewer_play_opts;

/* Timings in milliseconds, or 0 for phases that did not run. */
typedef struct {
    double window_ms; /* from the start to the first frame, whatever that frame shows */
    double
        first_frame_ms; /* from the start to the first frame that shows the timeline or its outline
                              (view/document/outline.h) */
    double read_ms;     /* time to read the first file */
    double index_ms;    /* from the end of reading until the timeline is ready */
    double p50_ms, p90_ms, p99_ms, max_ms; /* time per frame, for inputs, scene and pixels */
    double cpu_p50_ms,
        cpu_p99_ms; /* CPU time per frame of the thread that draws, without other threads */
    double scene_p50_ms, scene_p99_ms; /* the part of the frame time before the scene is complete */
    uint32_t frames;
    uint64_t events; /* number of events on the shown device */
    uint64_t rss_bytes, peak_rss_bytes;
    uint32_t script_line;    /* script line that failed, counted from 1; 0: none. `err` has the
                                reason */
    const char *failed_file; /* the file with the error; NULL: no file, or a file that the viewer
                                itself writes */
} mv_viewer_timing;

/* Runs the viewer on pictures in memory, without a window, a display or SDL. */
mv_code mv_viewer_play(const mv_viewer_opts *opts, const mv_viewer_play_opts *play,
                       mv_viewer_timing *out, mv_err *err);
