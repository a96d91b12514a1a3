/* The served files: named files, and the snapshots in named folders. Each file keeps its number at
 * least as long as it exists; after that another file may reuse the number. A request names a file
 * by its number and its version, which changes whenever the file changes. A thread builds each
 * file's container on the first request and caches it. The cache is bounded, and evicts the least
 * recently requested containers first. Between requests, the thread finds the verdicts on listed
 * files, the smallest file first, and keeps each verdict until its file changes.
 *
 * Apart from that thread, only one thread at a time may use an mv_served_files. */
#pragma once

#include "analyze/totals/bounds.h"

#define MV_SERVED_MOST 4096 /* maximum number of listed files */

typedef struct mv_served_files mv_served_files;

/* One line about a file's contents for the list: the peak, the triage's worst verdict
 * (analyze/advice/triage.h), and damaged parts. */
typedef enum { MV_SERVED_NOT_READ, MV_SERVED_READ, MV_SERVED_UNREADABLE } mv_served_stage;

typedef struct {
    mv_served_stage stage;
    char text[MV_ERR_TEXT + 32]; /* for UNREADABLE: the reason, in one line. For READ: the sentence
                                  * about the worst problem, or without a problem the reason why
                                  * leaks are unknown, or "no problem found" */
    /* The following members are valid for READ: */
    uint32_t devices, problems;
    uint64_t allocated, reserved; /* bytes at the peaks of the device that holds the most;
                                   * MV_NO_BYTES: unknown */
    mv_bound bound;               /* how exact `allocated` is */
    const char *kind;             /* label of the worst problem, such as "LEAK"; "": no problem was
                                   * found */
    char damaged[96];             /* the first damaged part that was skipped; "": none */
} mv_served_verdict;

typedef struct {
    uint32_t id;
    const char *name; /* the path, without the directory that all listed files have in common */
    uint64_t bytes, version;
    int64_t modified_ms;
    bool is_live; /* a recording that is still being written. Its version changes when there is new
                   * data, but not while the file is being read, nor for ten times as long
                   * afterwards */
    mv_served_verdict verdict;
} mv_served_files_file;

typedef struct {
    mv_served_files_file
        *files; /* [count] in the order of the command line, and within a directory sorted by name
                 * (2 before 10) */
    uint32_t count;
    uint32_t left_out; /* number of files in directories that were not examined, because there are
                        * too many */
} mv_served_files_list;

/* Opens the named files and directories. Memory for traces comes from `budget`, as does the
 * arena's. A missing file or directory is an error that names it. `paths` must outlive the result.
 * Up to `most_kept` bytes of containers are cached, not counting the newest container. */
mv_code mv_served_files_open(mv_arena *arena, const char *const *paths, uint32_t count,
                             uint64_t most_kept, mv_served_files **out, mv_err *err);

/* Stops the thread. Does nothing for NULL. */
void mv_served_files_close(mv_served_files *served);

/* Allows the thread to start finding verdicts. A request for a container interrupts it, and it then
 * starts again on the interrupted file later. */
void mv_served_files_find_verdicts(mv_served_files *served);

/* Scans the files and directories again. The rows are allocated in `arena`, but their names stay
 * valid only until the next scan. If the list is full, new files replace deleted ones. */
mv_code mv_served_files_look(mv_served_files *served, mv_arena *arena, mv_served_files_list *out,
                             mv_err *err);

typedef enum {
    MV_SERVED_FILE_ABSENT, /* the file never existed, or no longer exists */
    MV_SERVED_FILE_STALE,  /* the file has a different version now */
    MV_SERVED_FILE_MAKING, /* the file's container is being made */
    MV_SERVED_FILE_READY,
    MV_SERVED_FILE_FAILED
} mv_served_files_state;

typedef struct {
    mv_served_files_state state;
    const char *path;           /* path of the file, except for ABSENT */
    double progress;            /* for MAKING: progress from 0 to 1 */
    int fd;                     /* for READY: descriptor, which the caller closes */
    uint64_t bytes;             /* for READY: length of the file */
    char why[MV_ERR_TEXT + 32]; /* for FAILED: the reason, in one line */
} mv_served_files_answer;

/* Answers with the file's container. If there is none yet, starts building it and answers
 * MAKING. */
void mv_served_files_container(mv_served_files *served, uint32_t id, uint64_t version,
                               mv_served_files_answer *out);

/* Answers with the original file. */
void mv_served_files_original(mv_served_files *served, uint32_t id, uint64_t version,
                              mv_served_files_answer *out);
