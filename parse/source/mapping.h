/* A file mapped into memory that may shrink while it is read.
 *
 * Reading a page that is gone raises SIGBUS, which would end the program. Here such pages become
 * zeros, and the mapping remembers it: after reading, ask whether the file was whole. */
#ifndef MV_MAPPING_H
#define MV_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    void *data; /* NULL: nothing is mapped */
    uint64_t bytes;
    uint32_t slot;
} mv_mapping;

/* Maps the first `bytes` of a file for reading. False when that is not possible, or too many files
 * are mapped already: then it has to be read. From any thread. */
bool mv_mapping_open(int fd, uint64_t bytes, mv_mapping *out);

/* Whether a page was gone when it was read. */
bool mv_mapping_is_torn(const mv_mapping *mapping);

/* Safe on a zeroed or closed one. */
void mv_mapping_close(mv_mapping *mapping);

#endif
