/* File system access for the dialogue that opens files. It is a table of functions, so that a build
 * without file access can leave it out. Paths are as the user typed them; "" is the working
 * directory. */
#pragma once

#include "base/arena.h"

enum { MV_MOST_LISTED = 2000, MV_MOST_RECENT = 20, MV_FILE_PATH = 4096 };

typedef struct {
    const char *name; /* last component of the path; for a recent file, the whole path */
    uint64_t bytes;   /* size of the file; 0 for folders */
    int64_t modified; /* time of the last change, in seconds since 1970, UTC */
    bool is_folder;   /* a folder that can be entered */
    bool is_snapshot; /* the name has a snapshot's extension */
    bool is_session;  /* the name has the extension .session */
} mv_file_entry;

typedef struct {
    uint32_t count;
    mv_file_entry *rows; /* [count] */
} mv_file_listing;

typedef struct {
    /* Lists a folder: snapshots and sessions first, newest first; then folders, then other files,
     * sorted by name. Hidden files are omitted, and so is everything after the first MV_MOST_LISTED
     * entries. Returns false if the folder cannot be read. Everything is allocated in `arena`. */
    bool (*list)(mv_arena *arena, const char *folder, mv_file_listing *out);
    /* Lists the files that were opened last, latest first, without files that no longer exist. */
    void (*recent)(mv_arena *arena, mv_file_listing *out);
    /* Adds a file to the recent files. Returns false if the disk is full; the list is then
     * unchanged. */
    bool (*remember)(const char *path);
    bool (*is_folder)(const char *path);
    const char *(*home)(void); /* returns the home directory; NULL: unknown */
    /* Whether the tour should begin by itself. It should if it has never been finished, and if the
     * program can record that it has been. */
    bool (*offers_tour)(void);
    void (*tour_ended)(void);
} mv_file_system;

/* Functions that access the disk. The list of recent files, `recent`, and the mark that the tour has
 * ended, `tour`, are stored in $XDG_CACHE_HOME/memviz or ~/.cache/memviz, which only the user can
 * read. With MEMVIZ_CACHE=off, neither is stored. */
extern const mv_file_system mv_disk_files;
