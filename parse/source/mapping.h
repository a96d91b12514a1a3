/* Maps a file that may shrink while it is read.
 *
 * Reading a lost page raises SIGBUS, which would end the program. Here, lost pages become zeros,
 * and the mapping records the loss, so callers must check after reading whether the file was
 * complete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    void *data; /* the mapped bytes; NULL: nothing is mapped */
    uint64_t bytes;
    uint32_t slot;
} mv_mapping;

/* Maps the first `bytes` of a file for reading. Returns false if the file cannot be mapped or too
 * many files are mapped; the caller must then read the file instead. Can be called from any
 * thread. */
bool mv_mapping_open(int fd, uint64_t bytes, mv_mapping *out);

/* Returns true if a page was lost while the file was being read. */
bool mv_mapping_is_torn(const mv_mapping *mapping);

/* Safe to call on a zeroed or closed mapping. */
void mv_mapping_close(mv_mapping *mapping);
