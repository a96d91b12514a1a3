/* A small snapshot that is read while the page waits for a file.
 *
 * Browsers compile WebAssembly twice: first to slow code, then functions that have run for a while
 * to fast code, used from their next call on. Without warming up, slow code would read a long
 * file. */
#ifndef MV_WARM_H
#define MV_WARM_H

#include <stdint.h>

extern const uint8_t mv_warm_sample[];
extern const uint32_t mv_warm_sample_length;

#endif
