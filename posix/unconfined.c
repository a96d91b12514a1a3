/* No known way to drop a process's privileges here. */
#include "cli/confine/places.h"

void mv_confine_command(const mv_cli *cli)
{
    (void)cli;
}
