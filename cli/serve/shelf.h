/* The files that are served: those that were named, and the snapshots in the folders that were.
 * Each keeps its number while it is there, and until another file needs it; a request names it by
 * that and by its version, which changes when the file does. A thread makes each file's container
 * when it is first asked for and keeps it, within a bound; the containers that were asked for
 * longest ago go first.
 *
 * All but the thread belong to one other thread at a time. */
#ifndef MV_SHELF_H
#define MV_SHELF_H

#include "base/arena.h"
#include "base/err.h"

#define MV_SHELF_MOST 4096 /* files; what is beyond is not listed */

typedef struct mv_shelf mv_shelf;

typedef struct {
    uint32_t id;
    const char *name; /* the path, without the folder that all files of the list are in */
    uint64_t bytes, version;
    int64_t modified_ms;
} mv_shelf_file;

typedef struct {
    mv_shelf_file *files; /* [count] in the order of the command line, in folders by name: 2 < 10 */
    uint32_t count;
    uint32_t left_out; /* files of folders that were not looked at: there are too many */
} mv_shelf_list;

/* Memory for traces comes from `budget`, as does the arena's. A file or folder that is not there is
 * an error with its name. `paths` must outlive the shelf. Containers of `most_kept` bytes are kept
 * at most, but for the newest one. */
mv_code mv_shelf_open(mv_arena *arena, const char *const *paths, uint32_t count, uint64_t most_kept,
                      mv_shelf **out, mv_err *err);

/* Ends the thread. Safe with NULL. */
void mv_shelf_close(mv_shelf *shelf);

/* Looks at the files and folders again. The rows are in `arena`; names are the shelf's, until the
 * next look. When the list is full, files take the places of those that are gone. */
mv_code mv_shelf_look(mv_shelf *shelf, mv_arena *arena, mv_shelf_list *out, mv_err *err);

typedef enum {
    MV_SHELF_ABSENT, /* no such file, or it is not there any more */
    MV_SHELF_STALE,  /* it is another version now */
    MV_SHELF_MAKING, /* its container is being made */
    MV_SHELF_READY,
    MV_SHELF_FAILED
} mv_shelf_state;

typedef struct {
    mv_shelf_state state;
    const char *path;           /* of all but ABSENT */
    double progress;            /* of MAKING: from 0 to 1 */
    int fd;                     /* of READY: the caller's to close */
    uint64_t bytes;             /* of READY */
    char why[MV_ERR_TEXT + 32]; /* of FAILED: one line */
} mv_shelf_answer;

/* The file's container; the first time it is only begun. */
void mv_shelf_container(mv_shelf *shelf, uint32_t id, uint64_t version, mv_shelf_answer *out);

/* The file as it is. */
void mv_shelf_original(mv_shelf *shelf, uint32_t id, uint64_t version, mv_shelf_answer *out);

#endif
