/* Reads the files of `ranks` and `summarize` in parallel, and turns them into summaries. */
#pragma once

#include "analyze/ranks/shared_parts.h"
#include "cli/commands.h"

/* One file on the command line. A snapshot results in one summary for each device that was used. A
 * summary file results in the summaries that it contains. */
typedef struct {
    const char *path;
    bool is_file;    /* mv_input_is_file */
    mv_err err;      /* the error; its code is MV_OK if the file was read */
    mv_note damaged; /* a snapshot's note MV_NOTE_DAMAGED */
    uint32_t count;  /* number of summaries */
    mv_summary *summaries;
    mv_arena arena; /* holds the summaries, and parts that other files' summaries share */
} mv_rank_file;

typedef struct {
    uint32_t count;
    mv_rank_file *files; /* [count] in the order of the command line */
    uint32_t failed;     /* number of files that could not be read */
    mv_shared_parts shared;
} mv_rank_files;

/* Reads all files on the command line, several at once. Reading and all summaries share the
 * command's memory limit, and a file that ran out of memory while others were read is read again on
 * its own. A file that cannot be read does not affect the others: its `err` contains the reason,
 * which the caller prints. Damaged parts are reported. --device keeps one device of each file.
 * Returns false, with a message, if there is no memory to start with. Call mv_rank_files_release in
 * any case. */
bool mv_rank_files_read(mv_cli *cli, mv_rank_files *out);
void mv_rank_files_release(mv_rank_files *files);
