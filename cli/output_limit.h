/* How long the files may become that a command writes: a stack that the input says once may be
 * spelled out for each event. */
#ifndef MV_OUTPUT_LIMIT_H
#define MV_OUTPUT_LIMIT_H

#include <stdint.h>

/* For the rest of the process: 1 GiB, and 1 KiB for each byte of the input. A real recording of 30
 * MB as a container is 9 GB with all stacks spelled out. It counts from the end of the files that
 * standard output and standard error are appended to. Pipes have no limit; one that the system has
 * already stays when it is lower. */
void mv_output_limit(uint64_t input_bytes);

#endif
