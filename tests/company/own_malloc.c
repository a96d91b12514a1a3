/* A program with a separate malloc, which takes memory from one array and never frees it. It is
 * preloaded before the shim. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 256 << 20 };

static _Alignas(16) uint8_t room[ROOM];
static atomic_size_t used;

void *malloc(size_t bytes)
{
    size_t at = atomic_fetch_add(&used, (bytes + 31) & ~(size_t)15);

    if (at + bytes + 32 > ROOM)
        return NULL;
    memcpy(room + at, &bytes, sizeof bytes);
    return room + at + 16;
}

void free(void *memory)
{
    (void)memory;
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes);
}

void *realloc(void *memory, size_t bytes)
{
    void *now = malloc(bytes);
    size_t before = 0;

    if (memory)
        memcpy(&before, (uint8_t *)memory - 16, sizeof before);
    return now && memory ? memcpy(now, memory, before < bytes ? before : bytes) : now;
}
