#include <fcntl.h>
#ifndef MV_POSIX
#include <malloc.h>
#endif

#include "base/processors.h"
#include "cli/confine/places.h"
#include "cli/program.h"

/* Closed standard descriptors are replaced by descriptors that fail to read or write: otherwise a
 * file opened later would get their number, and printed text would go into it. Started programs get
 * them closed, as before. */
static void fill_numbers(void)
{
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) < 0 &&
            open("/dev/null", (number == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
            (void)open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A thread's first malloc reserves 64 MiB of address space, unless threads share one heap. If the
 * address space is limited (`ulimit -v`), the space is left to the reports. */
static void share_heap(void)
{
#ifndef MV_POSIX
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
