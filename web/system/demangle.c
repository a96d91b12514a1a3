/* Replaces parse/symbols/demangle.c where longjmp cannot leave libiberty. Text that does not fit is
 * dropped. A short symbol can stand for an endless name, and such a name aborts the page. */
#include "parse/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

enum { MOST_NAME = 4096, MOST_LEFT_OUT = 1 << 26 };

typedef struct {
    size_t length, left_out;
    char text[MOST_NAME];
} room;

static void put(const char *text, size_t length, void *context)
{
    room *r = context;
    size_t left = sizeof r->text - r->length, some = length < left ? length : left;

    memcpy(r->text + r->length, text, some);
    r->length += some;
    r->left_out += length - some;
    if (r->left_out > MOST_LEFT_OUT)
        __builtin_trap();
}

/* Returns false if the name is not mangled. */
static bool demangle(const char *name, room *r)
{
    enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI };

    r->length = r->left_out = 0;
    if (strnlen(name, MOST_NAME) == MOST_NAME)
        return false;
    if (strncmp(name, "_R", 2) == 0)
        return rust_demangle_callback(name, OPTIONS, put, r) && r->length > 0;
    return strncmp(name, "_Z", 2) == 0 && cplus_demangle_v3_callback(name, OPTIONS, put, r) &&
           r->length > 0;
}

const char *mv_demangle(mv_arena *arena, const char *name)
{
    room r;

    if (demangle(name, &r))
        return mv_arena_text(arena, r.text, r.length);
    return mv_arena_text(arena, name, strnlen(name, MOST_NAME));
}

bool mv_demangle_into(const char *name, char *out, size_t size)
{
    room r;
    size_t length;

    if (size == 0 || !demangle(name, &r))
        return false;
    length = r.length < size ? r.length : size - 1;
    memcpy(out, r.text, length);
    out[length] = 0;
    return true;
}
