/* The report of `memviz top`: the memory that the recordings on the command line hold now. */
#ifndef MV_TOP_REPORT_H
#define MV_TOP_REPORT_H

#include "analyze/ledger/ledger.h"
#include "analyze/top/top.h"
#include "cli/live/followed.h"
#include "record/nvml.h"

/* The column by which the lines are sorted. */
typedef enum { MV_TOP_BY_BYTES, MV_TOP_BY_GROWN, MV_TOP_BY_AGE, MV_TOP_ORDERS } mv_top_order;

typedef struct {
    const char *path;
    mv_trace trace;              /* the trace of the reported level */
    const uint8_t *kinds;        /* kinds of the trace's frames */
    bool is_running;             /* its process is being recorded now */
    uint32_t first, end;         /* range of the reported devices */
    const mv_followed *followed; /* NULL: the file was read as a whole */
} mv_top_file;

/* Bytes that the calls of one library hold. */
typedef struct {
    const char *name; /* mv_library_name */
    uint64_t bytes;
} mv_top_library;

typedef struct {
    const mv_top_file *file;
    uint32_t device;
    mv_top top;
    uint64_t allocated, reserved; /* now */
    int64_t residual;             /* bytes of the final heap without a line */
    bool is_missing_reserved;     /* the file does not contain the reserved bytes */
    mv_ledger ledger;
    uint32_t library_count;
    mv_top_library *libraries; /* [library_count] most bytes first */
    mv_leak_verdict verdict;
    const char *why; /* why the verdict is unknown; NULL: it is known */
} mv_top_device;

typedef struct {
    mv_cli *cli;
    const mv_nvml *nvml; /* for running programs: their live files contain no samples yet */
    mv_top_order order;
    uint64_t limit;         /* rows of lines */
    const bool *is_running; /* [options.files]; NULL: none is */
    mv_followed *followed;  /* [options.files] state of the running ones; NULL: none is running */
    uint32_t file_count;
    mv_top_file *files; /* [file_count] */
    uint32_t count;
    mv_top_device *devices; /* [count] */
    mv_leak_verdict verdict;
} mv_top_report;

/* Reads the files and computes the whole report in the command's arena. Returns false, with a
 * message, if that fails. */
bool mv_top_report_read(mv_cli *cli, mv_top_report *out);

/* Sorts the lines of all devices. */
void mv_top_report_sort(mv_top_report *report, mv_top_order order);

void mv_top_report_put(const mv_top_report *report);

#endif
