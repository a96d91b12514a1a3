/* An open snapshot: its trace, and for each device the data that the panes show. A loader thread
 * computes the data step by step while the window is already in use.
 *
 *     waiting ──► reading ──► opened          the trace is read: devices, annotations, stacks
 *                    └──► failed              `failure` has the reason, with the byte offset
 *     each device:   waiting ──► living ──► shown ──► judged
 *                              lives      index,    leaks, fragmentation,
 *                                         pyramid   ooms, peak, categories
 *
 * Once `stage` has reached a stage, the data of that stage no longer changes. Readers load `stage`
 * (acquire) and do not use data of later stages. The shown device is prepared first, and then the
 * other devices, those with the most events first. */
#pragma once

#include <stdatomic.h>

#include "analyze/advice/headline.h"
#include "analyze/advice/recording.h"
#include "analyze/code/sites.h"
#include "analyze/fragmentation/fragmentation.h"
#include "analyze/leaks/leaks.h"
#include "analyze/levels/levels.h"
#include "analyze/oom/oom.h"
#include "analyze/peak/peak.h"
#include "parse/readers.h"
#include "view/document/outline.h"
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
    MV_DEVICE_BUILDING_LIFETIMES, /* finding the lives of allocations and segments */
    MV_DEVICE_SHOWN,              /* lives, index and pyramid are ready */
    MV_DEVICE_REPORTED,           /* reports are ready */
    MV_DEVICE_FAILED              /* out of memory; see `failure` */
    /* If memory runs out during the reports, the device stays at MV_DEVICE_SHOWN, and
     * `is_unevaluated` is set. */
} mv_device_stage;

typedef struct {
    uint32_t device; /* ordinal */
    uint32_t events;
    bool has_lives; /* `lives` belongs to the caller of mv_loader_borrow */
    _Atomic int stage;
    _Atomic bool is_unevaluated;
    mv_arena arena;
    /* valid at MV_DEVICE_SHOWN and later */
    mv_lives lives;
    mv_lives segment_lives; /* the segments' lives, in the form of allocations */
    mv_index index;
    mv_index segment_index;
    mv_pyramid pyramid;
    uint64_t peak; /* highest number of allocated bytes */
    uint32_t peak_event;
    mv_site_colours site_colours;
    mv_trace_marks trace_marks;
    uint32_t calls; /* number of calls, if the events are parts of calls (level_calls.h); otherwise
                     * 0 */
    /* valid at MV_DEVICE_REPORTED */
    mv_leaks leaks;
    mv_leak_outlook outlook;
    mv_fragmentation fragmentation;
    mv_ooms ooms;
    mv_attribution attribution; /* attribution at the peak, without curve and parts; its categories
                                   cover all allocations. Empty if has_lives */
    mv_headline headline;       /* summary of all reports */
    uint32_t pieces; /* number of finished pieces of work, first on the picture and then on the
                      * reports; used only by the loader */
    mv_lives_search *lives_search;   /* the running search for lives; used only by the loader */
    mv_leak_search *leak_search;     /* the running search for leaks; used only by the loader */
    mv_growth_search *growth_search; /* the running search for growth; used only by the loader */
    mv_segment_growths growths;      /* used only by the loader */
    mv_peak_search *peak_search;     /* state of the search for the peak, like the next two members;
                                      * used only by the loader */
    mv_arena peak_arena;
    mv_attribution peak_found;
    const char *badge; /* short verdict, such as "3: leak" */
    mv_err failure;
} mv_document_device;

typedef struct mv_document mv_document;
struct mv_document {
    const char *path;
    const char *name;          /* last component of the path */
    const char *level;         /* value of --level (analyze/levels); "": the default */
    const mv_document *origin; /* a document that has already read the same file; NULL: this
                                  document reads it */
    _Atomic int stage;
    _Atomic uint64_t bytes_done, bytes_all; /* number of bytes of the file that have been read, and
                                               the file's size; 0: unknown */
    mv_err failure;                         /* the error at MV_DOCUMENT_FAILED */
    char why[512];            /* `failure` as a sentence, such as "FILE: byte N: unknown opcode" */
    mv_live_readers *readers; /* the trace may share their events; NULL: none */
    mv_arena arena;
    /* valid at MV_DOCUMENT_OPENED */
    mv_trace trace;
    mv_sites sites;
    uint32_t device_count;          /* number of devices with events or segments; may be 0 */
    mv_recording_contents contents; /* what the file contains, if it has no devices */
    bool is_missing_level;          /* there are no devices because the file has only other
                                       levels */
    mv_level_list levels;           /* the file's memory levels */
    mv_document_device *devices;
    uint32_t outline_count;       /* 0 if the trace is short or memory ran out */
    mv_outline *outlines;         /* [outline_count] */
    mv_document_device *reported; /* copies of the device, for reports of mv_document_prepare */
};

