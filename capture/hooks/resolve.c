#include "capture/hooks/resolve.h"

#include "capture/stacks/elf_symbols.h"
#include "capture/stacks/loader_list.h"

#include <string.h>

enum {
    MOST_NEARBY = 256
}; /* largest number of libraries that a library needs, directly and
                             * indirectly */

/* The shim's dynamic section. Every linked file has a separate one. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

typedef struct {
    const char *name;
    uintptr_t address; /* address of the caller, or of a function in the same library */
    enum { FOR_CALLER, NEARBY, BESIDE, NEXT, BETWEEN, LOADED } how;
    void *found;
} resolve_call;

static bool is_ours(const struct link_map *file)
{
    return file->l_ld == _DYNAMIC;
}

/* ---- the loader's list ---- */

/* Returns `file`, or the first file after it whose memory is mapped. */
static const struct link_map *whole(const struct link_map *file)
{
    while (file && !mv_loader_has(file))
        file = file->l_next;
    return file;
}

static const struct link_map *first_file(void)
{
    return whole(_r_debug.r_map);
}

static const struct link_map *next_file(const struct link_map *file)
{
    return whole(file->l_next);
}

/* ---- the file that contains an address ---- */

typedef struct {
    uintptr_t address;
    ElfW(Addr) bias;
    const char *path;
    bool found;
} file_place;

static int holds_address(struct dl_phdr_info *info, size_t size, void *data)
{
    file_place *wanted = data;

    (void)size;
    wanted->found = mv_loader_segment(info, wanted->address) != NULL;
    wanted->bias = info->dlpi_addr;
    wanted->path = info->dlpi_name;
    return wanted->found;
}

static const struct link_map *file_of(uintptr_t address)
{
    file_place wanted = {.address = address};

    if (address)
        mv_loader_iterate(holds_address, &wanted);
    if (!wanted.found)
        return NULL;
    for (const struct link_map *file = first_file(); file; file = next_file(file))
        if (file->l_addr == wanted.bias && strcmp(file->l_name, wanted.path) == 0)
            return file;
    return NULL;
}

/* ---- the three steps ---- */

/* Returns true if a file comes before the shim in the loader's list. The loader lists the program,
 * then preloaded libraries, then their dependencies, then libraries opened later. If a library
 * before the shim hooks the same names, it was called before the shim, and may be the caller. */
static bool comes_before_shim(const struct link_map *file)
{
    const struct link_map *other = first_file();

    while (other && other != file && !is_ours(other))
        other = next_file(other);
    return other == file;
}

static const struct link_map *ourselves(void)
{
    const struct link_map *file = first_file();

    while (file && !is_ours(file))
        file = next_file(file);
    return file;
}

static void *find_after_shim(const char *name)
{
    const struct link_map *us = ourselves();

    for (const struct link_map *file = us ? next_file(us) : NULL; file; file = next_file(file)) {
        void *found = mv_elf_function(file, name);
        if (found)
            return found;
    }
    return NULL;
}

/* Searches the files between the caller and the shim, which RTLD_NEXT would search before the
 * shim. */
static void *find_between(const char *name, uintptr_t caller)
{
    const struct link_map *file = file_of(caller);
    void *found = NULL;

    if (!file || !comes_before_shim(file))
        return NULL;
    for (file = next_file(file); file && !is_ours(file) && !found; file = next_file(file))
        found = mv_elf_function(file, name);
    return found;
}

static void *find_preloaded(const char *name)
{
    const struct link_map *program = first_file(), *us = ourselves();
    const struct link_map *file = us ? next_file(us) : NULL;

    for (; file; file = next_file(file)) {
        const char *called = mv_elf_name(file);
        void *found;
        if (mv_elf_needs(program, called) || mv_elf_needs(us, called))
            break;
        found = mv_elf_function(file, name);
        if (found)
            return found;
    }
    return NULL;
}

