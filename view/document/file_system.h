/* File system access for the dialogue that opens files: a table of functions, so that a build
 * without files can leave it out. Paths are as typed; "" is the program's working directory. */
#ifndef MV_FILE_SYSTEM_H
#define MV_FILE_SYSTEM_H

#include "base/arena.h"

enum { MV_MOST_LISTED = 2000, MV_MOST_RECENT = 20, MV_FILE_PATH = 4096 };

typedef struct {
    const char *name; /* the last component; for a recent file, its path */
    uint64_t bytes;   /* 0 for folders */
    int64_t modified; /* seconds since 1970, UTC */
    bool is_folder;   /* a folder that can be entered */
    bool is_snapshot; /* its name ends like a snapshot's */
    bool is_session;  /* its name ends with .session */
} mv_file_entry;

typedef struct {
    uint32_t count;
    mv_file_entry *rows; /* [count] */
} mv_file_listing;

typedef struct {
    /* The content of a folder: snapshots and sessions first, newest first; then folders, then other
     * files, by name. Hidden files are omitted, and so is everything beyond MV_MOST_LISTED. False:
     * it cannot be read. Everything is allocated in `arena`. */
    bool (*list)(mv_arena *arena, const char *folder, mv_file_listing *out);
    /* The files opened last, latest first; files that no longer exist are omitted. */
    void (*recent)(mv_arena *arena, mv_file_listing *out);
    /* Adds a file to the recent files. False: the disk is full, and the list is unchanged. */
    bool (*remember)(const char *path);
    bool (*is_folder)(const char *path);
    const char *(*home)(void); /* NULL: unknown */
    /* Whether the tour should begin by itself: it has not ended yet, and its end can be noted. */
    bool (*offers_tour)(void);
    void (*tour_ended)(void);
} mv_file_system;

/* The disk. Recent files are listed in the folder of saved indexes (view/document/saved_index.h),
 * which only the user can read. */
extern const mv_file_system mv_disk_files;

#endif