/* The stages, in the order in which a loader runs them. The arenas belong to the document. */
void mv_document_read(mv_document *document, mv_budget *budget, mv_read_opts opts);
mv_code mv_document_borrow(mv_document *document, const mv_trace *trace, const mv_lives *lives,
                           mv_budget *budget, mv_err *err); /* called instead of mv_document_read */

/* Makes the outlines of the devices if the document has at least `least_events` events. Called by
 * mv_document_read. */
void mv_document_sketch(mv_document *document, uint64_t least_events);

/* Makes the picture and the reports of a borrowed document's device, in parallel. Returns false when
 * out of memory. */
bool mv_document_prepare(mv_document *document, mv_budget *budget);

/* Run one piece of work on a device's picture, or on its reports. Return false if it was the last
 * piece. */
bool mv_document_show(mv_document *document, uint32_t device_row, mv_budget *budget);
bool mv_document_run_reports(mv_document *document, uint32_t device_row);

/* Returns the reports of a device at MV_DEVICE_REPORTED. */
mv_reports mv_document_reports(const mv_document *document, const mv_document_device *device);

void mv_document_release(mv_document *document);

/* Saves memory if the document has at least `least_events` events. Moves the data of the trace and
 * of a device to the budget's disk, if it has one. Data that was moved earlier may have been read back
 * into memory, and this memory is released as well. A viewer shows only a small part of a long
 * trace at a time, so most of the trace need not be in memory. Must be called after each stage of a
 * device, by the thread that runs the stages. */
void mv_document_file(mv_document *document, uint32_t device_row, uint64_t least_events);

enum { MV_LONG_EVENTS = 500000 }; /* the loader's default for `least_events` */

/* ---- a thread that runs these stages ----------------------------------------------------- */

typedef struct mv_loader mv_loader;

/* Opens a loader, which is one thread that prepares documents in order. `readers` may be NULL
 * (mv_read_opts). If `threads` is 0,
 * mv_loader_add does all the work before it returns. If it is MV_COOPERATIVE
 * (viz/core/background.h), mv_loader_run_one_task does the work. `wake(user)` is called after each
 * stage. */
mv_loader *mv_loader_open(mv_arena *arena, mv_budget *budget, uint32_t threads,
                          mv_live_readers *readers, void (*wake)(void *), void *user);

/* Stops as soon as the current stage allocates memory or ends, and releases all documents. Until
 * then, every allocation fails as if the budget were spent. */
void mv_loader_close(mv_loader *loader);

/* Adds a file. Returns NULL when out of memory. The strings are copied. The document stays valid
 * until the loader is closed. */
mv_document *mv_loader_add(mv_loader *loader, const char *path, const char *level);

/* Returns the document of the same file at another memory level. It is created on the first call
 * and shares the trace that was read. Returns NULL when out of memory. */
mv_document *mv_loader_level(mv_loader *loader, mv_document *document, const char *level);

/* Adds a document with a trace and the lives of one device, which the caller must keep until the
 * loader is closed. The device is shown and its reports are made at once, on this thread. No file
 * is read. Returns NULL when out of memory. */
mv_document *mv_loader_borrow(mv_loader *loader, const char *name, const mv_trace *trace,
                              const mv_lives *lives);

/* Makes the loader prepare this device next; MV_NO_ROW: the document's largest device. */
void mv_loader_prefer(mv_loader *loader, mv_document *document, uint32_t device_row);

/* With MV_COOPERATIVE: runs one stage of one document or device, or a piece of its reports. Returns
 * false if there is nothing to do. */
bool mv_loader_run_one_task(mv_loader *loader);

bool mv_loader_is_idle(mv_loader *loader);
