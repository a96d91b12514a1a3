#include "cli/complain.h"

#include <stdarg.h>
#include <unistd.h>

#include "cli/commands.h"
#include "record/launch.h"

#define LINE 4600 /* room for a path and a sentence */

/* Writes the whole line at once, so that lines of several processes do not mix. Text from the
 * command line or a file must not control the terminal. */
static void put_line(char *line)
{
    size_t length;

    mv_utf8_sanitize(line);
    length = strlen(line);
    line[length] = '\n';
    fwrite(line, 1, length + 1, stderr);
}

int mv_complain(const char *file, const mv_err *err)
{
    char line[LINE + 2], place[32] = "", text[MV_ERR_TEXT];

    if (err->offset != MV_NO_OFFSET)
        snprintf(place, sizeof place, "byte %llu: ", (unsigned long long)err->offset);
    snprintf(line, LINE, "memviz: %s%s%s%s", file ? file : "", file ? ": " : "", place,
             mv_err_text(err, text));
    put_line(line);
    return MV_EXIT_FAILED;
}

int mv_complain_of(const char *file, const char *format, ...)
{
    char line[LINE + 2];
    va_list args;
    int at = snprintf(line, LINE, "memviz: %s%s", file ? file : "", file ? ": " : "");

    if (at < 0 || at >= LINE)
        at = 0;
    va_start(args, format);
    vsnprintf(line + at, (size_t)(LINE - at), format, args);
    va_end(args);
    put_line(line);
    return MV_EXIT_FAILED;
}

int mv_complain_usage(const char *command, const char *format, ...)
{
    char line[LINE + 2], sentence[LINE - 200];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (command)
        snprintf(line, LINE, "memviz: %s: %s (see: memviz help %s)", command, sentence, command);
    else
        snprintf(line, LINE, "memviz: %s (see: memviz help)", sentence);
    put_line(line);
    return MV_EXIT_USAGE;
}

bool mv_complain_of_start(const char *command, const char *name, int status)
{
    const char *dot = strrchr(name, '.');
    bool is_file = access(name, F_OK) == 0;

    if (!is_file || (status != MV_LAUNCH_NOT_FOUND && status != MV_LAUNCH_CANNOT_RUN))
        return false;
    if (dot && strcmp(dot, ".py") == 0)
        mv_complain_of(name, "this file is not a program on its own: memviz %s -- python %s",
                       command, name);
    else if (status == MV_LAUNCH_NOT_FOUND && !strchr(name, '/'))
        mv_complain_of(name, "no program on the PATH has that name; the file here is ./%s", name);
    else
        return false;
    return true;
}
