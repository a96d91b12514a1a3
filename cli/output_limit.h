/* Limits the length of output files: a stack that is stored once in the input may be written out
 * for each event. */
#ifndef MV_OUTPUT_LIMIT_H
#define MV_OUTPUT_LIMIT_H

#include <stdint.h>

/* Sets the limit until the process ends: 1 GiB, plus 1 KiB for each byte of the input. A real
 * recording of 30 MB as a container is 9 GB with all stacks written out. Bytes that are already in
 * the files to which standard output and standard error append do not count. Pipes have no limit; a
 * lower existing limit of the system stays. */
void mv_output_limit(uint64_t input_bytes);

#endif
