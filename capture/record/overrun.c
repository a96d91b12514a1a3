#include "capture/record/overrun.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/record/pages.h"
#include "capture/record/process.h"
#include "capture/record/status.h"
#include "capture/wire_folded.h"

enum {
    WINDOWS = 32,     /* number of windows into which the bound is divided (record/ring.c) */
    LOOK_US = 10000,  /* time between two checks while the files are at the bound */
    END_US = 1000000, /* longest time for which a program that ends waits for room */
    NAP_NS = 2000000,
    LEAST_ROOM = 2 * MV_LIVE_CHUNK_BYTES, /* bytes of room for MV_OVERRUN_ROWS rows of at most 24
                                           * bytes */
    FIRST_ROWS = 1 << 17,                 /* number of rows at first, a power of 2 */
    MOST_ROWS = 1 << 19
};

/* A kept allocation or range, which is not in the file. */
typedef struct {
    uint64_t addr, size; /* address and size; addr 0: the row is unused */
    uint32_t stack;
    int8_t type, device;
} kept;

static struct {
    atomic_bool is_full;
    _Atomic uint64_t look_us;
    _Atomic uint32_t count;
    kept *rows;            /* [mask + 1] rows of a hash table with linear probing */
    uint32_t mask, cursor; /* mask: number of rows - 1; cursor: row at which the search for the next
                            * row to record begins */
    char folded[sizeof mv_process.file.path + sizeof MV_FOLDED_SUFFIX];
} overrun;

/* ---- the bound --------------------------------------------------------------------------- */

static uint64_t disk_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_blocks * 512 : 0;
}

/* Returns the disk space of the live file and its folded parts. Two folded parts exist while one
 * replaces the other. */
static uint64_t disk_used(void)
{
    return disk_of(mv_process.file.path) + 2 * disk_of(overrun.folded);
}

/* Two windows of the bound are reserved for the next folded part, which may be larger, and for the
 * file system's blocks. */
uint64_t mv_overrun_room(void)
{
    uint64_t window = mv_process.settings.window, most = window * (WINDOWS - 2), used;

    if (!window || mv_is_confined() || !mv_status_has_launcher())
        return UINT64_MAX;
    used = disk_used();
    return used < most ? most - used : 0;
}

/* Compares the files with the bound. The launcher begins to make room at 7/8 of the bound, and
 * stops at 6/8. */
void mv_overrun_look(void)
{
    uint64_t window = mv_process.settings.window;
    bool is_full = atomic_load(&overrun.is_full);

    if (!window || mv_process.settings.wait_free)
        return;
    atomic_store(&overrun.look_us, mv_process_now_us());
    atomic_store(&overrun.is_full, mv_overrun_room() < window * (is_full ? 3 : 1));
}

bool mv_overrun_is_full(void)
{
    if (!atomic_load_explicit(&overrun.is_full, memory_order_relaxed))
        return false;
    if (mv_process_now_us() > atomic_load(&overrun.look_us) + LOOK_US)
        mv_overrun_look();
    return atomic_load(&overrun.is_full);
}

/* ---- rows kept in memory: the caller must hold the lock ------------------------------------ */

static uint32_t home_of(uint64_t addr, int8_t device)
{
    return (uint32_t)((addr ^ (uint64_t)(uint8_t)device << 56) * 0x9e3779b97f4a7c15u >> 40) &
           overrun.mask;
}

/* Returns the row of the block, or the unused row where the block belongs. */
static uint32_t find(uint64_t addr, int8_t type, int8_t device)
{
    uint32_t row = home_of(addr, device);

    while (overrun.rows[row].addr &&
           (overrun.rows[row].addr != addr || overrun.rows[row].device != device ||
            overrun.rows[row].type != type))
        row = (row + 1) & overrun.mask;
    return row;
}

/* Removes a row. Rows after it in the same run are moved up, so that searches do not end at the
 * unused row. */
static void take_out(uint32_t row)
{
    uint32_t gap = row;

    for (uint32_t at = (row + 1) & overrun.mask; overrun.rows[at].addr;
         at = (at + 1) & overrun.mask) {
        uint32_t home = home_of(overrun.rows[at].addr, overrun.rows[at].device);
        if (((at - home) & overrun.mask) < ((at - gap) & overrun.mask))
            continue;
        overrun.rows[gap] = overrun.rows[at];
        gap = at;
    }
    overrun.rows[gap].addr = 0;
    atomic_fetch_sub(&overrun.count, 1);
}

/* Makes sure that a quarter of the rows is unused, by enlarging the table if necessary. Returns
 * false if that is impossible. */
