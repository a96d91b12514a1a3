#include "parse/symbols/demangle.h"

#include <setjmp.h>
#include <string.h>

/* Fedora installs the header without this folder. */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif

enum { MOST_NAME = 4096 };

typedef struct {
    jmp_buf full; /* jump out of the demangler, which allocates only on the stack */
    size_t length;
    char text[MOST_NAME];
} room;

static void put(const char *text, size_t length, void *context)
{
    room *r = context;
    size_t left = sizeof r->text - r->length;

    if (length) /* if the length is 0, the text may be NULL */
        memcpy(r->text + r->length, text, length < left ? length : left);
    r->length += length < left ? length : left;
    if (length > left)
        longjmp(r->full, 1);
}

/* Demangles a name. Returns false if the name is not mangled. */
static bool demangle(const char *name, room *r)
{
    enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI };

    if (setjmp(r->full))
        return true;
    if (strncmp(name, "_R", 2) == 0)
        return rust_demangle_callback(name, OPTIONS, put, r);
    return strncmp(name, "_Z", 2) == 0 && cplus_demangle_v3_callback(name, OPTIONS, put, r);
}

const char *mv_demangle(mv_arena *arena, const char *name)
{
    size_t length = strnlen(name, MOST_NAME);
    room r;

    r.length = 0;
    if (length < MOST_NAME && demangle(name, &r) && r.length > 0)
        return mv_arena_text(arena, r.text, r.length);
    return mv_arena_text(arena, name, length);
}

bool mv_demangle_into(const char *name, char *out, size_t size)
{
    room r;
    size_t length;

    r.length = 0;
    if (size == 0 || strnlen(name, MOST_NAME) == MOST_NAME || !demangle(name, &r) || r.length == 0)
        return false;
    length = r.length < size ? r.length : size - 1;
    memcpy(out, r.text, length);
    out[length] = 0;
    return true;
}
