/* From a live file to the compact `.bin` that users keep: the live file is read, completed with the
 * launcher's samples, written, and only then removed. */
#ifndef MV_FINALISE_H
#define MV_FINALISE_H

#include "parse/readers.h"
#include "record/nvml.h"
#include "record/run_names.h"

/* Progress shown by a caller. All may be NULL. */
typedef struct {
    void (*phase)(void *user,
                  const char *what); /* "reading the capture"; NULL: the phase is over */
    mv_progress_fn *progress;        /* of the phase */
    void *user;
    bool keeps_live; /* the live file stays: its process goes on */
} mv_finalise_watch;

/* The figures of a result. */
typedef struct {
    uint64_t events; /* see mv_recorded_count */
    uint64_t bytes;  /* of the file */
    uint64_t lost;
    char stopped[80]; /* why the recording ended before the program; "": it did not */
} mv_finalised;

/* Writes file->result. `nvml` may be NULL. On failure the live file is unchanged. */
mv_code mv_finalise(mv_budget *budget, const mv_run_names *names, const mv_run_file *file,
                    const mv_nvml *nvml, const mv_finalise_watch *watch, mv_finalised *out,
                    mv_err *err);

#endif
