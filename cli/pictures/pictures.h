/* The pictures of a snapshot: their contents, and the common driver.
 *
 *     picture   a row of mv_pictures: the contents for one device, and the events that it needs
 *     format    a row of mv_picture_formats: the file format, by the ending of -o
 *
 * The driver (mv_picture_run) reads the file, goes through the devices, finds the moment of --at or
 * the window of --from and --to, lets the format add each device, and reports the written file.
 *
 * To add a picture: its name in mv_picture_view (cli/options.h), a row in pictures.c, and a
 * painter, a function that makes the scene of one device. To add a format: a row in formats.c. */
#ifndef MV_PICTURES_H
#define MV_PICTURES_H

#include "cli/commands.h"
#include "view/page/viewer_page.h"
#include "view/paper/paper.h"

typedef struct mv_drawing mv_drawing;

/* The part of a device to draw: the events of a window, or the heap after an event. */
typedef struct {
    mv_window window;
    uint32_t event;
} mv_place;

/* Makes the scene of one device, with texts in the command's arena; `work` is released afterwards.
 * Adds to d->figure. */
typedef mv_code mv_paint_fn(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                            mv_arena *work, mv_scene *out, mv_err *err);

/* Finds a flame graph; `kept` are the allocations selected by --filter, NULL: all. */
typedef mv_code mv_flame_fn(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                            mv_flame *out, mv_err *err);

/* The figures of a drawing, in the order of --json. */
typedef enum {
    MV_FIGURE_EVENTS,  /* of the trace, in the drawn windows */
    MV_FIGURE_STACKS,  /* rows of the flame graphs */
    MV_FIGURE_BYTES,   /* of these rows */
    MV_FIGURE_DRAWN,   /* allocations, segments or boxes with a shape */
    MV_FIGURE_MATCHES, /* allocations selected by --filter; only with it */
    MV_FIGURE_COUNT
} mv_figure;

#define MV_FIGURES(id) (1u << MV_FIGURE_##id)

typedef struct {
    mv_main_view main;       /* the viewer's view for it: a window, or a page */
    bool is_of_moment;       /* at the moment of --at, or the end; else from --from to --to */
    bool shows_segments;     /* its rows have no leaks and categories to filter by */
    bool draws_idle_devices; /* in scenes and folded stacks */
    uint32_t figures;        /* MV_FIGURES bits: figures of its scenes */
    mv_paint_fn *paint;
    mv_flame_fn *flame; /* NULL: folded stacks are not supported */
} mv_picture;

extern const mv_picture mv_pictures[MV_PICTURE_COUNT]; /* by mv_picture_view */

typedef struct {
    const char *ending;
    bool opens_at_moment;     /* --at also has a meaning in pictures of a time range */
    bool leaves_idle_devices; /* even if the picture draws idle devices */
    bool may_be_empty;        /* a file without any device is written */
    uint32_t figures;         /* MV_FIGURES bits; 0: the picture's own */
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
    const char *name; /* name of the drawn file, without its folder */
    mv_trace *trace;
    uint32_t first, end; /* range of the reported devices */
    mv_filter filter;
    mv_sites sites;   /* for flame graphs; NULL kinds: not found yet */
    uint32_t devices; /* added so far */
    uint64_t figure[MV_FIGURE_COUNT];
    mv_device_rest rest;      /* the last added device, at its moment */
    mv_scene scene;           /* for svg and png: a panel for each device, one below the other */
    mv_viewer_page_opts page; /* for html: the data found so far */
    mv_session session;       /* its initial view */
    uint32_t page_events;     /* the device of the initial view */
    mv_sink sink;
};

/* The picture requested by a plot's options, or the initial view of the viewer. */
mv_picture_view mv_picture_wanted(const mv_cli *cli);

/* Draws the command's file as `view` to -o or FILE.html, in the format of the name's suffix, and
 * reports. `ending` overrides the suffix; NULL: use the name. Returns the exit status. */
int mv_picture_run(mv_cli *cli, mv_picture_view view, const char *ending);

/* The format of d->picture for d->path, which is set if -o was not given. False, with a message, on
 * wrong usage. Part of the driver. */
bool mv_picture_choose_format(mv_drawing *d, const char *ending);

/* The rows selected by --filter; *kept is NULL without it. `leaks` may be NULL. */
mv_code mv_drawing_filter(mv_drawing *d, mv_arena *arena, const mv_lives *lives,
                          const mv_leaks *leaks, const mv_filter_bits **kept, mv_err *err);

/* The flame graph of d->picture after `event`, for the rows selected by --filter and --top, as a
 * tree. */
mv_code mv_drawing_tree(mv_drawing *d, const mv_lives *lives, uint32_t event, mv_arena *arena,
                        mv_flame_tree *out, mv_err *err);

/* The options of the command for a picture on paper. */
mv_paper_opts mv_drawing_paper(const mv_drawing *d, const mv_place *place);

/* The scene of a device as a kind of picture on paper; adds to d->figure. */
mv_code mv_drawing_put(mv_drawing *d, const mv_lives *lives, const mv_paper_kind *kind,
                       const mv_paper_opts *opts, mv_scene *out, mv_err *err);

mv_paint_fn mv_paint_active, mv_paint_pools, mv_paint_segments, mv_paint_state, mv_paint_flame;
mv_flame_fn mv_flame_of_memory, mv_flame_of_segments;

/* Stores in d->session the page's initial view of a device, if the device has more events than
 * earlier ones: the options of the command, where they differ from the viewer's defaults. */
mv_code mv_page_open_at(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                        mv_err *err);

/* Writes a page of at most --most-events, and prints the omitted data on standard error. Also sets
 * *gap, unless it is NULL. */
mv_code mv_page_put(mv_cli *cli, const mv_trace *trace, mv_viewer_page_opts *page, const char *path,
                    mv_sink *sink, mv_page_gap *gap, mv_err *err);

/* Writes the flame graph of a device to d->sink as folded stacks: a line for each stack, its
 * frames, outermost first, joined by ';', then a blank and a number of bytes.
 *
 *     main.py:9 <module>;main.py:4 step;linear.py:134 forward 4096 */
mv_code mv_folded_add(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                      mv_err *err);

#endif
