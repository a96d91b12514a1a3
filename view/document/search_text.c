#include "view/document/search_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Whether a filter reads the text literally without quotation marks. Term names have no dot before
 * their ':'. */
static bool is_plain(const char *text)
{
    if (!isalnum((unsigned char)*text) || strcspn(text, ".") > strcspn(text, ":<>="))
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("._:<>", *text))
            return false;
    return true;
}

const char *mv_search_of_frame(const mv_trace *trace, mv_frame_id frame, char *out, size_t size)
{
    const mv_frames *f = &trace->frames;
    const char *file, *slash, *function;
    char text[MV_FILTER_WHY], line[24] = "";

    *out = 0;
    if (frame.row >= f->count || size < 4)
        return out;
    file = mv_string_text(trace, f->file[frame.row]);
    slash = strrchr(file, '/');
    function = mv_string_text(trace, f->function[frame.row]);
    if (f->line[frame.row] != MV_NO_LINE)
        snprintf(line, sizeof line, "%lld:", (long long)f->line[frame.row]);
    snprintf(text, sizeof text, "%s%s%s%s", slash ? slash + 1 : file, *file ? ":" : "", line,
             function);
    text[strcspn(text, "\"")] = 0;
    text[mv_utf8_cut(text, size - 3)] = 0;
    if (*text)
        snprintf(out, size, is_plain(text) ? "%s" : "\"%s\"", text);
    return out;
}
