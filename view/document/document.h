/* An opened snapshot: its trace, and for each device the data of the panes. A loader thread
 * computes it step by step while the window is already in use.
 *
 *     waiting ──► reading ──► opened          the trace is read: devices, annotations, stacks
 *                    └──► failed              `failure` has the reason, with the byte offset
 *     each device:   waiting ──► living ──► shown ──► judged
 *                              lives      index,    leaks, fragmentation,
 *                                         pyramid   ooms, peak, categories
 *
 * The data of a stage is constant once `stage` has reached it; readers load `stage` (acquire) and
 * use no data of later stages. Devices are prepared by number of events, largest first; the shown
 * device goes first. */
#ifndef MV_DOCUMENT_H
#define MV_DOCUMENT_H

#include <stdatomic.h>

#include "analyze/advice/headline.h"
#include "analyze/advice/recording.h"
#include "analyze/code/sites.h"
#include "analyze/fragmentation/fragmentation.h"
#include "analyze/leaks/leaks.h"
#include "analyze/levels/levels.h"
#include "analyze/oom/oom.h"
#include "analyze/peak/peak.h"
#include "parse/model/spill.h"
#include "parse/readers.h"
#include "view/document/saved_index.h"
#include "view/document/site_colours.h"
#include "view/document/trace_marks.h"
#include "viz/core/index.h"
#include "viz/core/pyramid.h"

typedef enum {
    MV_DOCUMENT_WAITING,
    MV_DOCUMENT_READING,
    MV_DOCUMENT_OPENED,
    MV_DOCUMENT_FAILED
} mv_document_stage;

typedef enum {
    MV_DEVICE_WAITING,
    MV_DEVICE_BUILDING_LIFETIMES, /* finding lives */
    MV_DEVICE_SHOWN,              /* lives, index and pyramid are ready */
    MV_DEVICE_REPORTED,           /* reports are ready */
    MV_DEVICE_FAILED              /* out of memory: see `failure` */
    /* A device stays shown if memory ran out during its reports; `is_unevaluated` is set then. */
} mv_device_stage;

typedef struct {
    uint32_t device; /* ordinal */
    uint32_t events;
    bool has_lives; /* the caller of mv_loader_borrow owns the lives */
    _Atomic int stage;
    _Atomic bool is_unevaluated;
    mv_arena arena;
    mv_spilled spilled; /* used by the loader only */
    /* from MV_DEVICE_SHOWN on */
    mv_lives lives;
    mv_lives segment_lives; /* segments in the form of allocations */
    mv_index index;
    mv_index segment_index;
    mv_pyramid pyramid;
    uint64_t peak; /* allocated */
    uint32_t peak_event;
    mv_site_colours site_colours;
    mv_trace_marks trace_marks;
    uint32_t calls; /* number of calls, if the events are parts of calls (level_calls.h); 0: they
                     * are not */
    /* from MV_DEVICE_REPORTED on */
    mv_leaks leaks;
    mv_leak_outlook outlook;
    mv_fragmentation fragmentation;
    mv_ooms ooms;
    mv_attribution attribution; /* empty if has_lives; at the peak, without curve and parts; its
                                   categories cover all allocations */
    mv_headline headline;       /* of all reports */
    uint32_t pieces; /* number of finished pieces: of the picture, then of the reports; used by the
                      * loader only */
    mv_lives_search *lives_search;   /* used by the loader only, while it exists */
    mv_leak_search *leak_search;     /* used by the loader only, while it exists */
    mv_growth_search *growth_search; /* used by the loader only, while it exists */
    mv_segment_growths growths;      /* used by the loader only */
    mv_peak_search *peak_search;     /* used by the loader only, with the next two: */
    mv_arena peak_arena;
    mv_attribution peak_found;
    const char *badge; /* short: "3: leak" */
    mv_err failure;
} mv_document_device;

