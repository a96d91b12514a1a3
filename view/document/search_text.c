#include "view/document/search_text.h"

#include <ctype.h>
#include <stdio.h>

#include "analyze/filter/site_words.h"
#include "analyze/peak/category.h"
#include "base/utf8.h"

/* Whether a filter reads the string literally without quotation marks. Names of terms have no dot
 * before their ':'. */
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

/* ---- exactly the blocks of a row --------------------------------------------------------- */

const mv_frame_id *mv_frames_of_groups(mv_arena *arena, const mv_trace *trace,
                                       const mv_sites *sites)
{
    mv_frame_id *of_group = mv_push_array(arena, mv_frame_id, sites->groups);
    uint8_t *is_seen = mv_push_array(arena, uint8_t, sites->groups);
    uint32_t *group_of = mv_push_array(arena, uint32_t, trace->frames.count);
    const uint32_t several = MV_NO_ROW - 1;

    if (!of_group || !is_seen || !group_of)
        return NULL;
    for (uint32_t i = 0; i < trace->frames.count; i++)
        group_of[i] = MV_NO_ROW;
    for (uint32_t i = 0; i < sites->stacks; i++) {
        mv_frame_id frame = mv_culprit_frame(trace, sites->kinds, (mv_stack_id){i});
        uint32_t group = sites->group[sites->of_stack[i]];
        if (!is_seen[group])
            of_group[group] = frame;
        else if (of_group[group].row != frame.row)
            of_group[group] = MV_NO_FRAME;
        is_seen[group] = 1;
        if (frame.row < trace->frames.count)
            group_of[frame.row] =
                group_of[frame.row] == MV_NO_ROW || group_of[frame.row] == group ? group : several;
    }
    for (uint32_t g = 0; g < sites->groups; g++)
        if (!is_seen[g] ||
            (of_group[g].row < trace->frames.count && group_of[of_group[g].row] != g))
            of_group[g] = MV_NO_FRAME;
    return of_group;
}

const char *mv_search_of_line(const mv_trace *trace, mv_frame_id frame, mv_stack_id stack,
                              char out[MV_SEARCH_LINE])
{
    *out = 0;
    if (stack.row >= trace->stacks.count)
        snprintf(out, MV_SEARCH_LINE, "nostack");
    else if (stack.row == MV_EMPTY_STACK.row)
        snprintf(out, MV_SEARCH_LINE, "nopython");
    else if (frame.row >= trace->frames.count || !*mv_site_term(trace, frame, out, MV_SEARCH_LINE))
        snprintf(out, MV_SEARCH_LINE, "like:%u", stack.row);
    return out;
}

const char *mv_search_of_category(const char *name, char out[MV_SEARCH_LINE])
{
    bool is_known = false;

    for (int i = 0; i < MV_CATEGORY_COUNT; i++)
        is_known = is_known || strcmp(mv_category_name((mv_category)i), name) == 0;
    snprintf(out, MV_SEARCH_LINE, is_known ? " cat:%.400s" : " cat:\"%.400s\"", name);
    return out;
}

const char *mv_search_of_rows(const uint32_t *rows, uint32_t count, char *out, size_t size)
{
    size_t length = (size_t)snprintf(out, size, "block:");

    for (uint32_t i = 0, end; i < count && length < size; i = end) {
        for (end = i + 1; end < count && rows[end] == rows[end - 1] + 1;)
            end++;
        length += (size_t)snprintf(out + length, size - length, i ? ",%u" : "%u", rows[i]);
        if (end > i + 1 && length < size)
            length += (size_t)snprintf(out + length, size - length, "-%u", rows[end - 1]);
    }
    if (count == 0 || length >= size)
        *out = 0;
    return out;
}
