#include "tests/fixture_pythons.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char names[MVT_MOST_PYTHONS][256];

/* A version that memviz knows, and not the same program under another name. */
static bool is_wanted(const char *command)
{
    char line[512];
    int status;

    snprintf(line, sizeof line,
             "%s -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 15))' 2>/dev/null",
             command);
    status = system(line);
    return status == 0;
}

static unsigned add(unsigned count, const char *command)
{
    if (count == MVT_MOST_PYTHONS || strlen(command) >= sizeof names[0] || !is_wanted(command))
        return count;
    memcpy(names[count], command, strlen(command) + 1);
    return count + 1;
}

static unsigned add_listed(unsigned count, const char *list)
{
    char copy[4096];
    char *rest = NULL;

    snprintf(copy, sizeof copy, "%s", list);
    for (char *one = strtok_r(copy, ":", &rest); one; one = strtok_r(NULL, ":", &rest))
        count = add(count, one);
    return count;
}

static unsigned add_matching(unsigned count, const char *pattern)
{
    glob_t found;

    if (glob(pattern, GLOB_TILDE, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            count = add(count, found.gl_pathv[i]);
        globfree(&found);
    }
    return count;
}

unsigned mvt_pythons(const char *commands[MVT_MOST_PYTHONS])
{
    const char *listed = getenv("MV_PYTHONS");
    unsigned count = 0;

    if (listed) {
        count = add_listed(count, listed);
    } else {
        count = add_matching(count, "/usr/bin/python3");
        count = add_matching(count, "~/.pyenv/versions/3.*/bin/python3");
    }
    if (!listed && count == 0)
        count = add(count, "python3");
    cr_assert_gt(count, 0, "no Python from 3.8 to 3.14 is here: run scripts/install-deps test");
    for (unsigned i = 0; i < count; i++)
        commands[i] = names[i];
    return count;
}

FILE *mvt_python_open(const char *python, const char *script, const char *argument)
{
    char line[2048];
    FILE *output;

    /* Nothing of the machine's own set-up may change what the interpreter does. */
    snprintf(line, sizeof line,
             "env -u LD_PRELOAD -u PYTHONPATH %s -B " MV_SOURCE_DIR "/tests/%s %s", python, script,
             argument);
    fflush(NULL);
    output = popen(line, "r");
    cr_assert_not_null(output, "%s", line);
    return output;
}

void mvt_python_close(FILE *output, const char *python)
{
    int status = pclose(output);
    cr_assert_eq(status, 0, "%s ended with %d", python, status);
}
