/* Places that the user named: plain data, part of a session. Back and forward leave them alone. */
#ifndef MV_BOOKMARKS_H
#define MV_BOOKMARKS_H

#include <stdbool.h>
#include <stdint.h>

enum { MV_MOST_BOOKMARKS = 32, MV_BOOKMARK_NAME = 64, MV_BOOKMARK_LEVEL = 64 };

typedef struct {
    uint32_t file, device; /* rows of the documents and of their devices */
    uint32_t cursor;       /* the moment after this event, or MV_BEFORE */
    double from, to;       /* the window that was shown */
    bool has_interval;
    uint32_t a, b;                 /* selected events [a, b) */
    char name[MV_BOOKMARK_NAME];   /* UTF-8, NUL-terminated, never empty */
    char level[MV_BOOKMARK_LEVEL]; /* of memory, whose events these are; "": each file's default */
} mv_bookmark;

/* In the order in which they were set. */
typedef struct {
    uint32_t count;
    mv_bookmark rows[MV_MOST_BOOKMARKS];
} mv_bookmarks;

#endif
