/* From a live file to the compact `.bin` that users keep: the live file is read, completed with the
 * launcher's samples, written, and only then removed. */
#ifndef MV_FINALISE_H
#define MV_FINALISE_H

#include "cli/commands.h"
#include "record/nvml.h"
#include "record/run_names.h"

/* The figures of the closing line. */
typedef struct {
    uint64_t events; /* records: blocks, frees, OOMs, calls of CUDA, marks */
    uint64_t bytes;  /* of the result */
    uint64_t lost;
    char stopped[80]; /* why the recording ended before the program; "": it did not */
} mv_finalised;

/* Writes file->result. `nvml` may be NULL. On failure the live file is unchanged. Prints no
 * message. */
mv_code mv_finalise(mv_cli *cli, const mv_run_names *names, const mv_run_file *file,
                    const mv_nvml *nvml, mv_finalised *out, mv_err *err);

#endif
