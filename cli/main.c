#include <fcntl.h>

#include "cli/confine/places.h"
#include "cli/program.h"

/* Standard descriptors that are closed get what cannot be read or written that way: else a file of
 * ours would take their number, and what is printed would go into it. Programs that are started
 * have them closed, as they were. */
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