typedef struct mv_document mv_document;
struct mv_document {
    const char *path;
    const char *name;          /* the last component */
    const char *level;         /* as in --level (analyze/levels); "": the default */
    const mv_document *origin; /* already read from the same file; NULL: read it here */
    _Atomic int stage;
    _Atomic uint64_t bytes_done, bytes_all; /* of the file; 0: unknown */
    /* Outlines saved by an earlier run, until the trace has been read. */
    mv_arena saved_arena;
    mv_saved_index saved; /* constant once has_saved is set */
    mv_saved_key key;
    bool has_key;
    bool is_sketch; /* `saved` was made from this run's events. Constant from then on, too */
    _Atomic bool has_saved;
    mv_err failure; /* of MV_DOCUMENT_FAILED */
    char why[512];  /* `failure` as a sentence: "FILE: byte N: unknown opcode" */
    mv_arena arena;
    mv_spilled spilled; /* used by the loader only */
    /* from MV_DOCUMENT_OPENED on */
    mv_trace trace;
    mv_sites sites;
    uint32_t device_count;          /* devices with events or segments; may be 0 */
    mv_recording_contents contents; /* without devices: the file's contents instead */
    bool is_missing_level;          /* without devices: the file has only other levels */
    mv_level_list levels;           /* levels in the file */
    mv_document_device *devices;
};

/* Looks for outlines of an earlier run before reading. Saves outlines of a trace of at least
 * `least_events` once all its devices are shown, if its file has not changed since. */
void mv_document_load_outline(mv_document *document, mv_budget *budget);
void mv_document_save_outline(const mv_document *document, uint64_t least_events);

/* The stages, one by one, as run by a loader. The arenas belong to the document. */
void mv_document_read(mv_document *document, mv_budget *budget, mv_read_opts opts);
mv_code mv_document_borrow(mv_document *document, const mv_trace *trace, const mv_lives *lives,
                           mv_budget *budget, mv_err *err); /* instead of reading */

/* Runs a piece of a device's picture, or of its reports; false: it was the last piece. */
bool mv_document_show(mv_document *document, uint32_t device_row, mv_budget *budget);
bool mv_document_run_reports(mv_document *document, uint32_t device_row);

/* The reports of a device at MV_DEVICE_REPORTED. */
mv_reports mv_document_reports(const mv_document *document, const mv_document_device *device);

void mv_document_release(mv_document *document);

/* For a document of at least `least_events`: moves the existing data of the trace and a device to
 * files (parse/model/spill.h), and releases memory of data that was moved before and read again
 * since. A viewer shows little of a long trace at a time, so most of it need not be in memory.
 * Called after each stage of a device, by the caller of the stages. */
void mv_document_spill(mv_document *document, uint32_t device_row, uint64_t least_events);

enum { MV_LONG_EVENTS = 500000 }; /* the default of a loader */

/* ---- a thread for these stages -------------------------------------------------------------- */

typedef struct mv_loader mv_loader;

/* One thread that prepares documents, in order; `threads` 0: mv_loader_add does all the work before
 * it returns; MV_COOPERATIVE (viz/core/background.h): mv_loader_run_one_task does it. Calls `wake(user)` after
 * each stage. */
mv_loader *mv_loader_open(mv_arena *arena, mv_budget *budget, uint32_t threads,
                          void (*wake)(void *), void *user);

/* Stops as soon as the current stage allocates memory or ends, and releases all documents: the
 * budget counts as spent until then. */
void mv_loader_close(mv_loader *loader);

/* NULL when out of memory. Texts are copied. Documents live until the loader is closed. */
mv_document *mv_loader_add(mv_loader *loader, const char *path, const char *level);

/* The document of the same file at another memory level: created on the first call, it shares the
 * trace that was read. NULL when out of memory. */
mv_document *mv_loader_level(mv_loader *loader, mv_document *document, const char *level);

/* A document with a trace and one device's lives, which the caller keeps until the loader is
 * closed. The device is shown and its reports run at once, on this thread; nothing is read,
 * recalled or saved. NULL when out of memory. */
mv_document *mv_loader_borrow(mv_loader *loader, const char *name, const mv_trace *trace,
                              const mv_lives *lives);

/* Prepares this device next; MV_NO_ROW: the document's largest. */
void mv_loader_prefer(mv_loader *loader, mv_document *document, uint32_t device_row);

/* With MV_COOPERATIVE: runs one stage of one document or device, or a piece of its reports. False:
 * nothing to do. */
bool mv_loader_run_one_task(mv_loader *loader);

bool mv_loader_is_idle(mv_loader *loader);

#endif
