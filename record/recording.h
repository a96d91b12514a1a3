/* A recording: a program is run under the shim, and what was recorded of it and of the processes
 * that it started becomes files.
 *
 *     mv_recording_open(&r, arena, output, &err);
 *     mv_recording_run(&r, &program, &status, &err);
 *     mv_recording_collect(&r, &watch, &count, &err);
 *     mv_recording_close(&r);
 *
 * Prints nothing. */
#ifndef MV_RECORDING_H
#define MV_RECORDING_H

#include "record/finalise.h"
#include "record/run_status.h"

typedef struct {
    mv_arena *arena;
    mv_run_names names;
    mv_nvml nvml;
    mv_run_status status;
    bool is_sampling;  /* NVML is loaded, or was found to be missing */
    uint32_t pause_ms; /* to the next sample */
} mv_recording;

/* The program and what is recorded of it; see mv_launch. */
typedef struct {
    char *const *argv;
    const char *stacks;
    bool cpu, wait_free, nvtx_all;
} mv_recorded_program;

/* What became of the live file of one process. */
typedef enum {
    MV_RECORDING_WRITTEN, /* its result is written; the live file is gone */
    MV_RECORDING_REFUSED, /* it is not a file of this run: file->refused says why */
    MV_RECORDING_EMPTY,   /* nothing was recorded; the live file is gone */
    MV_RECORDING_RUNNING, /* the process still runs and records */
    MV_RECORDING_FAILED   /* `err` says why; the live file is unchanged */
} mv_recording_outcome;

typedef struct {
    const mv_run_file *file;
    mv_recording_outcome outcome;
    mv_finalised result; /* of WRITTEN */
    mv_err err;          /* of FAILED */
} mv_recording_file;

/* What a caller shows while files are completed. */
typedef struct {
    void (*file)(void *user, const mv_recording_file *file); /* called once for each; not NULL */
    /* Called for processes that go on without a file, such as daemons; NULL: they are not looked
     * for. What they record later stays in live files. */
    void (*goes_on)(void *user, uint32_t pid);
    mv_finalise_watch finalise;
    void *user;
} mv_recording_watch;

/* `output` is that of -o, or NULL (record/run_names.h). Fails when it is clear that no result can
 * be written. */
mv_code mv_recording_open(mv_recording *r, mv_arena *arena, const char *output, mv_err *err);

/* Runs the program to its end and samples the GPUs meanwhile; see mv_launch_run for *status. */
mv_code mv_recording_run(mv_recording *r, const mv_recorded_program *program, int *status,
                         mv_err *err);

/* Completes the live files of the run; *count is how many there are. Waits up to a second for
 * processes that still run. Fails when the folder cannot be read or memory runs out: the live files
 * are unchanged then. */
mv_code mv_recording_collect(mv_recording *r, const mv_recording_watch *watch, uint32_t *count,
                             mv_err *err);

void mv_recording_close(mv_recording *r);

#endif
