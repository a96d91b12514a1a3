/* Reading memory of our own process that may not be there: false instead of a crash. Two system
 * calls, so only for what happens seldom. Sets errno. */
#ifndef MV_SAFE_READ_H
#define MV_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool mv_peek(uint64_t address, void *out, size_t bytes);

#endif
