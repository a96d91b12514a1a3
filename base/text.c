#include "base/text.h"

#include <stdio.h>

#include "base/utf8.h"

char *mv_arena_vprintf(mv_arena *arena, const char *format, va_list args)
{
    char near[512], *text;
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(near, sizeof near, format, args);
    text = length >= 0 ? mv_arena_push(arena, (uint64_t)length + 1, 1) : NULL;
    if (text && (size_t)length < sizeof near)
        memcpy(text, near, (size_t)length);
    else if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *mv_arena_printf(mv_arena *arena, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = mv_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

const char *mv_make_text(mv_text_maker *words, const char *format, ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = mv_arena_vprintf(words->arena, format, args);
    va_end(args);
    words->failed = words->failed || !text;
    return text ? text : "";
}

bool mv_text_append(char *text, uint64_t size, const char *format, ...)
{
    uint64_t used = strlen(text);
    va_list args;
    int added;

    va_start(args, format);
    added = vsnprintf(text + used, size - used, format, args);
    va_end(args);
    if (added >= 0 && (uint64_t)added < size - used)
        return true;
    if (added < 0)
        text[used] = 0;
    text[mv_utf8_cut(text, strlen(text))] = 0;
    return false;
}

bool mv_text_has_word(const char *list, const char *word, const char *separators)
{
    size_t length = strlen(word);

    for (const char *at = list; length && (at = strstr(at, word)); at += length)
        if ((at == list || strchr(separators, at[-1])) &&
            (!at[length] || strchr(separators, at[length])))
            return true;
    return false;
}

const char *mv_devices_text(char text[MV_DEVICES_TEXT], uint32_t devices)
{
    if (devices < 2)
        return devices ? "device 0 alone" : "no device";
    snprintf(text, MV_DEVICES_TEXT, "devices 0 %s %u", devices == 2 ? "and" : "to", devices - 1);
    return text;
}
