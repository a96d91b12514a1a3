/* The files of one run: the names of the live files while programs run, which files in a folder
 * belong to this run, and the names of the results.
 *
 *     -o out/run.%r.bin                    %p pid, %r rank (0 without one), %h host, %% a %
 *     out/run.bin.5f3a09c1.812.live        812 is the process. The number before it is the run's:
 *     out/run.bin.5f3a09c1.812.1.live      two runs with the same -o do not mix. .1: the second
 *                                          program that this process executed
 *     out/run.0.bin                        the result
 *
 * Other users may be able to write to the folder and to put files with such names there. So only
 * regular files that belong to us and have one name are read, and their contents become part of a
 * file name, never of a path.
 *
 * If -o names one file and several processes were recorded, the process with the lowest rank, or
 * else the first one that started, gets that name; the others get run.r1.bin or run.812.bin. */
#ifndef MV_RUN_NAMES_H
#define MV_RUN_NAMES_H

#include <limits.h>

#include "base/arena.h"
#include "base/err.h"

#define MV_RUN_DEFAULT   "memviz.%p.bin"
#define MV_NO_RANK_KNOWN (-1)

typedef struct {
    char output[PATH_MAX]; /* as given with -o */
    char live[PATH_MAX];   /* absolute: live files are LIVE.PID[.N].live */
    int folder;            /* of both, kept open: files stay in it even if its path changes */
    uint32_t owner;        /* of the files that we create there */
    int64_t launch_rank;   /* the launcher's own rank, if one launcher is started for each rank */
} mv_run_names;

/* `output` NULL: MV_RUN_DEFAULT. Fails if no result can be written: the folder does not exist, no
 * file can be created in it, or the output is a folder or a device. */
mv_code mv_run_names_make(const char *output, mv_run_names *out, mv_err *err);
void mv_run_names_close(mv_run_names *names);

/* A live file of this run, with its facts about its process. */
typedef struct {
    const char *path;
    uint32_t pid;
    uint32_t image; /* N of its name: 0 for the first */
    int64_t rank;   /* MV_NO_RANK_KNOWN: none */
    int64_t start_us;
    const char *host;
    const char *visible;      /* the process's CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *device_order; /* its CUDA_DEVICE_ORDER; NULL: not set */
    bool is_running;          /* a process has it open or mapped for writing */
    bool is_empty;            /* no space for its first chunk, or killed before it */
    const char *refused;      /* why it is not read as a file of this run; NULL: it is read */
    uint64_t device, inode;   /* identify it when it is opened again */
    const char *result;       /* filled by mv_run_names_assign */
} mv_run_file;

/* Whether a name in the folder is that of a live file of this run. */
bool mv_run_names_is_live(const mv_run_names *names, const char *entry, uint32_t *pid,
                          uint32_t *image);

/* The live files of this run: by rank, files without a rank last, then by start. */
mv_code mv_run_names_list(mv_arena *arena, const mv_run_names *names, mv_run_file **files,
                          uint32_t *count, mv_err *err);

/* Opens the folded part of a listed file (capture/wire_folded.h); -1: it has none. */
int mv_run_names_open_folded(const mv_run_names *names, const mv_run_file *file);

/* Opens a listed file for reading, or removes it, with its folded part. -1 and false if the path no longer leads to the
 * same file. */
int mv_run_names_open(const mv_run_names *names, const mv_run_file *file);
bool mv_run_names_remove(const mv_run_names *names, const mv_run_file *file);

/* "run.bin" and "oom.1" make "run.oom.1.bin". */
void mv_run_names_insert(const char *path, const char *word, char *out, size_t size);

/* Gives each accepted file its own result. False if memory runs out or a name is too long. */
bool mv_run_names_assign(mv_arena *arena, const mv_run_names *names, mv_run_file *files,
                         uint32_t count);

#endif
