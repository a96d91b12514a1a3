/* The files of one run: what live files are called while programs run, which of those in a folder
 * are this run's, and what each result is called.
 *
 *     -o out/run.%r.bin          %p pid, %r rank (0 where there is none), %h host, %% a %
 *     out/run.bin.5f3a09c1.812.live        512 is the process; the number ahead of it is the run's,
 *     out/run.bin.5f3a09c1.812.1.live      so that two runs with one -o do not mix; .1: the second
 *                                          program that this process became
 *     out/run.0.bin              the result
 *
 * Where -o names one file and several processes were recorded, the one with the lowest rank, or
 * else the first to begin, gets that name, and the others run.r1.bin or run.812.bin. */
#ifndef MV_RUN_NAMES_H
#define MV_RUN_NAMES_H

#include <limits.h>
#include <stdbool.h>

#include "parse/base/arena.h"
#include "parse/base/err.h"

#define MV_RUN_DEFAULT   "memviz.%p.bin"
#define MV_NO_RANK_KNOWN (-1)

typedef struct {
    char output[PATH_MAX]; /* as it was given */
    char live[PATH_MAX];   /* absolute: live files are LIVE.PID[.N].live */
    int64_t launch_rank;   /* of the launcher itself, when one is started for each rank */
} mv_run_names;

/* `output` NULL: MV_RUN_DEFAULT. Fails when its folder is not there or cannot be written to. */
mv_code mv_run_names_make(const char *output, mv_run_names *out, mv_err *err);

/* A live file of this run, and what it says of its process. */
typedef struct {
    const char *path;
    uint32_t pid;
    uint32_t image; /* N of its name: 0 for the first */
    int64_t rank;   /* MV_NO_RANK_KNOWN: it has none */
    int64_t start_us;
    const char *host;
    const char *visible; /* CUDA_VISIBLE_DEVICES as the process had it; NULL: not set */
    bool is_running;
    const char *result; /* filled by mv_run_names_assign */
} mv_run_file;

/* The live files of this run: by rank, those without one behind, then by start. */
mv_code mv_run_names_list(mv_arena *arena, const mv_run_names *names, mv_run_file **files,
                          uint32_t *count, mv_err *err);

/* Gives each file a result of its own. False when memory is out or a name is too long. */
bool mv_run_names_assign(mv_arena *arena, const mv_run_names *names, mv_run_file *files,
                         uint32_t count);

#endif
