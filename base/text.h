/* Makes strings from printf formats. */
#pragma once

#include <stdarg.h>
#include <string.h>

#include "base/arena.h"

/* Makes a string of any length in the arena. NULL when out of memory.
 *
 *     why = mv_arena_printf(arena, "%u requests failed", count); */
char *mv_arena_printf(mv_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *mv_arena_vprintf(mv_arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* State for making several strings in an arena. One check of `failed` after the last string finds
 * any failure. */
typedef struct {
    mv_arena *arena;
    bool failed; /* memory ran out */
} mv_text_maker;

/* Makes a string; "" when out of memory. */
const char *mv_make_text(mv_text_maker *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends to the string in a buffer of `size` bytes. Returns false if the result was cut to fit. A
 * character is never split, and the string always ends in NUL.
 *
 *     char line[256] = "";
 *     mv_text_append(line, sizeof line, ", %u streams", streams); */
bool mv_text_append(char *text, uint64_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns true if a file name has this extension with something before it: "a.svg", but not
 * ".svg". */
static inline bool mv_text_has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);

    return length > tail && memcmp(name + length - tail, ending, tail) == 0;
}

/* Whether `list`, which consists of words between any of the separators, contains the word. */
bool mv_text_has_word(const char *list, const char *word, const char *separators);

/* Writes the numbers of `devices` devices: "device 0 alone", "devices 0 to 7", or "no device" for
 * 0. Returns `text`. */
#define MV_DEVICES_TEXT 40
const char *mv_devices_text(char text[MV_DEVICES_TEXT], uint32_t devices);

/* Returns the suffix for a plural: "" for one, "s" for any other number, as in "%u request%s". */
static inline const char *mv_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
