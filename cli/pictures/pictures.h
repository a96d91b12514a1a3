/* The pictures of a snapshot: their contents, and the common driver.
 *
 *     picture   a row of mv_pictures: what is drawn for one device, and which events are needed
 *     format    a row of mv_picture_formats: the file format, chosen by the suffix of -o
 *
 * The driver (mv_picture_run) reads the file, loops over the devices, finds the moment that --at
 * names or the window from --from to --to, and lets the format add each device. At the end it
 * reports which file it wrote.
 *
 * To add a picture, add its name to mv_picture_view (cli/options.h), a row to pictures.c, and a
 * painter, which is a function that makes the scene for one device. To add a format, add a row to
 * formats.c. */
#pragma once

#include "cli/commands.h"
#include "view/page/viewer_page.h"
#include "view/paper/paper.h"

typedef struct mv_drawing mv_drawing;

/* The part of a device's history to draw: the events in a window, or the heap after an event. */
typedef struct {
    mv_window window;
    uint32_t event;
} mv_place;

/* Makes the scene for one device and adds its figures to d->figure. The scene's labels are
 * allocated in the command's arena. `work` is only for temporary data, and is released
 * afterwards. */
typedef mv_code mv_paint_fn(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                            mv_arena *work, mv_scene *out, mv_err *err);

/* Builds a flame graph of the allocations in `kept`, which are those that --filter selects (NULL:
 * all). */
typedef mv_code mv_flame_fn(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                            mv_flame *out, mv_err *err);

/* The figures that a picture reports, in the order of --json. */
typedef enum {
    MV_FIGURE_EVENTS,  /* number of the trace's events in the drawn windows */
    MV_FIGURE_STACKS,  /* number of rows in the flame graphs */
    MV_FIGURE_BYTES,   /* total bytes of the flame graphs' rows */
    MV_FIGURE_DRAWN,   /* number of allocations, segments or boxes actually drawn */
    MV_FIGURE_MATCHES, /* number of allocations that --filter selects; only reported with
                        * --filter */
    MV_FIGURE_COUNT
} mv_figure;

#define MV_FIGURES(id) (1u << MV_FIGURE_##id)

typedef struct {
    mv_main_view main;       /* the viewer's main view that shows this picture: a window, or a
                              * page */
    bool is_of_moment;       /* true: drawn at the moment that --at names, or at the end; false:
                              * drawn from --from to --to */
    bool shows_segments;     /* the rows are segments, which cannot be filtered by leak or
                              * category */
    bool draws_idle_devices; /* idle devices also appear in scenes and folded stacks */
    uint32_t figures;        /* MV_FIGURES bits: figures reported for scenes of this picture */
    mv_paint_fn *paint;
    mv_flame_fn *flame; /* NULL: folded stacks are not supported */
} mv_picture;

extern const mv_picture mv_pictures[MV_PICTURE_COUNT]; /* indexed by mv_picture_view */

typedef struct {
    const char *ending;
    bool opens_at_moment;       /* --at is also accepted for pictures of a time range */
    bool leaves_idle_devices;   /* idle devices are omitted, even if the picture draws them */
    bool may_be_empty;          /* the file is written even if the trace has no device */
    uint32_t figures;           /* MV_FIGURES bits of figures to report; 0: those of the picture */
    void (*reads)(mv_cli *cli); /* sets the columns of events that are needed; NULL: all */
    mv_code (*add)(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                   mv_err *err);
    mv_code (*finish)(mv_drawing *d, mv_err *err); /* writes the file to d->sink */
} mv_picture_format;

/* The state of one run of the driver. */
struct mv_drawing {
    mv_cli *cli;
    const mv_picture *picture;
    const mv_picture_format *format;
    const char *path; /* path of the output; "-": standard output */
    const char *name; /* name of the drawn file, without its directory */
    mv_trace *trace;
    uint32_t first, end; /* range of the reported devices */
    mv_filter filter;
    mv_sites sites;   /* used by flame graphs; kinds is NULL until they are found */
    uint32_t devices; /* number of devices added so far */
    uint64_t figure[MV_FIGURE_COUNT];
    mv_device_rest rest;      /* memory outside the picture's sums, for the device that was added
                               * last */
    mv_scene scene;           /* for svg and png: one panel per device, stacked vertically */
    mv_viewer_page_opts page; /* for html: the data collected so far */
    mv_session session;       /* initial view of the page */
    uint32_t page_events;     /* number of events on the device that the page shows first */
    mv_sink sink;
};

/* Returns the picture that a plot's options request, or the viewer's initial view. */
mv_picture_view mv_picture_wanted(const mv_cli *cli);

/* Draws the command's file as `view` to -o or FILE.html and reports what was written. The format
 * follows from the file name's suffix, unless `ending` overrides it (NULL: use the name). Returns
 * the exit status. */
int mv_picture_run(mv_cli *cli, mv_picture_view view, const char *ending);

/* Chooses the format of d->picture from the suffix of d->path. Sets d->path first if -o was not
 * given. Returns false, with a message, on wrong usage. Part of the driver. */
bool mv_picture_choose_format(mv_drawing *d, const char *ending);

/* Finds the rows that --filter selects. *kept is NULL without --filter. `leaks` may be NULL. */
mv_code mv_drawing_filter(mv_drawing *d, mv_arena *arena, const mv_lives *lives,
                          const mv_leaks *leaks, const mv_filter_bits **kept, mv_err *err);

/* Builds the flame graph of d->picture after `event` as a tree of the rows that --filter and --top
 * select. */
mv_code mv_drawing_tree(mv_drawing *d, const mv_lives *lives, uint32_t event, mv_arena *arena,
                        mv_flame_tree *out, mv_err *err);

/* Returns the drawing options for an svg or png picture, taken from the command's options. */
mv_paper_opts mv_drawing_paper(const mv_drawing *d, const mv_place *place);

/* Makes a device's scene as one kind of svg or png picture, and adds its figures to d->figure. */
mv_code mv_drawing_put(mv_drawing *d, const mv_lives *lives, const mv_paper_kind *kind,
                       const mv_paper_opts *opts, mv_scene *out, mv_err *err);

mv_paint_fn mv_paint_active, mv_paint_pools, mv_paint_segments, mv_paint_state, mv_paint_flame;
mv_flame_fn mv_flame_of_memory, mv_flame_of_segments;

/* Stores a page's initial view of a device in d->session, if the device has more events than all
 * earlier ones. The view consists of the command's options that differ from the viewer's
 * defaults. */
mv_code mv_page_open_at(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                        mv_err *err);

/* Returns --most-events, in the form of mv_viewer_page_opts.most_events. */
uint64_t mv_page_most_events(const mv_cli *cli);

/* Sets the columns of events that a page needs, before the file is read: all columns if the page can
 * contain all events. */
void mv_page_reads(mv_cli *cli);

/* Sets the members of `page` that say how many events it contains and how they are read. */
void mv_page_init(mv_cli *cli, mv_viewer_page_opts *page);

/* Writes a page that contains at most page->most_events events, and reports on standard error what was
 * omitted. Also sets *gap, unless `gap` is NULL. */
mv_code mv_page_put(mv_cli *cli, const mv_trace *trace, mv_viewer_page_opts *page, const char *path,
                    mv_sink *sink, mv_page_gap *gap, mv_err *err);

/* Writes the flame graph of a device to d->sink as folded stacks: one line per stack, with its
 * frames joined by ';', outermost first, followed by a blank and the number of bytes.
 *
 *     main.py:9 <module>;main.py:4 step;linear.py:134 forward 4096 */
mv_code mv_folded_add(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                      mv_err *err);
