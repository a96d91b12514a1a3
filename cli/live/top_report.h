/* The report of `memviz top`: who holds memory now, according to the recordings on the command
 * line. */
#pragma once

#include "analyze/ledger/ledger.h"
#include "analyze/top/top.h"
#include "cli/live/followed.h"
#include "record/nvml.h"

/* The column that lines are sorted by. */
typedef enum { MV_TOP_BY_BYTES, MV_TOP_BY_GROWN, MV_TOP_BY_AGE, MV_TOP_ORDERS } mv_top_order;

typedef struct {
    const char *path;
    mv_trace trace;              /* the file's trace on the reported level */
    const uint8_t *kinds;        /* kinds of the trace's frames */
    bool is_running;             /* its process is being recorded now */
    uint32_t first, end;         /* range of the reported devices */
    const mv_followed *followed; /* NULL: the file was read as a whole */
} mv_top_file;

/* The bytes that one library holds through its calls. */
typedef struct {
    const char *name; /* mv_library_name */
    uint64_t bytes;
} mv_top_library;

typedef struct {
    const mv_top_file *file;
    uint32_t device;
    mv_top top;
    uint64_t allocated, reserved; /* now */
    int64_t residual;             /* bytes in the final heap that no line accounts for */
    bool is_missing_reserved;     /* the file does not record reserved memory */
    mv_ledger ledger;
    uint32_t library_count;
    mv_top_library *libraries; /* [library_count] sorted by bytes, largest first */
    mv_leak_verdict verdict;
    const char *why; /* why the verdict is unknown; NULL: it is known */
} mv_top_device;

typedef struct {
    mv_cli *cli;
    const mv_nvml *nvml; /* supplies the device's use for running programs, because live files
                          * contain no samples yet */
    mv_top_order order;
    uint64_t limit;         /* maximum number of lines to show */
    const bool *is_running; /* [options.files] which files are being recorded; NULL: none */
    mv_followed *followed;  /* [options.files] state of each file being recorded; NULL: no file is
                             * being recorded */
    uint32_t file_count;
    mv_top_file *files; /* [file_count] */
    uint32_t count;
    mv_top_device *devices; /* [count] */
    mv_leak_verdict verdict;
} mv_top_report;

/* Reads the files and computes the whole report in the command's arena. Returns false, with a
 * message, if that fails. */
bool mv_top_report_read(mv_cli *cli, mv_top_report *out);

/* Sorts the lines of every device. */
void mv_top_report_sort(mv_top_report *report, mv_top_order order);

void mv_top_report_put(const mv_top_report *report);
