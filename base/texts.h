/* A table of different strings, which are numbered in the order in which they are added.
 *
 *     mv_texts names = {.arena = arena};
 *     uint32_t number = mv_texts_add(&names, mv_text_span(name));    MV_NO_TEXT: out of memory
 *     ... names.text[number]
 *
 * Strings may contain any bytes. They are copied, and end in NUL. For other keys see intern.h. */
#pragma once

#include "base/cursor.h"
#include "base/intern.h"

#define MV_NO_TEXT UINT32_MAX

/* An empty table is all zeros except for its arena. */
typedef struct {
    mv_arena *arena;
    mv_span *text; /* [count] */
    uint32_t count, capacity;
    mv_intern rows;
} mv_texts;

static inline mv_span mv_text_span(const char *text)
{
    return (mv_span){(const uint8_t *)text, strlen(text)};
}

/* Returns the number of a string, which is added if it is new; MV_NO_TEXT when out of memory. */
uint32_t mv_texts_add(mv_texts *texts, mv_span text);
