#include "tests/fuzz/failing_push.h"

static uint32_t fails_at, pushes;

void *__real_mv_arena_push(mv_arena *arena, uint64_t count, uint64_t size);
void *__wrap_mv_arena_push(mv_arena *arena, uint64_t count, uint64_t size);
void *__real_mv_arena_grow(mv_arena *arena, void *old, uint64_t new_bytes);
void *__wrap_mv_arena_grow(mv_arena *arena, void *old, uint64_t new_bytes);
char *__real_mv_arena_text(mv_arena *arena, const char *text, uint64_t length);
char *__wrap_mv_arena_text(mv_arena *arena, const char *text, uint64_t length);

void mvt_fail_push(uint32_t nth)
{
    fails_at = nth;
    pushes = 0;
}

uint32_t mvt_pushes(void)
{
    return pushes;
}

bool mvt_push_has_failed(void)
{
    return fails_at > 0 && pushes >= fails_at;
}

void *__wrap_mv_arena_push(mv_arena *arena, uint64_t count, uint64_t size)
{
    return ++pushes == fails_at ? NULL : __real_mv_arena_push(arena, count, size);
}

void *__wrap_mv_arena_grow(mv_arena *arena, void *old, uint64_t new_bytes)
{
    return ++pushes == fails_at ? NULL : __real_mv_arena_grow(arena, old, new_bytes);
}

char *__wrap_mv_arena_text(mv_arena *arena, const char *text, uint64_t length)
{
    return ++pushes == fails_at ? NULL : __real_mv_arena_text(arena, text, length);
}
