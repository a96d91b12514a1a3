#include <fcntl.h>
#ifndef MV_POSIX
#include <malloc.h>
#endif

#include "base/processors.h"
#include "cli/confine/places.h"
#include "cli/program.h"

/* Replaces closed standard descriptors with descriptors that fail to read or write. Otherwise, a
 * file that is opened later would get the number of a standard descriptor, and printed text would
 * end up in it. In programs that are started, the descriptors are closed, as they were before. */
static void fill_numbers(void)
{
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) < 0 &&
            open("/dev/null", (number == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
            (void)open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A thread's first malloc reserves 64 MiB of address space, unless threads share a heap. If the
 * address space is limited (`ulimit -v`), threads share one, so that the reports can use the
 * space. */
static void share_heap(void)
{
#ifdef M_ARENA_MAX /* only glibc has it */
    if (mv_address_space() < UINT64_MAX)
        mallopt(M_ARENA_MAX, 1);
#endif
}

int main(int argc, char **argv)
{
    fill_numbers();
    share_heap();
    return mv_program_alone(argc, argv, mv_confine_command);
}
