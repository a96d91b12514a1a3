/* The user's notes, each attached to a place. They are plain data and part of a session. Back and
 * Forward do not change them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MV_MOST_BOOKMARKS = 32, MV_BOOKMARK_NAME = 400, MV_BOOKMARK_LEVEL = 64 };

typedef struct {
    uint32_t file, device; /* row of the documents, and row of its devices */
    uint32_t cursor;       /* the event after which the note is placed; MV_BEFORE: before the first
                            * event */
    double from, to;       /* the events [from, to) that the window showed */
    bool has_interval;
    uint32_t a, b;                 /* the selected events [a, b) */
    char name[MV_BOOKMARK_NAME];   /* the note's text in UTF-8, NUL-terminated, never empty */
    char level[MV_BOOKMARK_LEVEL]; /* memory level that these events belong to; "": each file's
                                      default level */
} mv_bookmark;

/* The notes, in order of creation. */
typedef struct {
    uint32_t count;
    mv_bookmark rows[MV_MOST_BOOKMARKS];
} mv_bookmarks;