/* Adds the libraries that `file` needs, unless they are in the queue already. */
static unsigned add_needed(const struct link_map *file, const struct link_map **queue,
                           unsigned count)
{
    const char *needed;

    for (unsigned i = 0; count < MOST_NEARBY && (needed = mv_elf_needed(file, i)); i++) {
        const struct link_map *other = first_file();
        unsigned at = 0;
        while (other && !mv_elf_is(other, needed))
            other = next_file(other);
        while (at < count && queue[at] != other)
            at++;
        if (other && at == count)
            queue[count++] = other;
    }
    return count;
}

static void *find_nearby_with(const struct link_map **queue, const char *name, uintptr_t caller)
{
    unsigned count = 1;

    queue[0] = file_of(caller);
    if (!queue[0])
        return NULL;
    for (unsigned at = 0; at < count; at++) {
        void *found = comes_before_shim(queue[at]) ? NULL : mv_elf_function(queue[at], name);
        if (found && !is_ours(queue[at]))
            return found;
        count = add_needed(queue[at], queue, count);
    }
    return NULL;
}

static __attribute__((noinline)) void *find_nearby_nested(const char *name, uintptr_t caller)
{
    const struct link_map *queue[MOST_NEARBY];
    return find_nearby_with(queue, name, caller);
}

/* Step 2. The loader's lock is held, so no other thread can be in this function, but this thread
 * can be in it twice if a signal handler calls CUDA. The queue is too large for the program's
 * stacks. */
static void *find_nearby(const char *name, uintptr_t caller)
{
    static const struct link_map *queue[MOST_NEARBY];
    static volatile bool is_in_use;
    void *found;

    if (is_in_use)
        return find_nearby_nested(name, caller);
    is_in_use = true;
    found = find_nearby_with(queue, name, caller);
    is_in_use = false;
    return found;
}

/* ---- answers ---- */

/* Finds the answer. Called only once, while the loader's list cannot change. */
static int answer(struct dl_phdr_info *info, size_t size, void *data)
{
    resolve_call *q = data;
    const struct link_map *file;

    (void)info;
    (void)size;
    switch (q->how) {
    case FOR_CALLER:
        q->found = q->address ? find_preloaded(q->name) : NULL;
        if (!q->found)
            q->found = find_nearby(q->name, q->address);
        if (!q->found)
            q->found = find_after_shim(q->name);
        break;
    case NEARBY:
        q->found = find_nearby(q->name, q->address);
        break;
    case BESIDE:
        file = file_of(q->address);
        q->found = file && !is_ours(file) ? mv_elf_function(file, q->name) : NULL;
        break;
    case NEXT:
        q->found = find_after_shim(q->name);
        break;
    case LOADED:
        q->found = file_of(q->address) ? (void *)q->address : NULL;
        break;
    case BETWEEN:
        q->found = find_between(q->name, q->address);
        break;
    }
    return 1;
}

static void *ask(resolve_call q)
{
    mv_loader_iterate(answer, &q);
    return q.found;
}

void *mv_resolve_anew(const char *name, const void *caller)
{
    return ask((resolve_call){.name = name, .address = (uintptr_t)caller, .how = FOR_CALLER});
}

void *mv_resolve_nearby(const char *name, const void *caller)
{
    return ask((resolve_call){.name = name, .address = (uintptr_t)caller, .how = NEARBY});
}

void *mv_resolve_beside(const void *function, const char *name)
{
    return ask((resolve_call){.name = name, .address = (uintptr_t)function, .how = BESIDE});
}

void *mv_resolve_next(const char *name)
{
    return ask((resolve_call){.name = name, .how = NEXT});
}

void *mv_resolve_at_start(const char *name)
{
    return find_after_shim(name);
}

void *mv_resolve_between(const char *name, const void *caller)
{
    return ask((resolve_call){.name = name, .address = (uintptr_t)caller, .how = BETWEEN});
}

bool mv_resolve_is_loaded(const void *function)
{
    return ask((resolve_call){.address = (uintptr_t)function, .how = LOADED}) != NULL;
}
