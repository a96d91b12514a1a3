/* The pictures of a snapshot: what each of them shows, and the one way in which all are made.
 *
 *     picture   a row of mv_pictures: what is drawn of one device, and of which events
 *     format    a row of mv_picture_formats: what the devices become, by the ending of -o
 *
 * The driver (mv_picture_run) reads the file, goes through the devices, finds the moment of --at or
 * the window of --from and --to, lets the format add each device, and reports what was written.
 *
 * To add a picture: its name in mv_picture_view (cli/options.h), a row in pictures.c, and a
 * painter, a function that makes the scene of one device. To add a format: a row in formats.c. */
#ifndef MV_PICTURES_H
#define MV_PICTURES_H

#include "analyze/filter/filter.h"
#include "analyze/flame/flame.h"
#include "analyze/ledger/device_use.h"
#include "cli/commands.h"
#include "view/page/viewer_page.h"
#include "view/paper/paper.h"
#include "viz/scene/scene.h"

typedef struct mv_drawing mv_drawing;

/* What of a device is drawn: the events of a window, or the heap after an event. */
typedef struct {
    mv_window window;
    uint32_t event;
} mv_place;

/* Makes the scene of one device, with texts in the command's arena; `work` is released after it.
 * Adds to d->figure. */
typedef mv_code mv_paint_fn(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                            mv_arena *work, mv_scene *out, mv_err *err);

/* Finds a flame graph; `kept` are the allocations that --filter leaves, NULL: all. */
typedef mv_code mv_flame_fn(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                            mv_flame *out, mv_err *err);

/* The figures of a drawing, in the order of --json. */
typedef enum {
    MV_FIGURE_EVENTS,  /* of the trace, in the windows that are drawn */
    MV_FIGURE_STACKS,  /* rows of the flame graphs */
    MV_FIGURE_BYTES,   /* of these rows */
    MV_FIGURE_DRAWN,   /* allocations, segments or boxes with a shape */
    MV_FIGURE_MATCHES, /* allocations that --filter leaves; only with it */
    MV_FIGURE_COUNT
} mv_figure;

#define MV_FIGURES(id) (1u << MV_FIGURE_##id)

typedef struct {
    mv_main_view main;       /* on which the viewer opens: a window, or a page */
    bool is_of_moment;       /* of that of --at, or the end; else of --from to --to */
    bool shows_segments;     /* whose rows have no leaks and categories to filter by */
    bool draws_idle_devices; /* in scenes and folded stacks */
    uint32_t figures;        /* MV_FIGURES bits: of its scenes */
    mv_paint_fn *paint;
    mv_flame_fn *flame; /* NULL: cannot be written as folded stacks */
} mv_picture;

extern const mv_picture mv_pictures[MV_PICTURE_COUNT]; /* by mv_picture_view */

typedef struct {
    const char *ending;
    bool leaves_idle_devices; /* even if the picture draws them */
    bool may_be_empty;        /* a file without any device is written */
    uint32_t figures;         /* MV_FIGURES bits; 0: those of the picture */
    mv_code (*add)(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                   mv_err *err);
    mv_code (*finish)(mv_drawing *d, mv_err *err); /* writes to d->sink */
} mv_picture_format;

/* One run of the driver. */
struct mv_drawing {
    mv_cli *cli;
    const mv_picture *picture;
    const mv_picture_format *format;
    const char *path; /* of the output; "-": standard output */
    const char *name; /* of the file that is drawn, without its folder */
    mv_trace *trace;
    uint32_t first, end; /* devices */
    mv_filter filter;
    mv_sites sites;   /* of flame graphs; NULL kinds: not found yet */
    uint32_t devices; /* added so far */
    uint64_t figure[MV_FIGURE_COUNT];
    mv_device_rest rest;      /* of the device that was added last, at its moment */
    mv_scene scene;           /* of svg and png: a panel for each device, one below the other */
    mv_viewer_page_opts page; /* of html: what is known of it so far */
    mv_session session;       /* what it opens on */
    uint32_t page_events;     /* of the device that it opens on */
    mv_sink sink;
};

/* The picture that a plot's options ask for, or the view that the viewer opens on. */
mv_picture_view mv_picture_wanted(const mv_cli *cli);

/* Draws the command's file as `view` to -o or FILE.html, by the ending of the name, and reports.
 * `ending` names the format whatever the file's name is; NULL: the name does. Returns the exit
 * status. */
int mv_picture_run(mv_cli *cli, mv_picture_view view, const char *ending);

/* The format of d->picture for d->path, which is set if -o was not given. False, with a message,
 * when the usage is wrong. Part of the driver. */
bool mv_picture_choose_format(mv_drawing *d, const char *ending);

/* The rows that --filter leaves; *kept is NULL without it. `leaks` may be NULL. */
mv_code mv_drawing_filter(mv_drawing *d, mv_arena *arena, const mv_lives *lives,
                          const mv_leaks *leaks, const mv_filter_bits **kept, mv_err *err);

/* The flame graph of d->picture after `event`, of what --filter and --top leave, as a tree. */
mv_code mv_drawing_tree(mv_drawing *d, const mv_lives *lives, uint32_t event, mv_arena *arena,
                        mv_flame_tree *out, mv_err *err);

/* What the command's options ask of a picture on paper. */
mv_paper_opts mv_drawing_paper(const mv_drawing *d, const mv_place *place);

/* The scene of a device as a kind of picture on paper; adds to d->figure. */
mv_code mv_drawing_put(mv_drawing *d, const mv_lives *lives, const mv_paper_kind *kind,
                       const mv_paper_opts *opts, mv_scene *out, mv_err *err);

mv_paint_fn mv_paint_active, mv_paint_pools, mv_paint_segments, mv_paint_state, mv_paint_flame;
mv_flame_fn mv_flame_of_memory, mv_flame_of_segments;

/* Says in d->session what of a device a page opens on, if the device has more events than those
 * before it: what the command's options ask for, as far as the viewer begins elsewhere. */
mv_code mv_page_open_at(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                        mv_err *err);

/* Writes a page of at most --most-events, and says on standard error what is not in it. *gap, too,
 * unless it is NULL. */
mv_code mv_page_put(mv_cli *cli, const mv_trace *trace, mv_viewer_page_opts *page, const char *path,
                    mv_sink *sink, mv_page_gap *gap, mv_err *err);

/* Writes the flame graph of a device to d->sink as folded stacks: a line for each stack, its
 * frames, outermost first, joined by ';', then a blank and a number of bytes.
 *
 *     main.py:9 <module>;main.py:4 step;linear.py:134 forward 4096 */
mv_code mv_folded_add(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                      mv_err *err);

#endif
