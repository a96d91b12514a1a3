/* What a viewer shows of a long trace before it has read it: the outlines of its devices, kept from
 * the last run in $XDG_CACHE_HOME/memviz or ~/.cache/memviz. MEMVIZ_CACHE=off keeps none.
 *
 *     head       magic, version, devices, key of the trace's file, checksum of all of it
 *     devices    mv_saved_device each, in the byte order of the machine
 *
 * The name of a saved index is the key of the trace's file: a hash (XXH3, 128 bits) of its size,
 * the time of its last change, and its first, middle and last MiB. A file that changes has another
 * key. Only a change that keeps all of these goes unnoticed, and only until the trace has been
 * read: then the trace itself replaces the outline.
 *
 * A damaged index, or one of another version, counts as missing. If an index cannot be written,
 * there is none. Neither is an error. At most MV_SAVED_FILES are kept: those used most recently. */
#ifndef MV_SAVED_INDEX_H
#define MV_SAVED_INDEX_H

#include "viz/core/pyramid.h"

enum {
    MV_SAVED_COLUMNS = 2048,
    MV_SAVED_DEVICES = 64, /* 3.2 MB at most */
    MV_SAVED_FILES = 64,
    MV_SAVED_PATH = 3800
};

/* The extents of equal parts of a device's events. */
typedef struct {
    uint32_t device; /* ordinal */
    uint32_t events;
    uint32_t columns; /* min(events, MV_SAVED_COLUMNS) */
    uint32_t padding;
    uint64_t peak;                       /* allocated */
    uint64_t most_reserved;              /* the highest level */
    uint64_t least[MV_SAVED_COLUMNS];    /* [columns] allocated */
    uint64_t most[MV_SAVED_COLUMNS];     /* [columns] allocated */
    uint64_t reserved[MV_SAVED_COLUMNS]; /* [columns] highest */
} mv_saved_device;

typedef struct {
    uint64_t low, high;
} mv_saved_key;

typedef struct {
    uint32_t count;
    mv_saved_device *devices; /* [count] */
} mv_saved_index;

/* The folder for saved indexes; false: none are to be kept. It need not exist. */
bool mv_saved_folder(char folder[MV_SAVED_PATH]);

/* Makes it, and the folder that it is in, if it is not there. Failing is no error here. */
void mv_saved_folder_make(const char *folder);

/* False: the file cannot be read twice, or memory is out. `arena` is for temporary memory. */
bool mv_saved_key_of(mv_arena *arena, const char *path, mv_saved_key *out);

/* What the events alone show, in one pass, before lives are known: requested bytes in place of
 * allocated ones, on top of what the final heap says was there before. */
void mv_saved_device_sketch(uint32_t device, const mv_trace *trace, mv_saved_device *out);

void mv_saved_device_fill(uint32_t device, const mv_pyramid *pyramid, mv_saved_device *out);

/* False: there is no saved index, or it is damaged. */
bool mv_saved_index_read(mv_arena *arena, const char *folder, mv_saved_key key,
                         mv_saved_index *out);

/* Makes the folder if needed and removes the oldest when there are too many. False: nothing was
 * written. */
bool mv_saved_index_write(const char *folder, mv_saved_key key, const mv_saved_index *index);

#endif
