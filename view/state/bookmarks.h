/* The user's notes, each at a place: plain data, part of a session. Back and Forward do not change
 * them. */
#ifndef MV_BOOKMARKS_H
#define MV_BOOKMARKS_H

#include <stdbool.h>
#include <stdint.h>

enum { MV_MOST_BOOKMARKS = 32, MV_BOOKMARK_NAME = 400, MV_BOOKMARK_LEVEL = 64 };

typedef struct {
    uint32_t file, device; /* rows of the documents and of their devices */
    uint32_t cursor;       /* the moment after this event, or MV_BEFORE */
    double from, to;       /* the window shown */
    bool has_interval;
    uint32_t a, b;                 /* selected events [a, b) */
    char name[MV_BOOKMARK_NAME];   /* its text: UTF-8, NUL-terminated, never empty */
    char level[MV_BOOKMARK_LEVEL]; /* memory level of these events; "": each file's default */
} mv_bookmark;

/* In order of creation. */
typedef struct {
    uint32_t count;
    mv_bookmark rows[MV_MOST_BOOKMARKS];
} mv_bookmarks;

#endif
