/* A small snapshot that is read while the page waits for a file.
 *
 * Browsers compile WebAssembly twice. They start with slow code, and later recompile functions that
 * have run for a while into fast code, which is used from the next call. If the functions were not
 * run in advance on this snapshot, a long file would be read by slow code. */
#ifndef MV_WARM_H
#define MV_WARM_H

#include <stdint.h>

extern const uint8_t mv_warm_sample[];
extern const uint32_t mv_warm_sample_length;

#endif
