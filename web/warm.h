/* A small snapshot that is read while the page waits for a file.
 *
 * Browsers compile WebAssembly twice: at once, for slow code, and for fast code what has run for a
 * while, from its next call on. A long file would be read by slow code. */
#ifndef MV_WARM_H
#define MV_WARM_H

#include <stdint.h>

extern const uint8_t mv_warm_sample[];
extern const uint32_t mv_warm_sample_length;

#endif
