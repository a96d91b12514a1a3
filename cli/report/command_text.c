#include "cli/report/command_text.h"

#include "base/text.h"

/* Whether a shell reads the string as a single word, and memviz reads it as a file. */
static bool is_plain(const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./+:@%,-";

    return *path && *path != '-' && path[strspn(path, plain)] == 0;
}

static const char *quote(mv_arena *arena, const char *path)
{
    const char *before = *path == '-' && path[1] ? "./" : "";
    char *text = mv_push_array(arena, char, 4 * strlen(path) + 5), *at = text;

    if (!text)
        return NULL;
    at = memcpy(at, before, strlen(before));
    at += strlen(before);
    *at++ = '\'';
    for (; *path; path++) {
        if (*path == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *path;
        }
    }
    memcpy(at, "'", 2);
    return text;
}

const char *mv_command_text(mv_arena *arena, const char *command, const char *options,
                            const char *path)
{
    const char *file = is_plain(path) || strcmp(path, "-") == 0 ? path : quote(arena, path);

    return file ? mv_arena_printf(arena, "memviz %s%s%s%s%s", command, *command ? " " : "", options,
                                  *options ? " " : "", file)
                : NULL;
}
