/* A recording: runs a program under the shim, and turns the recordings of the program and its child
 * processes into files.
 *
 *     mv_recording_open(&r, arena, output, &err);
 *     mv_recording_run(&r, &program, &status, &err);
 *     mv_recording_collect(&r, &watch, &count, &err);
 *     mv_recording_close(&r);
 *
 * Prints nothing. */
#ifndef MV_RECORD_RECORDING_H
#define MV_RECORD_RECORDING_H

#include "record/control.h"
#include "record/finalise.h"
#include "record/steering.h"
#include "record/trigger.h"

/* A file was written because a condition was met, or `err` says why not. Called in a process of its
 * own, beside the running program. */
typedef void mv_recording_kept(void *user, const char *path, const char *why, uint64_t bytes,
                               const mv_err *err);

typedef struct {
    mv_arena *arena;
    mv_run_names names;
    mv_nvml nvml;
    mv_run_status status;
    mv_control control;
    mv_steering steering;
    mv_finalise_edit *edit; /* of everything that is written; may be set once it is open */
    void *user;
    mv_rings rings;
    mv_triggers triggers;
    mv_recording_kept *kept;
    void *kept_user;
    bool is_sampling;  /* NVML is loaded, or was found missing */
    uint32_t pause_ms; /* to the next sample */
} mv_recording;

/* The program and its recording settings; see mv_launch. */
typedef struct {
    char *const *argv;
    const char *stacks;
    bool cpu, wait_free, nvtx_all;
    mv_ring_bounds bounds;
    mv_trigger_opts triggers;
} mv_recorded_program;

/* The result for the live file of one process. */
typedef enum {
    MV_RECORDING_WRITTEN, /* its result is written; the live file is removed */
    MV_RECORDING_REFUSED, /* not a file of this run: file->refused has the reason */
    MV_RECORDING_EMPTY,   /* nothing was recorded; the live file is removed */
    MV_RECORDING_RUNNING, /* the process is still running and recording */
    MV_RECORDING_FAILED   /* `err` has the reason; the live file is unchanged */
} mv_recording_outcome;

typedef struct {
    const mv_run_file *file;
    mv_recording_outcome outcome;
    mv_finalised result; /* of WRITTEN */
    mv_err err;          /* of FAILED */
} mv_recording_file;

/* Progress shown by a caller while files are completed. */
typedef struct {
    void (*file)(void *user, const mv_recording_file *file); /* called once for each; not NULL */
    /* Called for processes that continue without a file, such as daemons; NULL: they are not
     * searched for. Their later recordings stay in live files. */
    void (*goes_on)(void *user, uint32_t pid);
    mv_finalise_watch finalise;
    void *user;
} mv_recording_watch;

/* `output` is the argument of -o, or NULL (record/run_names.h). Fails if no result can be
 * written. */
mv_code mv_recording_open(mv_recording *r, mv_arena *arena, const char *output, mv_err *err);

/* For the files of --on. Before mv_recording_run. */
void mv_recording_watch_kept(mv_recording *r, mv_recording_kept *kept, void *user);

/* Runs the program to its end and samples the GPUs during the run; see mv_launch_run for
 * *status. */
mv_code mv_recording_run(mv_recording *r, const mv_recorded_program *program, int *status,
                         mv_err *err);

/* Completes the live files of the run; *count is their number. Waits up to a second for processes
 * that are still running. Fails if the folder cannot be read or memory runs out: the live files are
 * unchanged then. */
mv_code mv_recording_collect(mv_recording *r, const mv_recording_watch *watch, uint32_t *count,
                             mv_err *err);

/* Writes file->result, in an open folder, while the process goes on; the live file stays. */
mv_code mv_recording_copy(mv_recording *r, const mv_run_file *file, int folder, mv_finalised *out,
                          mv_err *err);

void mv_recording_close(mv_recording *r);

#endif
