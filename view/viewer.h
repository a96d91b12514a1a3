/* The viewer as a program: in a window, or scripted without a window. It uses no SDL types, so
 * callers do not need SDL headers; built without them (CMake: MV_SDL), opening the window reports
 * an error.
 *
 *     view/sdl/sdl_window.c        the window: events in, frames out
 *     view/headless/headless_run.c      without a window: scripts, pictures, timings
 */
#ifndef MV_VIEWER_H
#define MV_VIEWER_H

#include "view/frame/view.h"

typedef struct {
    mv_budget *budget;
    uint32_t file_count;
    char *const *files; /* [file_count] */
    mv_view_start start;
    bool is_dark;
    float scale;            /* of texts and paddings; 0: the display's */
    uint32_t width, height; /* size of the window or the picture; 0: suitable for the screen */
    uint64_t tile_bytes;    /* limit for the memory of kept pictures; 0: 64 MiB */
    const char *keys;       /* the user's key bindings (view/state/keymap.h); NULL: none */
    bool is_followed;       /* the files are being written: view/follow.h */
    const char *renderer;   /* an SDL render driver, such as "opengl"; NULL: the best available */
} mv_viewer_opts;

/* Whether a window will probably open: SDL is installed, and the environment has a display. */
bool mv_viewer_can_show(void);

/* Opens the window and returns when the user closes it. MV_IO without SDL or a display; `err` has
 * the reason. */
mv_code mv_viewer_show(const mv_viewer_opts *opts, mv_err *err);

typedef struct {
    const char *script;    /* text of a script (view/script.h) to run first; its shots are files;
                              NULL: none. With a script, no file has to be given. */
    FILE *dump;            /* output of the script's dumps; NULL: ignored */
    uint32_t bench_frames; /* > 0: plays the path of view/headless/panzoom.h in that many frames */
    const char *shot;      /* path for a picture of the last frame; NULL: none */
} mv_viewer_play_opts;

/* Times in milliseconds; 0 for parts that did not run. */
typedef struct {
    double window_ms;      /* from the start to the first frame, whatever it shows */
    double first_frame_ms; /* from the start to the first frame with the timeline, or its saved
                              outline (view/document/saved_index.h) */
    double read_ms;        /* of the first file */
    double index_ms;       /* from the end of reading to the timeline */
    double settled_ms;     /* from the start until nothing was left to compute; only with a shot */
    double p50_ms, p90_ms, p99_ms, max_ms; /* of a frame: inputs, scene, pixels */
    double cpu_p50_ms,
        cpu_p99_ms; /* processor time of a frame's thread alone: without other threads */
    double scene_p50_ms, scene_p99_ms; /* the part until the scene is complete */
    uint32_t frames;
    uint64_t events; /* of the shown device */
    uint64_t rss_bytes, peak_rss_bytes;
    uint32_t script_line;    /* line that failed, from 1; 0: none. `err` has the reason */
    const char *failed_file; /* the file with the error; NULL: none, or one of the viewer's own */
} mv_viewer_timing;

/* Plays on pictures in memory: no window, no display, no SDL. */
mv_code mv_viewer_play(const mv_viewer_opts *opts, const mv_viewer_play_opts *play,
                       mv_viewer_timing *out, mv_err *err);

#endif
