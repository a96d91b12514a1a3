#define XXH_INLINE_ALL
#include "capture/record/stack_table.h"

#include <string.h>
#include <xxhash.h>

#include "capture/record/names.h"
#include "capture/record/process.h"

/* Beginning and end of the shim in memory, defined by the linker. */
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint8_t _end[] __attribute__((visibility("hidden")));

static mv_id_table known;
static atomic_bool python_is_ready;

static bool is_own(uint64_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_end;
}

static uint32_t walk_native(mv_thread_block *block)
{
    mv_raw_stack *raw = &block->raw;
    uint32_t count = mv_native_walk(&block->past, raw->native, MV_LIVE_MOST_FRAMES), own = 0;

    while (own < count && is_own(raw->native[own]))
        own++;
    memmove(raw->native, raw->native + own, (count - own) * sizeof *raw->native);
    return count - own;
}

void mv_stack_table_start(void)
{
    if (!atomic_load_explicit(&python_is_ready, memory_order_relaxed) && mv_python_ready())
        atomic_store(&python_is_ready, true);
}

static void collect(mv_thread_block *block)
{
    mv_raw_stack *raw = &block->raw;
    mv_stacks_wanted wanted = mv_process.settings.stacks;

    raw->python_count = raw->native_count = 0;
    if (wanted != MV_STACKS_NATIVE && atomic_load_explicit(&python_is_ready, memory_order_relaxed))
        raw->python_count = mv_python_walk(raw->python, MV_LIVE_MOST_FRAMES);
    if (wanted != MV_STACKS_PYTHON || !raw->python_count)
        raw->native_count = walk_native(block);
}

/* Returns the frame for the thread's name, which is part of stacks without Python frames. */
static uint32_t words_of(const mv_thread_block *block)
{
    bool named = mv_process.settings.stacks == MV_STACKS_PYTHON && !block->raw.python_count;
    return named ? block->words : 0;
}

/* Computes the key of a stack. A stack without native frames and without a thread's name is hashed
 * as Python frames. All other stacks are hashed as words, of which the last three contain a hash of
 * the Python frames, and the thread's name. */
static mv_id_key key_of(mv_raw_stack *raw, uint32_t words)
{
    uint64_t *rest = raw->native + raw->native_count;
    XXH128_hash_t hash = {0};

    if (raw->python_count)
        hash = XXH3_128bits(raw->python, raw->python_count * sizeof *raw->python);
    if (raw->native_count || words || !raw->python_count) {
        rest[0] = hash.low64;
        rest[1] = hash.high64;
        rest[2] = words;
        hash = XXH3_128bits(raw->native, (raw->native_count + 3) * sizeof *rest);
    }
    return (mv_id_key){hash.low64 ? hash.low64 : 1, hash.high64};
}

/* Finds the modules of all native frames, and drops frames of the interpreter and of its callers,
 * which Python frames replace. */
static void find_modules(mv_thread_block *block)
{
    mv_raw_stack *raw = &block->raw;
    const mv_module *interpreter =
        raw->python_count && raw->native_count ? mv_python_module() : NULL;

    for (uint32_t i = 0; i < raw->native_count; i++) {
        block->modules[i] = mv_module_at(raw->native[i]);
        if (interpreter && block->modules[i] == interpreter)
            raw->native_count = i;
    }
}

/* Makes the ids of the frames, innermost first. Returns the number of frames, or MV_NO_ID if there
 * is no space. */
static uint32_t spell_frames(mv_thread_block *block, uint32_t words)
{
    const mv_raw_stack *raw = &block->raw;
    uint32_t count = 0;

    for (uint32_t i = 0; i < raw->native_count; i++)
        block->frames[count++] = mv_names_native_frame(raw->native[i], block->modules[i]);
    for (uint32_t i = 0; i < raw->python_count; i++)
        block->frames[count++] = mv_names_python_frame(&raw->python[i]);
    if (count + (words != 0) > MV_LIVE_MOST_FRAMES)
        count = MV_LIVE_MOST_FRAMES - (words != 0);
    if (words)
        block->frames[count++] = words - 1;
    for (uint32_t i = 0; i < count; i++)
        if (block->frames[i] == MV_NO_ID)
            return MV_NO_ID;
    return count;
}

/* Writes the stack. Returns its id + 1, or MV_NO_ID if there is no space. The caller must hold the
 * lock of the names. */
static uint32_t spell(mv_thread_block *block, uint32_t words)
{
    uint32_t count = spell_frames(block, words), stack = 0;

    if (count == MV_NO_ID)
        return MV_NO_ID;
    while (count-- > 0) {
        uint32_t id = mv_names_stack(stack, block->frames[count]);
        if (id == MV_NO_ID)
            return MV_NO_ID;
        stack = id + 1;
    }
    return stack;
}

/* Adds a new stack. Finding modules takes the loader's lock, so the modules are found before the
 * lock of the names is taken. */
static uint32_t add(mv_thread_block *block, mv_id_key key, uint32_t words)
{
    uint32_t stack;

    find_modules(block);
    if (!mv_names_lock())
        return MV_NO_ID;
    stack = mv_id_find(&known, key);
    if (stack == MV_NO_ID) {
        stack = spell(block, words);
        if (stack != MV_NO_ID)
            mv_id_add(&known, key, stack);
    }
    mv_names_unlock();
    return stack;
}

uint32_t mv_stack_table_now(mv_thread_block *block)
{
    uint32_t words, stack;
    mv_id_key key;

    if (mv_process.settings.stacks == MV_STACKS_NONE)
        return 0;
    collect(block);
    if (!block->raw.python_count)
        mv_stack_table_start();
    words = words_of(block);
    key = key_of(&block->raw, words);
    stack = mv_id_find(&known, key);
    if (stack == MV_NO_ID)
        stack = add(block, key, words);
    if (stack != MV_NO_ID)
        return stack;
    mv_process_lose(MV_LOST_STACKS);
    return 0;
}

void mv_stack_table_forget(void)
{
    mv_id_table_clear(&known);
}
