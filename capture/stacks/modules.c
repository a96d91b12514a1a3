/* Finds the loaded ELF files. Everything runs inside mv_loader_iterate, so the loader's lock also
 * protects the state in this file. No lock is held while waiting for another lock. A thread in
 * dlopen holds the loader's lock only while it changes the list, not while constructors run. */
#include "capture/record/pages.h"
#include "capture/record/stack.h"
#include "capture/stacks/loader_list.h"

#include <string.h>
#include <unistd.h>

enum {
    MOST_MODULES = 8192, /* largest number of modules in the life of the process; further modules
                          * are not recorded */
    TEXT_CHUNK = 256 << 10,
    MOST_PATH = 4096
};

/* State of the shim. `all` only grows, so pointers into it stay valid. `loaded` contains the
 * modules that are loaded now, sorted by address. `adds` and `subs` are the values of the loader's
 * counters at which `loaded` was last correct. They are stored after the loader's lock is released,
 * which is harmless because outdated counters only make the next look-up read the list again. */
typedef struct {
    mv_module all[MOST_MODULES];
    uint32_t loaded[MOST_MODULES];
    char program[MOST_PATH + 1]; /* path of the program itself; "": not known yet */
    char path[MOST_PATH + 1];    /* the path being made, which is too large for the program's
                                  * stacks */
} module_table;

/* Marks functions during which the loader holds its lock, which ThreadSanitizer cannot detect. */
#define UNDER_LOADER static __attribute__((no_sanitize("thread")))

static module_table *table;
static uint32_t all_count, loaded_count;
static char *text_at, *text_end;
static _Atomic uint64_t adds, subs;

/* One look-up. */
typedef struct {
    uint64_t address;
    const mv_module *found;
    uint64_t adds, subs;
    bool is_begun, is_stale;
} lookup;

UNDER_LOADER const char *keep_text(const char *text)
{
    size_t length = strlen(text) + 1;
    char *kept;

    if ((size_t)(text_end - text_at) < length) {
        text_at = mv_pages_get(TEXT_CHUNK);
        text_end = text_at ? text_at + TEXT_CHUNK : NULL;
    }
    if (!text_at || length > TEXT_CHUNK)
        return "";
    kept = memcpy(text_at, text, length);
    text_at += length;
    return kept;
}

UNDER_LOADER const char *program_path(void)
{
    if (!*table->program && !mv_is_confined() &&
        readlink("/proc/self/exe", table->program, MOST_PATH) < 0)
        *table->program = 0;
    return table->program;
}

/* Makes an absolute path. In the loader's list, the path of the program itself is "", and the path
 * of any other file may be the argument of dlopen, which may be relative to the working
 * directory. */
UNDER_LOADER const char *spell_path(const struct dl_phdr_info *info, bool is_program)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    char *out = table->path;
    size_t length = 0, room;

    if (is_program && !*name)
        return program_path();
    if (*name != '/' && strchr(name, '/') && !mv_is_confined() && getcwd(out, MOST_PATH / 2)) {
        length = strlen(out);
        out[length++] = '/';
    }
    room = MOST_PATH - length;
    memcpy(out + length, name, strnlen(name, room));
    out[length + strnlen(name, room)] = 0;
    return out;
}

/* Searches the notes of a segment for a build id. */
static bool read_notes(const char *at, uint64_t left, mv_module *module)
{
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        uint64_t name, whole;

        memcpy(&note, at, sizeof note);
        name = sizeof note + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
        whole = name + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
        if (whole > left)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0 && note.n_descsz <= sizeof module->build_id) {
            module->build_id_bytes = note.n_descsz;
            memcpy(module->build_id, at + name, note.n_descsz);
            return true;
        }
        at += whole;
        left -= whole;
    }
    return false;
}

static void read_build_id(const struct dl_phdr_info *info, mv_module *module)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_NOTE && at >= module->first && at + p->p_memsz <= module->end &&
            read_notes((const char *)(uintptr_t)at, p->p_memsz, module))
            return;
    }
}

static void read_range(const struct dl_phdr_info *info, mv_module *module)
{
    module->bias = info->dlpi_addr;
    module->first = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        if (module->bias + p->p_vaddr < module->first)
            module->first = module->bias + p->p_vaddr;
        if (module->bias + p->p_vaddr + p->p_memsz > module->end)
            module->end = module->bias + p->p_vaddr + p->p_memsz;
    }
}

static bool is_same(const mv_module *a, const mv_module *b)
{
    return a->bias == b->bias && a->first == b->first && a->end == b->end &&
           a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
           strcmp(a->path, b->path) == 0;
}

/* Returns the module's row in `all`, which may be new; MOST_MODULES if there is no space. */
UNDER_LOADER uint32_t row_of(mv_module *module)
{
    for (uint32_t i = 0; i < all_count; i++)
        if (is_same(&table->all[i], module))
            return i;
    if (all_count == MOST_MODULES)
        return MOST_MODULES;
    module->path = keep_text(module->path);
    table->all[all_count] = *module;
    return all_count++;
}

/* Returns the number of modules in `loaded` that begin at or below `address`. */
UNDER_LOADER uint32_t rows_to(uint64_t address)
{
    uint32_t low = 0, high = loaded_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->all[table->loaded[middle]].first <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

UNDER_LOADER void add_loaded(const struct dl_phdr_info *info, bool is_program)
{
    mv_module module = {.path = spell_path(info, is_program)};
    uint32_t row, at;

    read_range(info, &module);
    read_build_id(info, &module);
    row = module.first < module.end ? row_of(&module) : MOST_MODULES;
    if (row == MOST_MODULES || loaded_count == MOST_MODULES)
        return;
    at = rows_to(module.first);
    memmove(&table->loaded[at + 1], &table->loaded[at],
            (loaded_count - at) * sizeof *table->loaded);
    table->loaded[at] = row;
    loaded_count++;
}

UNDER_LOADER const mv_module *loaded_at(uint64_t address)
{
    uint32_t at = rows_to(address);
    const mv_module *module = at ? &table->all[table->loaded[at - 1]] : NULL;

    return module && address < module->end ? module : NULL;
}

UNDER_LOADER int look(struct dl_phdr_info *info, size_t size, void *context)
{
    lookup *l = context;
    bool is_first = !l->is_begun;

    (void)size;
    if (is_first) {
        l->is_begun = true;
        l->adds = info->dlpi_adds;
        l->subs = info->dlpi_subs;
        if (!table)
            table = mv_pages_get(sizeof *table);
        if (!table)
            return 1;
        l->is_stale = atomic_load(&adds) != l->adds || atomic_load(&subs) != l->subs;
        if (!l->is_stale) {
            l->found = loaded_at(l->address);
            return 1;
        }
        loaded_count = 0;
    }
    add_loaded(info, is_first);
    l->found = loaded_at(l->address);
    return 0;
}

const mv_module *mv_module_at(uint64_t address)
{
    lookup l = {.address = address};

    mv_loader_iterate(look, &l);
    if (l.is_stale) {
        atomic_store(&adds, l.adds);
        atomic_store(&subs, l.subs);
    }
    return l.found;
}
