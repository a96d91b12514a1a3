#include "cli/program.h"

#include <stddef.h>

int main(int argc, char **argv)
{
    return mv_program(argc, argv, NULL);
}
