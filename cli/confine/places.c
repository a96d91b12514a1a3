#include "cli/confine/places.h"

#include <stdlib.h>

#include "cli/confine/confine.h"

/* Valgrind makes some of the refused calls from within the process. */
static bool is_wanted(const mv_cli *cli)
{
    const char *asked = getenv("MEMVIZ_CONFINE"), *preloaded = getenv("LD_PRELOAD");

    if (cli->command->starts_program || (asked && strcmp(asked, "off") == 0) ||
        (preloaded && strstr(preloaded, "/vgpreload_")))
        return false;
    return !cli->command->opens_window || mv_option_given(&cli->options, MV_HAS(HEADLESS)) ||
           (!cli->command->is_interactive && !mv_view_is_wanted(cli));
}

static void allow_beside(mv_confinement *c, const char *file)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof path, "%s.html", file) < sizeof path)
        mv_confine_allow_output(c, path);
}

void mv_confine_command(const mv_cli *cli)
{
    const mv_options *o = &cli->options;
    mv_confinement c = {0};

    if (!is_wanted(cli))
        return;
    mv_confine_allow_output(&c, o->output);
    if (cli->command->writes_last && o->files == cli->command->most_files)
        mv_confine_allow_output(&c, o->file[o->files - 1]);
    if (cli->command->writes_beside && !o->output)
        allow_beside(&c, o->file[0]);
    mv_confine_allow_output(&c, o->shot);
    c.writes_anywhere |= o->script != NULL;
    mv_confine(&c);
}
