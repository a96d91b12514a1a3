/* The files of `ranks` and `summarize`, read side by side into summaries. */
#ifndef MV_RANK_FILES_H
#define MV_RANK_FILES_H

#include "analyze/ranks/summary.h"
#include "cli/commands.h"

/* One file of the command line. A snapshot gives a summary for each device that it used; a file of
 * summaries gives those. */
typedef struct {
    const char *path;
    mv_err err;     /* code MV_OK when it was read */
    uint32_t count; /* of summaries */
    mv_summary *summaries;
    mv_budget budget; /* its share while it is read, and what is kept */
    mv_arena arena;   /* of the summaries */
} mv_rank_file;

typedef struct {
    uint32_t count;
    mv_rank_file *files; /* [count] in the order of the command line */
    uint32_t failed;     /* files that could not be read */
} mv_rank_files;

/* Reads all files of the command line, several at once, each in its share of the memory; what does
 * not fit into a share is read again alone. A file that cannot be read does not keep the others
 * from it: its `err` says why. --device leaves one device of each. False, with a message, when
 * there is no memory to begin. mv_rank_files_release must be called. */
bool mv_rank_files_read(mv_cli *cli, mv_rank_files *out);
void mv_rank_files_release(mv_rank_files *files);

#endif
