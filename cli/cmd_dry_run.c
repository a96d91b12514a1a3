/* memviz dry-run: executes a Python program in this process and predicts its GPU memory
 * (docs/dry-run.md). The work is done by python/memviz/dry, which the program's Python loads when
 * it starts. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/resource_path.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "record/launch.h"

#define HOOK "memviz/dry/site"

/* Returns the directory that contains the hook: the one in $MEMVIZ_PYTHON, or else the one in the
 * wheel, in the installation, or in the source tree that memviz was built from. */
static bool find_hook(char *path, size_t size)
{
    static const char *const places[] = {"../../dry/site", "../share/memviz/python/" HOOK};
    const char *given = getenv("MEMVIZ_PYTHON");

    if (given && *given)
        return snprintf(path, size, "%s/" HOOK, given) < (int)size && access(path, F_OK) == 0;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        if (mv_resource_path(path, size, places[i]) && access(path, F_OK) == 0)
            return true;
    return snprintf(path, size, "%s", MV_SOURCE_PYTHON "/" HOOK) < (int)size &&
           access(path, F_OK) == 0;
}

/* Puts the hook's directory first in PYTHONPATH, so that the program's Python imports it when it
 * starts. */
static bool set_python_path(const char *hook)
{
    const char *rest = getenv("PYTHONPATH");
    char path[2 * PATH_MAX];
    int length =
        snprintf(path, sizeof path, "%s%s%s", hook, rest && *rest ? ":" : "", rest ? rest : "");

    return length < (int)sizeof path && setenv("PYTHONPATH", path, 1) == 0;
}

static void set_number(const char *name, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    setenv(name, text, 1);
}

int mv_cmd_dry_run(mv_cli *cli)
{
    const mv_options *o = &cli->options;
    bool expects = mv_option_given(o, MV_HAS(EXPECT));
    mv_err err = {.offset = MV_NO_OFFSET};
    char hook[PATH_MAX];
    int status;

    if (!find_hook(hook, sizeof hook))
        return mv_complain_of(NULL, "the folder " HOOK " of memviz's Python package is missing: "
                                    "install memviz again, or set MEMVIZ_PYTHON to the folder that "
                                    "contains it");
    if (!set_python_path(hook))
        return mv_complain_of("PYTHONPATH", "it is too long; shorten it");
    set_number("MEMVIZ_DRY_RUN_PROCESS", (uint64_t)getpid());
    setenv("MEMVIZ_DRY_RUN", o->output ? o->output : expects ? "" : "memviz.dry-run.pickle", 1);
    if (mv_option_given(o, MV_HAS(STEPS)))
        set_number("MEMVIZ_DRY_RUN_STEPS", o->steps);
    if (mv_option_given(o, MV_HAS(RANKS)))
        set_number("MEMVIZ_DRY_RUN_RANKS", o->ranks);
    if (o->gpu)
        setenv("MEMVIZ_DRY_RUN_GPU", o->gpu, 1);
    if (expects)
        setenv("MEMVIZ_DRY_RUN_EXPECT", "1", 1);
    status = mv_launch_plainly(o->file, &err);
    if (!mv_complain_of_start("dry-run", o->file[0], status))
        mv_complain(NULL, &err);
    return status;
}
