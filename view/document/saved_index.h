/* Outlines of the devices in a long trace, which are shown until the trace has been read. Each run
 * saves them for the next one, in $XDG_CACHE_HOME/memviz or ~/.cache/memviz. With MEMVIZ_CACHE=off,
 * none are saved.
 *
 *     head       magic, version, devices, key of the trace's file, checksum of the whole index
 *     devices    one mv_saved_device each, in the machine's byte order
 *
 * The file name of a saved index is the key of the trace's file, a hash (XXH3, 128 bits) of the
 * file's size, the time of its last change, and its first, middle and last MiB. If the file
 * changes, so does its key, unless the change affects none of these. In that case the old outline
 * is shown until the trace has been read.
 *
 * An index that is damaged or has a different version counts as missing, and if an index cannot be
 * written, nothing is saved. Neither case is an error. The MV_SAVED_FILES most recently used
 * indexes are kept. */
#ifndef MV_SAVED_INDEX_H
#define MV_SAVED_INDEX_H

#include "viz/core/pyramid.h"

enum {
    MV_SAVED_COLUMNS = 2048,
    MV_SAVED_DEVICES = 64, /* maximum number of devices in an index, which is then up to 3.2 MB
                            * large */
    MV_SAVED_FILES = 64,
    MV_SAVED_PATH = 3800
};

/* The extents of a device's events, divided into equal parts. */
typedef struct {
    uint32_t device; /* ordinal */
    uint32_t events;
    uint32_t columns; /* min(events, MV_SAVED_COLUMNS) */
    uint32_t padding;
    uint64_t peak;                       /* highest number of allocated bytes */
    uint64_t most_reserved;              /* highest number of reserved bytes */
    uint64_t least[MV_SAVED_COLUMNS];    /* [columns] lowest number of allocated bytes in each
                                            column */
    uint64_t most[MV_SAVED_COLUMNS];     /* [columns] highest number of allocated bytes in each
                                            column */
    uint64_t reserved[MV_SAVED_COLUMNS]; /* [columns] highest number of reserved bytes in each
                                            column */
} mv_saved_device;

typedef struct {
    uint64_t low, high;
} mv_saved_key;

typedef struct {
    uint32_t count;
    mv_saved_device *devices; /* [count] */
} mv_saved_index;

/* Writes the path of the folder for saved indexes, which may not exist yet. Returns false if no
 * indexes are saved. */
bool mv_saved_folder(char folder[MV_SAVED_PATH]);

/* Creates the folder and its parent if they are missing. Errors are ignored. */
void mv_saved_folder_make(const char *folder);

/* Computes the key of a file. Returns false if the file cannot be read twice, or if memory ran out.
 * `arena` is used for temporary memory. */
bool mv_saved_key_of(mv_arena *arena, const char *path, mv_saved_key *out);

/* Makes an outline from only the events, in one pass, before lives are known. It counts requested
 * bytes instead of allocated bytes, on top of the memory that must have existed before the first
 * event according to the final heap. */
void mv_saved_device_sketch(uint32_t device, const mv_trace *trace, mv_saved_device *out);

void mv_saved_device_fill(uint32_t device, const mv_pyramid *pyramid, mv_saved_device *out);

/* Returns false if there is no saved index, or if it is damaged. */
bool mv_saved_index_read(mv_arena *arena, const char *folder, mv_saved_key key,
                         mv_saved_index *out);

/* Creates the folder if needed, and removes the oldest index if there are too many. Returns false
 * if nothing was written. */
bool mv_saved_index_write(const char *folder, mv_saved_key key, const mv_saved_index *index);

#endif
