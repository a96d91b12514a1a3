/* An opened snapshot: its trace, and for each device what the panes need. A loader thread finds it
 * step by step while the window is already in use.
 *
 *     waiting ──► reading ──► opened          the trace is there: devices, annotations, stacks
 *                    └──► failed              `failure` says why, with the byte offset
 *     each device:   waiting ──► living ──► shown ──► judged
 *                              lives      index,    leaks, fragmentation,
 *                                         pyramid   ooms, peak, categories
 *
 * What a stage made is constant once `stage` has reached it; readers load `stage` (acquire) and use
 * nothing of later stages. Devices are made ready in the order of their events, largest first; the
 * one that is shown goes first. */
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
    MV_DEVICE_LIVING, /* lives are being found */
    MV_DEVICE_SHOWN,  /* lives, index, pyramid are there */
    MV_DEVICE_JUDGED, /* and the reports */
    MV_DEVICE_FAILED  /* `failure` says why: memory */
    /* A device stays shown if memory ran out during its reports; `is_unjudged` is set then. */
} mv_device_stage;

typedef struct {
    uint32_t device; /* ordinal */
    uint32_t events;
    bool has_lives; /* from the start: they are the caller's of mv_loader_borrow */
    _Atomic int stage;
    _Atomic bool is_unjudged;
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
    /* from MV_DEVICE_JUDGED on */
    mv_leaks leaks;
    mv_leak_outlook outlook;
    mv_fragmentation fragmentation;
    mv_ooms ooms;
    mv_attribution attribution; /* empty if has_lives; at the peak, without its curve and parts; its
                                   categories are those of all allocations */
    mv_headline headline;       /* of all reports */
    uint32_t judged;            /* pieces of them that are done; used by the loader only */
    mv_growth_search *growth_search; /* likewise, while there is one */
    mv_segment_growths growths;      /* likewise */
    const char *badge;               /* short: "3: leak" */
    mv_err failure;
} mv_document_device;

typedef struct mv_document mv_document;
struct mv_document {
    const char *path;
    const char *name;          /* the last component */
    const char *level;         /* of memory (analyze/levels): a text of --level; "": the default */
    const mv_document *origin; /* of the same file, which it has read; NULL: this reads the file */
    _Atomic int stage;
    _Atomic uint64_t bytes_done, bytes_all; /* of the file; 0: not known */
    /* Outlines saved by an earlier run, until the trace has been read. */
    mv_arena saved_arena;
    mv_saved_index saved; /* constant once has_saved is set */
    mv_saved_key key;
    bool has_key;
    bool is_sketch; /* `saved` was made from this run's events. Also constant then */
    _Atomic bool has_saved;
    mv_err failure; /* of MV_DOCUMENT_FAILED */
    char why[512];  /* likewise, as a sentence: "FILE: byte N: what is wrong" */
    mv_arena arena;
    mv_spilled spilled; /* used by the loader only */
    /* from MV_DOCUMENT_OPENED on */
    mv_trace trace;
    mv_sites sites;
    uint32_t device_count;          /* that have events or segments; may be 0 */
    mv_recording_contents contents; /* without devices: what is in it instead */
    bool lacks_level;               /* without devices: the file has other levels */
    mv_level_list levels;           /* that the file has */
    mv_document_device *devices;
};

/* Looks for outlines of an earlier run before reading. Saves those of a trace of at least
 * `least_events` once all its devices are shown, if its file has not changed since. */
void mv_document_recall(mv_document *document, mv_budget *budget);
void mv_document_remember(const mv_document *document, uint64_t least_events);

/* The stages, one by one: what a loader does. The arenas are those of the document. */
void mv_document_read(mv_document *document, mv_budget *budget, mv_read_opts opts);
mv_code mv_document_borrow(mv_document *document, const mv_trace *trace, const mv_lives *lives,
                           mv_budget *budget, mv_err *err); /* instead of reading */
void mv_document_show(mv_document *document, uint32_t device_row, mv_budget *budget);

/* A piece of the reports; false: that was the last one. */
bool mv_document_judge(mv_document *document, uint32_t device_row);

/* The reports of a device at MV_DEVICE_JUDGED. */
mv_reports mv_document_reports(const mv_document *document, const mv_document_device *device);

void mv_document_release(mv_document *document);

/* For a document of at least `least_events`: moves what the trace and a device have made so far to
 * files (parse/model/spill.h), and releases memory of what was moved before and has been read
 * since. A viewer looks at little of a long trace, so most of it need not be in memory. Called
 * after each stage of a device, by the caller of the stages. */
void mv_document_spill(mv_document *document, uint32_t device_row, uint64_t least_events);

enum { MV_LONG_EVENTS = 500000 }; /* what is asked of a loader */

/* ---- a thread that does it ---------------------------------------------------------------- */

typedef struct mv_loader mv_loader;

/* One thread that prepares documents, in order; `threads` 0: mv_loader_add does all of it before it
 * returns; MV_IN_TURNS (viz/core/background.h): mv_loader_turn does it. `wake(user)` after each
 * stage. */
mv_loader *mv_loader_open(mv_arena *arena, mv_budget *budget, uint32_t threads,
                          void (*wake)(void *), void *user);

/* Stops as soon as the current stage asks for memory or ends, and releases all documents: the
 * budget counts as spent while it waits. */
void mv_loader_close(mv_loader *loader);

/* NULL when memory is out. Texts are copied. Documents live until the loader is closed. */
mv_document *mv_loader_add(mv_loader *loader, const char *path, const char *level);

/* The document of the same file that has another level of its memory: it is made when it is asked
 * for the first time, and shares what the file was read into. NULL when memory is out. */
mv_document *mv_loader_level(mv_loader *loader, mv_document *document, const char *level);

/* A document of a trace and of one device's lives, which the caller keeps until the loader is
 * closed. The device is shown and judged at once, by this thread; nothing is read, recalled or
 * saved. NULL when memory is out. */
mv_document *mv_loader_borrow(mv_loader *loader, const char *name, const mv_trace *trace,
                              const mv_lives *lives);

/* Prepares this device next; MV_NO_ROW: the largest of the document. */
void mv_loader_prefer(mv_loader *loader, mv_document *document, uint32_t device_row);

/* With MV_IN_TURNS: does one stage of one document or device, or a piece of its reports. False:
 * there is nothing to do. */
bool mv_loader_turn(mv_loader *loader);

bool mv_loader_is_idle(mv_loader *loader);

#endif
