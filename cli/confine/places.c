#include "cli/confine/places.h"

#include <stdlib.h>

#include "cli/confine/confine.h"
#include "view/document/saved_index.h"

static bool is_headless(const mv_cli *cli)
{
    return mv_option_given(&cli->options, MV_HAS(HEADLESS));
}

/* Valgrind makes some of the refused calls from within the process. */
static bool is_wanted(const mv_cli *cli)
{
    const char *asked = getenv("MEMVIZ_CONFINE"), *preloaded = getenv("LD_PRELOAD");

    if (cli->command->starts_program || (asked && strcmp(asked, "off") == 0) ||
        (preloaded && strstr(preloaded, "/vgpreload_")))
        return false;
    return !cli->command->opens_window || is_headless(cli) ||
           (!cli->command->is_interactive && !mv_view_is_wanted(cli));
}

static void allow_beside(mv_confinement *c, const char *file)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof path, "%s.html", file) < sizeof path)
        mv_confine_allow_output(c, path);
}

/* Allows the pictures of a viewer without a window, and the files that it keeps between runs. */
static void allow_headless(mv_confinement *c, const mv_options *o)
{
    char saved[MV_SAVED_PATH];

    c->writes_anywhere = o->script;
    mv_confine_allow_output(c, o->shot);
    if (mv_saved_folder(saved)) {
        mv_saved_folder_make(saved);
        mv_confine_allow_folder(c, saved);
    }
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
    if (is_headless(cli))
        allow_headless(&c, o);
    mv_confine(&c);
}
