/* Goes to a position typed by the user, which is a moment as in --at, or an address. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "analyze/oom/refused_calls.h"
#include "view/intents/intents.h"

bool mv_moment_of(mv_view *view, const char *at, mv_window window, uint32_t *event, char *why,
                  uint32_t why_size)
{
    const mv_document_device *device = mv_view_arrived(view);
    mv_moment_query ask;
    mv_moment found;
    mv_arena scratch;
    mv_err err;
    bool is_found;

    if (!mv_failure_moment_read(view->budget, &mv_view_document(view)->trace, device->device, at,
                                window, &ask, why, why_size))
        return false;
    mv_arena_init(&scratch, view->budget);
    is_found = mv_moment_find(&scratch, &device->lives, ask, &found, &err) == MV_OK;
    mv_arena_release(&scratch);
    if (is_found)
        *event = found.event;
    else
        snprintf(why, why_size, "%s", mv_code_text(err.code));
    return is_found;
}

/* ---- addresses --------------------------------------------------------------------------- */

/* Returns the block at an address that is alive at the cursor. If there is none, returns the last
 * block there before the cursor, or else the next block there after the cursor. */
static uint32_t block_at(const mv_view *view, uint64_t addr)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_alloc_lives *a = &d->lives.allocs;
    uint32_t cursor = view->now->cursor, before = MV_NO_ROW, after = MV_NO_ROW;

    for (uint32_t i = 0; i < a->count; i++) {
        if (addr < a->addr[i] || addr - a->addr[i] >= (a->block[i] ? a->block[i] : 1))
            continue;
        if (mv_index_is_alive(&d->index, i, cursor))
            return i;
        if (a->birth[i] == MV_BEFORE || (cursor != MV_BEFORE && a->birth[i] <= cursor))
            before = i;
        else if (after == MV_NO_ROW)
            after = i;
    }
    return before != MV_NO_ROW ? before : after;
}

static bool go_to_address(mv_view *view, const char *text)
{
    char *end;
    uint64_t addr;
    uint32_t block;

    errno = 0;
    addr = strtoull(text, &end, 16);
    if (end == text + 2 || *end || errno) {
        mv_view_say(view, true,
                    "'%.80s' is not an address: expected 0x and up to 16 hexadecimal digits", text);
        return false;
    }
    block = block_at(view, addr);
    if (block == MV_NO_ROW) {
        mv_view_say(view, true, "no allocation of device %u ever covered address 0x%llx",
                    mv_view_device(view)->device, (unsigned long long)addr);
        return false;
    }
    mv_view_pin(view, block);
    return true;
}

/* ---- all --------------------------------------------------------------------------------- */

/* Removes the commas from a number as displayed, such as "2,150". */
static void without_commas(char *text)
{
    char *out = text;
    bool is_number = isdigit((unsigned char)*text);

    for (; *text; text++)
        if (!is_number || *text != ',')
            *out++ = *text;
    *out = '\0';
}

bool mv_go_to(mv_view *view, const char *where)
{
    char text[MV_FIELD_TEXT], why[MV_WHY];
    const char *at = text;
    uint32_t event;
    size_t length;

    snprintf(text, sizeof text, "%s", where);
    for (length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
        text[length - 1] = '\0';
    at += strspn(at, " ");
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        return go_to_address(view, at);
    without_commas(text + (at - text));
    if (!mv_moment_is_valid(at)) {
        mv_view_say(view, true,
                    "'%.60s' is not a position: expected an event number, a time (1.5s), @NAME#K, "
                    "peak, oom, end or "
                    "an address (0x...)",
                    at);
        return false;
    }
    if (!mv_moment_of(view, at, (mv_window){0, mv_view_device(view)->lives.events.count}, &event,
                      why, sizeof why)) {
        mv_view_say(view, true, "%.250s", why);
        return false;
    }
    mv_view_move_cursor(view, event);
    return true;
}

/* ---- the blocks above and below ------------------------------------------------------------- */

/* Goes to the next allocation, in order of birth, that is alive at the cursor, which is the one
 * above or below in the picture. */
void mv_do_pin_neighbour(mv_view *view, uint64_t arg)
{
    int64_t step = (int64_t)arg;
    const mv_index *x = &mv_view_device(view)->index;
    int64_t count = mv_view_device(view)->lives.allocs.count;
    int64_t row = view->now->pinned < count ? (int64_t)view->now->pinned : (step > 0 ? -1 : count);

    for (row += step; row >= 0 && row < count; row += step)
        if (mv_index_is_alive(x, (uint32_t)row, view->now->cursor)) {
            mv_view_pin(view, (uint32_t)row);
            return;
        }
    mv_view_say(view, false,
                step > 0 ? "no block is higher at the cursor" : "no block is lower at the cursor");
}
