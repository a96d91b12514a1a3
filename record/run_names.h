/* The files of one run: which names the live files have while programs run, which files in a folder
 * belong to the run, and which names the results have.
 *
 *     -o out/run.%r.bin                    %p pid, %r rank (0 without one), %h host, %% a %
 *     out/run.bin.5f3a09c1.812.live        812 is the process. The number before it is the run's:
 *     out/run.bin.5f3a09c1.812.1.live      two runs with the same -o do not mix. .1: the second
 *                                          program that this process executed
 *     out/run.0.bin                        the result
 *
 * Other users may be able to write to the folder and to create files with such names in it. So only
 * regular files that belong to us and have a single link are read. Strings in them may become part
 * of a file name, but never of a path.
 *
 * If -o names one file and several processes were recorded, the result of the process with the
 * lowest rank or, if there are no ranks, of the process that started first has this name. The other
 * results are named run.r1.bin or run.812.bin. */
#pragma once

#include <limits.h>

#include "base/arena.h"
#include "base/err.h"

#define MV_RUN_DEFAULT   "memviz.%p.bin"
#define MV_NO_RANK_KNOWN (-1)

typedef struct {
    char output[PATH_MAX]; /* name given with -o */
    char live[PATH_MAX];   /* absolute path prefix; live files are named LIVE.PID[.N].live */
    int folder;            /* descriptor of the folder of both, which is kept open so that files
                            * are created in the same folder even if its path changes */
    uint32_t owner;        /* owner of the files that we create in the folder */
    int64_t launch_rank;   /* the launcher's own rank, if a launcher is started for each rank */
} mv_run_names;

/* Finds the names. `output` NULL: MV_RUN_DEFAULT. Fails if no result can be written, because the
 * folder does not exist, no file can be created in it, or the output is a folder or a device. */
mv_code mv_run_names_make(const char *output, mv_run_names *out, mv_err *err);
void mv_run_names_close(mv_run_names *names);

/* A live file of this run, with the facts that it contains about its process. */
typedef struct {
    const char *path;
    uint32_t pid;
    uint32_t image; /* N in the file's name: 0 for the first program that the process executed */
    int64_t rank;   /* rank of the process; MV_NO_RANK_KNOWN: none */
    int64_t start_us;
    const char *host;
    const char *visible;      /* value of the process's CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *device_order; /* value of its CUDA_DEVICE_ORDER; NULL: not set */
    bool is_running;          /* a process has the file open or mapped for writing */
    bool is_empty;            /* there was no space for its first chunk, or the process was
                               * killed before it wrote one */
    const char *refused;      /* why the file is not accepted as a file of this run; NULL: it is
                               * accepted */
    uint64_t device, inode;   /* numbers that identify the file when it is opened again */
    const char *result;       /* path of the result, set by mv_run_names_assign */
} mv_run_file;

/* Returns true if a name in the folder is the name of a live file of this run. */
bool mv_run_names_is_live(const mv_run_names *names, const char *entry, uint32_t *pid,
                          uint32_t *image);

/* Lists the live files of this run, sorted by rank and then by start time. Files without a rank are
 * last. */
mv_code mv_run_names_list(mv_arena *arena, const mv_run_names *names, mv_run_file **files,
                          uint32_t *count, mv_err *err);

/* Opens the folded part of a listed file (capture/wire_folded.h); -1: the file has no folded
 * part. */
int mv_run_names_open_folded(const mv_run_names *names, const mv_run_file *file);

/* mv_run_names_open opens a listed file for reading; mv_run_names_remove removes it together with
 * its folded part. They return -1 or false if the path no longer leads to the same file. */
int mv_run_names_open(const mv_run_names *names, const mv_run_file *file);
bool mv_run_names_remove(const mv_run_names *names, const mv_run_file *file);

/* Inserts a word before the extension: "run.bin" and "oom.1" become "run.oom.1.bin". */
void mv_run_names_insert(const char *path, const char *word, char *out, size_t size);

/* Assigns each accepted file a separate result. False when out of memory or if a name is too
 * long. */
bool mv_run_names_assign(mv_arena *arena, const mv_run_names *names, mv_run_file *files,
                         uint32_t count);
