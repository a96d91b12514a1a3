#include <fcntl.h>

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

int main(int argc, char **argv)
{
    fill_numbers();
    return mv_program_alone(argc, argv, mv_confine_command);
}
