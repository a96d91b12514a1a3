/* The served files: named files, and the snapshots in named folders. Each keeps its number while it
 * exists, and until another file needs the number. A request names a file by its number and its
 * version, which changes with the file. A thread builds each file's container on the first request
 * and caches it, within a bound; the least recently requested containers are evicted first. Between
 * requests, it finds the verdicts of listed files, the smallest first, and keeps them until the file
 * changes.
 *
 * Apart from that thread, only one thread at a time may use an mv_served_files. */
#ifndef MV_SERVED_FILES_H
#define MV_SERVED_FILES_H

#include "analyze/totals/bounds.h"

#define MV_SERVED_MOST 4096 /* maximum number of listed files */

typedef struct mv_served_files mv_served_files;

/* The contents of a file in one line, for the list: the peak, the worst verdict of the triage
 * (analyze/advice/triage.h), and damaged parts. */
typedef enum { MV_SERVED_NOT_READ, MV_SERVED_READ, MV_SERVED_UNREADABLE } mv_served_stage;

typedef struct {
    mv_served_stage stage;
    char text[MV_ERR_TEXT + 32]; /* of UNREADABLE: why, in one line. Of READ: the sentence of the
                                    worst problem; without any, why leaks are unknown, or "no
                                    problem found" */
    /* of READ: */
    uint32_t devices, problems;
    uint64_t allocated, reserved; /* at the peaks of the device that holds most; MV_NO_BYTES:
                                     unknown */
    mv_bound bound;               /* of allocated */
    const char *kind;             /* of the worst problem: "LEAK"; "": none was found */
    char damaged[96];             /* the first damaged part that was skipped; "": none */
} mv_served_verdict;

typedef struct {
    uint32_t id;
    const char *name; /* the path, without the folder common to all files of the list */
    uint64_t bytes, version;
    int64_t modified_ms;
    bool is_live; /* being written: its version changes when there is new data, but not while it is
                   * being read, nor for ten times as long afterwards */
    mv_served_verdict verdict;
} mv_served_files_file;

typedef struct {
    mv_served_files_file
        *files; /* [count] in the order of the command line, in folders by name: 2 < 10 */
    uint32_t count;
    uint32_t left_out; /* files of folders that were not examined: too many */
} mv_served_files_list;

/* Memory for traces comes from `budget`, as does the arena's. A missing file or folder is an error
 * with its name. `paths` must outlive the result. Up to `most_kept` bytes of containers are cached,
 * not counting the newest one. */
mv_code mv_served_files_open(mv_arena *arena, const char *const *paths, uint32_t count,
                             uint64_t most_kept, mv_served_files **out, mv_err *err);

/* Ends the thread. Safe with NULL. */
void mv_served_files_close(mv_served_files *served);

/* Lets the thread find verdicts from this call on. A request for a container interrupts it; it
 * begins that file again later. */
void mv_served_files_find_verdicts(mv_served_files *served);

/* Scans the files and folders again. The rows are in `arena`; names stay valid until the next scan.
 * If the list is full, new files replace deleted ones. */
mv_code mv_served_files_look(mv_served_files *served, mv_arena *arena, mv_served_files_list *out,
                             mv_err *err);

typedef enum {
    MV_SERVED_FILE_ABSENT, /* no such file, or it no longer exists */
    MV_SERVED_FILE_STALE,  /* it has another version now */
    MV_SERVED_FILE_MAKING, /* its container is being made */
    MV_SERVED_FILE_READY,
    MV_SERVED_FILE_FAILED
} mv_served_files_state;

typedef struct {
    mv_served_files_state state;
    const char *path;           /* for all except ABSENT */
    double progress;            /* for MAKING: from 0 to 1 */
    int fd;                     /* for READY: the caller closes it */
    uint64_t bytes;             /* of READY */
    char why[MV_ERR_TEXT + 32]; /* for FAILED: one line */
} mv_served_files_answer;

/* Returns the file's container; the first call only starts building it. */
void mv_served_files_container(mv_served_files *served, uint32_t id, uint64_t version,
                               mv_served_files_answer *out);

/* Returns the original file. */
void mv_served_files_original(mv_served_files *served, uint32_t id, uint64_t version,
                              mv_served_files_answer *out);

#endif
