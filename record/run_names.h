/* The files of one run: what live files are called while programs run, which of those in a folder
 * are this run's, and what each result is called.
 *
 *     -o out/run.%r.bin          %p pid, %r rank (0 where there is none), %h host, %% a %
 *     out/run.bin.5f3a09c1.812.live        512 is the process; the number ahead of it is the run's,
 *     out/run.bin.5f3a09c1.812.1.live      so that two runs with one -o do not mix; .1: the second
 *                                          program that this process became
 *     out/run.0.bin              the result
 *
 * Others may be able to write to the folder, and put files of that name there. Only regular files
 * of our own, with one name, are read; and what they say becomes a part of a name, never of a path.
 *
 * Where -o names one file and several processes were recorded, the one with the lowest rank, or
 * else the first to begin, gets that name, and the others run.r1.bin or run.812.bin. */
#ifndef MV_RUN_NAMES_H
#define MV_RUN_NAMES_H

#include <limits.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

#define MV_RUN_DEFAULT   "memviz.%p.bin"
#define MV_NO_RANK_KNOWN (-1)

typedef struct {
    char output[PATH_MAX]; /* as it was given */
    char live[PATH_MAX];   /* absolute: live files are LIVE.PID[.N].live */
    int folder;            /* of both, open: whatever becomes of its path, files are in this one */
    uint32_t owner;        /* of files that we make there */
    int64_t launch_rank;   /* of the launcher itself, when one is started for each rank */
} mv_run_names;

/* `output` NULL: MV_RUN_DEFAULT. Fails when it can be known already that no result can be put
 * there: its folder is not there or no file can be made in it, or it is a folder or a device
 * itself. */
mv_code mv_run_names_make(const char *output, mv_run_names *out, mv_err *err);
void mv_run_names_close(mv_run_names *names);

/* A live file of this run, and what it says of its process. */
typedef struct {
    const char *path;
    uint32_t pid;
    uint32_t image; /* N of its name: 0 for the first */
    int64_t rank;   /* MV_NO_RANK_KNOWN: it has none */
    int64_t start_us;
    const char *host;
    const char *visible;    /* CUDA_VISIBLE_DEVICES as the process had it; NULL: not set */
    bool is_running;        /* someone has it open, or mapped, to write to it */
    bool is_empty;          /* no space was found for its first chunk */
    const char *refused;    /* why it is not taken for this run's; NULL: it is */
    uint64_t device, inode; /* by which it is known when it is opened again */
    const char *result;     /* filled by mv_run_names_assign */
} mv_run_file;

/* The live files of this run: by rank, those without one behind, then by start. */
mv_code mv_run_names_list(mv_arena *arena, const mv_run_names *names, mv_run_file **files,
                          uint32_t *count, mv_err *err);

/* The file of a path that is listed, to be read, or removed if it is still the same; -1 and false
 * when it is not. */
int mv_run_names_open(const mv_run_names *names, const mv_run_file *file);
bool mv_run_names_remove(const mv_run_names *names, const mv_run_file *file);

/* Gives each file that is not refused a result of its own. False when memory is out or a name is
 * too long. */
bool mv_run_names_assign(mv_arena *arena, const mv_run_names *names, mv_run_file *files,
                         uint32_t count);

#endif
