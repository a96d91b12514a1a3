/* What the dialogue for opening a file needs of a file system: a table of functions, so that a
 * build without files has none. Paths are as they are typed; "" is the folder where the program
 * runs. */
#ifndef MV_FILE_SYSTEM_H
#define MV_FILE_SYSTEM_H

#include "base/arena.h"

enum { MV_MOST_LISTED = 2000, MV_MOST_RECENT = 20, MV_FILE_PATH = 4096 };

typedef struct {
    const char *name; /* the last component; of a recent file its path */
    uint64_t bytes;   /* 0 for folders */
    int64_t modified; /* seconds since 1970, UTC */
    bool is_folder;   /* it can be entered */
    bool is_snapshot; /* its name ends as a snapshot's does */
    bool is_session;  /* it ends with .session */
} mv_file_entry;

typedef struct {
    uint32_t count;
    mv_file_entry *rows; /* [count] */
} mv_file_listing;

typedef struct {
    /* What is in a folder: snapshots and sessions first, the newest of them first; then folders,
     * then other files, by name. Hidden ones are left out, and what is more than MV_MOST_LISTED.
     * False: it cannot be read. Everything lives in `arena`. */
    bool (*list)(mv_arena *arena, const char *folder, mv_file_listing *out);
    /* The files that were opened last, the latest first, and only those that are still there. */
    void (*recent)(mv_arena *arena, mv_file_listing *out);
    /* Remembers that a file was opened. False: the disk is full, and the list is as it was. */
    bool (*remember)(const char *path);
    bool (*is_folder)(const char *path);
    const char *(*home)(void); /* NULL: not known */
} mv_file_system;

/* The disk's. Recent files are a list in the folder of saved indexes (view/document/saved_index.h),
 * which only the user can read. */
extern const mv_file_system mv_disk_files;

/* Whether a name ends as those of snapshots do. */
bool mv_is_snapshot_name(const char *name);

#endif
