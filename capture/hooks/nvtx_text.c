#include "capture/hooks/nvtx_text.h"

#include "capture/record/pages.h"

#include <errno.h>
#include <string.h>

enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };
enum {
    MOST_KEPT = 16 << 20
}; /* bytes of address space; its pages take memory only as strings are added */

static _Atomic(char *) kept;
static atomic_size_t kept_bytes;

/* Appends a code point if it fits. */
static size_t put(char *room, size_t at, uint32_t point)
{
    unsigned more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};

    if (at + more + 1 >= MV_NVTX_MOST_TEXT)
        return at;
    room[at++] = (char)(lead[more] | point >> 6 * more);
    while (more-- > 0)
        room[at++] = (char)(0x80 | (point >> 6 * more & 0x3f));
    return at;
}

static size_t put_text(char *room, size_t at, mv_nvtx_text text)
{
    size_t length = text.text ? strnlen(text.text, MV_NVTX_MOST_TEXT - 1 - at) : 0;

    if (text.text)
        memcpy(room + at, text.text, length);
    at += length;
    for (const wchar_t *c = text.wide; c && *c && at < MV_NVTX_MOST_TEXT - 1; c++) {
        uint32_t point = (uint32_t)*c;
        size_t before = at;
        at = put(room, at, point > 0x10ffff || (point & 0xfffff800) == 0xd800 ? 0xfffd : point);
        if (at == before)
            break;
    }
    room[at] = 0;
    return at;
}

const char *mv_nvtx_spell(const char *domain, mv_nvtx_text text, char room[MV_NVTX_MOST_TEXT])
{
    size_t at = 0;

    if (!domain && text.text)
        return text.text;
    if (domain) {
        at = put_text(room, at, (mv_nvtx_text){.text = domain});
        at = put_text(room, at, (mv_nvtx_text){.text = ": "});
    }
    put_text(room, at, text);
    return room;
}

/* Returns the memory for all kept strings; NULL if it could not be allocated. */
static char *room_for_all(void)
{
    char *room = atomic_load_explicit(&kept, memory_order_acquire);
    char *other = NULL;
    int before = errno;

    if (room)
        return room;
    room = mv_pages_get(MOST_KEPT);
    errno = before;
    if (!room)
        return NULL;
    if (atomic_compare_exchange_strong(&kept, &other, room))
        return room;
    mv_pages_give(room, MOST_KEPT);
    return other;
}

const char *mv_nvtx_keep(mv_nvtx_text text)
{
    char room[MV_NVTX_MOST_TEXT];
    size_t length = put_text(room, 0, text) + 1, at;
    char *all = room_for_all();

    if (!all)
        return NULL;
    at = atomic_load(&kept_bytes);
    do {
        if (at + length > MOST_KEPT)
            return NULL;
    } while (!atomic_compare_exchange_weak(&kept_bytes, &at, at + length));
    memcpy(all + at, room, length);
    return all + at;
}

const char *mv_nvtx_kept(const void *handle)
{
    const char *all = atomic_load_explicit(&kept, memory_order_acquire);

    return all && (uintptr_t)handle - (uintptr_t)all < MOST_KEPT ? handle : NULL;
}

mv_nvtx_text mv_nvtx_message(uint32_t kind, const void *message)
{
    switch (kind) {
    case MESSAGE_ASCII:
        return (mv_nvtx_text){.text = message};
    case MESSAGE_WIDE:
        return (mv_nvtx_text){.wide = message};
    case MESSAGE_REGISTERED:
        return (mv_nvtx_text){.text = mv_nvtx_kept(message)};
    default:
        return (mv_nvtx_text){.text = ""};
    }
}
