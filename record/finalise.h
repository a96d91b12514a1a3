/* From a live file to the compact `.bin` that users keep: the live file is read, completed with the
 * launcher's samples and the user's marks, and written. */
#ifndef MV_FINALISE_H
#define MV_FINALISE_H

#include "parse/readers.h"
#include "record/nvml.h"
#include "record/run_marks.h"
#include "record/run_names.h"

/* Progress shown by a caller. All may be NULL. */
typedef struct {
    void (*phase)(void *user,
                  const char *what); /* "reading the capture"; NULL: the phase is over */
    mv_progress_fn *progress;        /* of the phase */
    void *user;
} mv_finalise_watch;

/* The figures of a result. */
typedef struct {
    uint64_t events; /* see mv_recorded_count */
    uint64_t bytes;  /* of the file */
    uint64_t lost;
    char stopped[80]; /* why the recording ended before the program; "": it did not */
} mv_finalised;

/* Changes a trace before it is written; memory is of `arena`. */
typedef mv_code mv_finalise_edit(void *user, mv_arena *arena, mv_trace *trace, mv_err *err);

typedef struct {
    const mv_run_names *names;
    const mv_run_file *file;
    int folder;          /* of file->result */
    const mv_nvml *nvml; /* may be NULL */
    const mv_run_marks *marks;
    mv_finalise_edit *edit; /* NULL: it is written as it is */
    void *user;
} mv_finalise_task;

/* Writes file->result. The live file stays as it is: the caller removes it. */
mv_code mv_finalise(mv_budget *budget, const mv_finalise_task *task, const mv_finalise_watch *watch,
                    mv_finalised *out, mv_err *err);

#endif
