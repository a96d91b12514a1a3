/* FreeType jumps out of the check of a damaged font. The page has its own two fonts, which are
 * whole: the jump ends the work of the page. */
#ifndef MV_WEB_SETJMP_H
#define MV_WEB_SETJMP_H

typedef int jmp_buf[1];

#define setjmp(place) ((void)(place), 0)

static inline void longjmp(jmp_buf place, int value)
{
    (void)place, (void)value;
    __builtin_trap();
}

#endif
