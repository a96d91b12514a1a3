#include "cli/output_name.h"

#include <string.h>

#include "base/text.h"
#include "cli/complain.h"

/* The suffix of the name, if it implies a format; NULL: another. */
static const char *promise_of(const char *name)
{
    static const char *const endings[] = {".json",   ".csv", ".html", ".svg", ".png",
                                          ".folded", ".jpg", ".jpeg", ".gif", ".pdf"};

    for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++)
        if (mv_text_has_ending(name, endings[i]))
            return endings[i];
    return NULL;
}

/* --json or --csv, as a suffix; NULL: neither is given. */
static const char *table_ending(const mv_options *o)
{
    return mv_option_given(o, MV_HAS(JSON))  ? ".json"
           : mv_option_given(o, MV_HAS(CSV)) ? ".csv"
                                             : NULL;
}

bool mv_output_name_fits(const mv_command *command, const mv_options *o)
{
    const char *promise = !o->output || command->writes_file ? NULL : promise_of(o->output);
    const char *pictures = command->pictures, *table = table_ending(o);
    bool is_table = promise && (strcmp(promise, ".json") == 0 || strcmp(promise, ".csv") == 0);

    if (promise && mv_option_given(o, MV_HAS(PAGE))) {
        mv_complain_usage(command->name, "%s: the output is --format, which does not match %s",
                          o->output, promise);
        return false;
    }
    if (!promise || (table && strcmp(promise, table) == 0) ||
        (!table && pictures && strstr(pictures, promise)))
        return true;
    if (table)
        mv_complain_usage(command->name, "%s: the output is --%s, which does not match %s",
                          o->output, table + 1, promise);
    else if (is_table && (command->options & MV_HAS(JSON)))
        mv_complain_usage(command->name, "%s: add --%s", o->output, promise + 1);
    else
        mv_complain_usage(command->name, "%s: %s writes %s; choose another name for text",
                          o->output, command->name, pictures ? pictures : "no pictures");
    return false;
}
