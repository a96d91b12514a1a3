/* Limits the length of output files, because a stack that is stored only once in the input may be
 * written out for every event. */
#pragma once

#include <stdint.h>

/* Sets the limit for the rest of the process: 1 GiB, plus 1 KiB for each byte of the input. (A real
 * recording, 30 MB as a container, takes 9 GB with all stacks written out.) Bytes that were already
 * in the files to which standard output and standard error append do not count. Pipes have no
 * limit. A lower limit that the system already imposes is kept. */
void mv_output_limit(uint64_t input_bytes);