static bool has_row(void)
{
    uint32_t rows = overrun.rows ? overrun.mask + 1 : 0, more = rows ? 2 * rows : FIRST_ROWS;
    kept *old = overrun.rows, *made;

    if (atomic_load(&overrun.count) < rows / 4 * 3)
        return true;
    made = more > MOST_ROWS ? NULL : mv_pages_get(more * sizeof *made);
    if (!made)
        return false;
    overrun.rows = made;
    overrun.mask = more - 1;
    overrun.cursor = 0;
    for (uint32_t i = 0; i < rows; i++)
        if (old[i].addr)
            made[find(old[i].addr, old[i].type, old[i].device)] = old[i];
    if (old)
        mv_pages_give(old, rows * sizeof *old);
    return true;
}

static bool add(const mv_rec_block_event *event, uint32_t stack)
{
    uint32_t row;

    if (!has_row())
        return false;
    row = find(event->addr, event->device_type, event->device);
    if (!overrun.rows[row].addr)
        atomic_fetch_add(&overrun.count, 1);
    overrun.rows[row] =
        (kept){event->addr, (uint64_t)event->size, stack, event->device_type, event->device};
    return true;
}

static bool remove_block(const mv_rec_block_event *event)
{
    uint32_t row = overrun.rows ? find(event->addr, event->device_type, event->device) : 0;

    if (!overrun.rows || !overrun.rows[row].addr)
        return false;
    take_out(row);
    return true;
}

/* ---- the interface ----------------------------------------------------------------------- */

bool mv_overrun_keeps(const mv_rec_block_event *event, uint32_t stack)
{
    bool is_alloc = event->size > 0, keeps;

    if (!atomic_load_explicit(&overrun.count, memory_order_relaxed) &&
        !(is_alloc && mv_overrun_is_full()))
        return false;
    if (!event->addr || (is_alloc && !mv_overrun_is_full()) || !mv_process_lock(&mv_wiped.overrun))
        return false;
    keeps = is_alloc ? add(event, stack) : remove_block(event);
    mv_process_unlock(&mv_wiped.overrun);
    if (keeps)
        mv_process_lose(MV_LOST_BOUND);
    return keeps;
}

/* The number is taken under the lock, so if a free does not find the block here, the free has a
 * later number. */
bool mv_overrun_next(bool is_end, mv_rec_block_event *event, uint32_t *stack, mv_rec_moment *moment)
{
    const kept *row;
    bool has_one;

    if (!atomic_load_explicit(&overrun.count, memory_order_relaxed) ||
        (!is_end && mv_overrun_is_full()) || !mv_process_lock(&mv_wiped.overrun))
        return false;
    has_one = atomic_load(&overrun.count) > 0;
    if (has_one) {
        while (!overrun.rows[overrun.cursor].addr)
            overrun.cursor = (overrun.cursor + 1) & overrun.mask;
        row = &overrun.rows[overrun.cursor];
        *event = (mv_rec_block_event){.addr = row->addr,
                                      .size = (int64_t)row->size,
                                      .allocated = MV_REC_NO_TOTAL,
                                      .device_type = row->type,
                                      .device = row->device};
        *stack = row->stack;
        *moment = mv_rec_now();
        take_out(overrun.cursor);
        atomic_fetch_sub(&mv_wiped.lost[MV_LOST_BOUND], 1);
    }
    mv_process_unlock(&mv_wiped.overrun);
    return has_one;
}

bool mv_overrun_await(void)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    static uint64_t until_us;
    uint64_t room;

    if (atomic_load(&overrun.count) == 0)
        return false;
    until_us = until_us ? until_us : mv_process_now_us() + END_US;
    while (mv_overrun_is_full() && mv_process_now_us() < until_us)
        syscall(SYS_nanosleep, &nap, NULL);
    room = mv_overrun_room(); /* compared before adding to it, because it may be UINT64_MAX */
    return room >= LEAST_ROOM || room + mv_live_file_left(&mv_process.file) >= LEAST_ROOM;
}

void mv_overrun_begin(void)
{
    size_t length = strlen(mv_process.file.path);

    memcpy(overrun.folded, mv_process.file.path, length);
    memcpy(overrun.folded + length, MV_FOLDED_SUFFIX, sizeof MV_FOLDED_SUFFIX);
    atomic_store(&overrun.is_full, false);
    atomic_store(&overrun.count, 0);
    if (overrun.rows)
        mv_pages_give(overrun.rows, (overrun.mask + (size_t)1) * sizeof *overrun.rows);
    overrun.rows = NULL;
}
