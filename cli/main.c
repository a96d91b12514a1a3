#include "cli/confine/places.h"
#include "cli/program.h"

int main(int argc, char **argv)
{
    return mv_program_alone(argc, argv, mv_confine_command);
}
