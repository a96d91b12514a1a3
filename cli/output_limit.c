#include "cli/output_limit.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_FILE_OUTPUT (UINT64_C(1) << 30)
#define OUTPUT_OF_BYTE    1024

/* Returns the current size of a regular file (output may be appended to a log). */
static uint64_t length_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

void mv_output_limit(uint64_t input_bytes)
{
    uint64_t most = length_of(STDOUT_FILENO), other = length_of(STDERR_FILENO);
    struct rlimit limit;

    if (input_bytes > (UINT64_MAX >> 1) / OUTPUT_OF_BYTE || getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return;
    most = (most > other ? most : other) + SMALL_FILE_OUTPUT + input_bytes * OUTPUT_OF_BYTE;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > most) {
        limit.rlim_cur = (rlim_t)most;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
}
