/* Outlines of a long trace's devices, shown before the trace has been read. They are kept from the
 * last run in $XDG_CACHE_HOME/memviz or ~/.cache/memviz; MEMVIZ_CACHE=off keeps none.
 *
 *     head       magic, version, devices, key of the trace's file, checksum of the whole index
 *     devices    one mv_saved_device each, in the machine's byte order
 *
 * The name of a saved index is the key of the trace's file: a hash (XXH3, 128 bits) of its size,
 * the time of its last change, and its first, middle and last MiB. A changed file has a different
 * key. A change is missed only if it keeps all of these, and only until the trace has been read:
 * then the trace itself replaces the outline.
 *
 * A damaged index, or one of another version, counts as missing. An index that cannot be written is
 * left out. Neither is an error. Up to MV_SAVED_FILES are kept: the most recently used ones. */
#ifndef MV_SAVED_INDEX_H
#define MV_SAVED_INDEX_H

#include "viz/core/pyramid.h"

enum {
    MV_SAVED_COLUMNS = 2048,
    MV_SAVED_DEVICES = 64, /* up to 3.2 MB */
    MV_SAVED_FILES = 64,
    MV_SAVED_PATH = 3800
};

/* The extents of a device's events, divided into equal parts. */
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

/* The folder for saved indexes; false: none are kept. It need not exist. */
bool mv_saved_folder(char folder[MV_SAVED_PATH]);

/* Creates the folder and its parent if missing. Failures are ignored. */
void mv_saved_folder_make(const char *folder);

/* False: the file cannot be read twice, or memory ran out. `arena` is for temporary memory. */
bool mv_saved_key_of(mv_arena *arena, const char *path, mv_saved_key *out);

/* Makes an outline from events alone, in one pass, before lives are known: requested bytes instead
 * of allocated bytes, on top of the memory that the final heap shows was there before. */
void mv_saved_device_sketch(uint32_t device, const mv_trace *trace, mv_saved_device *out);

void mv_saved_device_fill(uint32_t device, const mv_pyramid *pyramid, mv_saved_device *out);

/* False: no saved index, or it is damaged. */
bool mv_saved_index_read(mv_arena *arena, const char *folder, mv_saved_key key,
                         mv_saved_index *out);

/* Creates the folder if needed and removes the oldest index when there are too many. False: nothing
 * was written. */
bool mv_saved_index_write(const char *folder, mv_saved_key key, const mv_saved_index *index);

#endif
