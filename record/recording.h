/* A recording runs a program with the shim loaded, and converts the live files of the program and
 * its child processes to result files.
 *
 *     mv_recording_open(&r, arena, output, &err);
 *     mv_recording_run(&r, &program, &status, &err);
 *     mv_recording_collect(&r, &watch, &count, &err);
 *     mv_recording_close(&r);
 *
 * These functions print nothing. */
#pragma once

#include "record/control.h"
#include "record/finalise.h"
#include "record/steering.h"
#include "record/trigger.h"

/* Called when a file was written because a condition was met; if it was not written, `err` has the
 * reason. Called in a separate process, while the program runs. */
typedef void mv_recording_kept(void *user, const char *path, const char *why, uint64_t bytes,
                               const mv_err *err);

typedef struct {
    mv_arena *arena;
    mv_run_names names;
    mv_nvml nvml;
    mv_run_status status;
    mv_control control;
    mv_steering steering;
    mv_finalise_edit *edit; /* changes everything that is written; may be set after
                             * mv_recording_open */
    void *user;
    mv_rings rings;
    mv_triggers triggers;
    mv_recording_kept *kept;
    void *kept_user;
    bool is_sampling;  /* whether NVML was loaded, or was found to be missing */
    uint32_t pause_ms; /* milliseconds until the next sample */
} mv_recording;

/* The program and the settings of its recording; see mv_launch. */
typedef struct {
    char *const *argv;
    const char *stacks;
    bool cpu, wait_free, nvtx_all;
    mv_ring_bounds bounds;
    mv_trigger_opts triggers;
} mv_recorded_program;

/* The result for the live file of one process. */
typedef enum {
    MV_RECORDING_WRITTEN, /* the result was written, and the live file was removed */
    MV_RECORDING_REFUSED, /* not a file of this run; file->refused has the reason */
    MV_RECORDING_EMPTY,   /* nothing was recorded, and the live file was removed */
    MV_RECORDING_RUNNING, /* the process is still running and recording */
    MV_RECORDING_FAILED   /* `err` has the reason, and the live file is unchanged */
} mv_recording_outcome;

typedef struct {
    const mv_run_file *file;
    mv_recording_outcome outcome;
    mv_finalised result; /* for WRITTEN: figures of the result */
    mv_err err;          /* for FAILED: the reason */
} mv_recording_file;

/* Functions with which a caller shows progress while files are completed. */
typedef struct {
    void (*file)(void *user, const mv_recording_file *file); /* called once for each file; not
                                                              * NULL */
    /* Called for each process that continues without a file, such as a daemon. Later recordings of
     * these processes remain in live files. NULL: these processes are not searched for. */
    void (*goes_on)(void *user, uint32_t pid);
    mv_finalise_watch finalise;
    void *user;
} mv_recording_watch;

/* Opens a recording. `output` is the argument of -o, or NULL (record/run_names.h). Fails if no
 * result can be written. */
mv_code mv_recording_open(mv_recording *r, mv_arena *arena, const char *output, mv_err *err);

/* Sets the function that is called for files of --on. Must be called before mv_recording_run. */
void mv_recording_watch_kept(mv_recording *r, mv_recording_kept *kept, void *user);

/* Runs the program until it ends, and samples the GPUs during the run. See mv_launch_run for
 * *status. */
mv_code mv_recording_run(mv_recording *r, const mv_recorded_program *program, int *status,
                         mv_err *err);

/* Completes the live files of the run; *count is set to their number. Waits up to a second for
 * processes that are still running. Fails if the folder cannot be read or memory runs out; the live
 * files are then unchanged. */
mv_code mv_recording_collect(mv_recording *r, const mv_recording_watch *watch, uint32_t *count,
                             mv_err *err);

/* Writes file->result in the open folder `folder` while the process continues. The live file is not
 * removed. */
mv_code mv_recording_copy(mv_recording *r, const mv_run_file *file, int folder, mv_finalised *out,
                          mv_err *err);

void mv_recording_close(mv_recording *r);
