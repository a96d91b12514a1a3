/* Converts a live file to the compact `.bin` file that users keep. The live file is read, the
 * launcher's samples and the user's marks are added, and the result is written. */
#pragma once

#include "parse/readers.h"
#include "record/nvml.h"
#include "record/run_marks.h"
#include "record/run_names.h"

/* Functions with which a caller shows progress. All of them may be NULL. */
typedef struct {
    void (*phase)(void *user,
                  const char *what); /* "reading the capture"; NULL: the phase has ended */
    mv_progress_fn *progress;        /* progress within the phase */
    void *user;
} mv_finalise_watch;

/* Figures about a result. */
typedef struct {
    uint64_t events; /* number of recorded objects (mv_recorded_count) */
    uint64_t bytes;  /* size of the file in bytes */
    uint64_t lost;
    char stopped[80]; /* why the recording ended before the program did; "": it did not */
} mv_finalised;

/* Changes a trace before it is written. Memory is allocated from `arena`. */
typedef mv_code mv_finalise_edit(void *user, mv_arena *arena, mv_trace *trace, mv_err *err);

typedef struct {
    const mv_run_names *names;
    const mv_run_file *file;
    int folder;          /* descriptor of the folder of file->result */
    const mv_nvml *nvml; /* may be NULL */
    const mv_run_marks *marks;
    mv_finalise_edit *edit; /* changes the trace; NULL: the trace is written unchanged */
    void *user;
} mv_finalise_task;

/* Writes file->result. The live file is not changed; the caller removes it. */
mv_code mv_finalise(mv_budget *budget, const mv_finalise_task *task, const mv_finalise_watch *watch,
                    mv_finalised *out, mv_err *err);
