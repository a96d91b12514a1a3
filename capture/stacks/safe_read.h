/* Reads memory of this process that may not be mapped, and returns false if it is not. Costs two
 * system calls, so use it rarely. Sets errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool mv_peek(uint64_t address, void *out, size_t bytes);
