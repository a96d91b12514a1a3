/* The files of `ranks` and `summarize`, read in parallel into summaries. */
#ifndef MV_RANK_FILES_H
#define MV_RANK_FILES_H

#include "analyze/ranks/shared_parts.h"
#include "cli/commands.h"

/* One file of the command line. A snapshot gives one summary for each device that was used; a
 * summary file gives those that it contains. */
typedef struct {
    const char *path;
    bool is_file;    /* mv_input_is_file */
    mv_err err;      /* code MV_OK when it was read */
    mv_note damaged; /* the note MV_NOTE_DAMAGED of a snapshot */
    uint32_t count;  /* number of summaries */
    mv_summary *summaries;
    mv_arena arena; /* holds the summaries, and parts that summaries of other files share */
} mv_rank_file;

typedef struct {
    uint32_t count;
    mv_rank_file *files; /* [count] in the order of the command line */
    uint32_t failed;     /* files that could not be read */
    mv_shared_parts shared;
} mv_rank_files;

/* Reads all files of the command line, several at once. Reading and all summaries share the
 * command's memory limit. A file that ran out of memory while others were read is read again
 * alone. A file that cannot be read does not affect the others: its `err` contains the reason;
 * the caller prints it. Damaged parts are reported. --device keeps one device of each file.
 * False, with a message, if there is no memory to start with. mv_rank_files_release must be
 * called in any case. */
bool mv_rank_files_read(mv_cli *cli, mv_rank_files *out);
void mv_rank_files_release(mv_rank_files *files);

#endif
