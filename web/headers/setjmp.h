/* FreeType uses longjmp when its validation finds a damaged font. The page contains only its own
 * two fonts, which are valid, so longjmp simply aborts the page. */
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
