#include "parse/symbols/symbol_file.h"

#include "base/search.h"
#include "parse/symbols/demangle.h"
#include "parse/symbols/symbol_dwarf.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

typedef struct {
    int file;
    Elf *elf;
} open_elf;

static void close_elf(open_elf *e)
{
    if (e->elf)
        elf_end(e->elf);
    if (e->file >= 0)
        close(e->file);
}

/* Whether its build id is the wanted one; if none is wanted, it must have none. */
static bool is_the_one(Elf *elf, mv_span build_id)
{
    const void *bits;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &bits);

    if (length <= 0)
        return build_id.length == 0;
    return (uint64_t)length == build_id.length && memcmp(bits, build_id.data, build_id.length) == 0;
}

/* File systems whose files the kernel generates; reading one may have effects. */
static bool is_made_up(const char *path)
{
    static const uint32_t kinds[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,       TRACEFS_MAGIC,  SECURITYFS_MAGIC,
        SELINUX_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,
        BPF_FS_MAGIC,     DEVPTS_SUPER_MAGIC, BINFMTFS_MAGIC,
    };
    struct statfs fs;

    if (statfs(path, &fs) != 0)
        return true;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((uint32_t)fs.f_type == kinds[i])
            return true;
    return false;
}

/* The path comes from a capture, so it is untrusted. The file is checked before it is opened, since
 * opening a device has effects, and again afterwards. */
static int open_regular(const char *path)
{
    struct stat before, now;
    int file;

    if (*path != '/' || stat(path, &before) != 0 || !S_ISREG(before.st_mode) || is_made_up(path))
        return -1;
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file >= 0 &&
        (fstat(file, &now) != 0 || now.st_dev != before.st_dev || now.st_ino != before.st_ino)) {
        close(file);
        return -1;
    }
    return file;
}

static bool open_one(const char *path, mv_span build_id, open_elf *out)
{
    *out = (open_elf){.file = open_regular(path)};
    if (out->file >= 0) {
        elf_version(EV_CURRENT);
        out->elf = elf_begin(out->file, ELF_C_READ_MMAP, NULL);
        if (out->elf && elf_kind(out->elf) == ELF_K_ELF && is_the_one(out->elf, build_id))
            return true;
    }
    close_elf(out);
    return false;
}

/* usr/lib/debug/.build-id/ab/cdef0123.debug, the path of Debian's -dbgsym packages. */
static bool open_debug(mv_span build_id, open_elf *out)
{
    char path[128];
    int length = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/");

    *out = (open_elf){.file = -1};
    if (build_id.length < 2 || build_id.length > 32)
        return false;
    for (uint64_t i = 0; i < build_id.length; i++)
        length += snprintf(path + length, sizeof path - (size_t)length, i == 1 ? "/%02x" : "%02x",
                           build_id.data[i]);
    snprintf(path + length, sizeof path - (size_t)length, ".debug");
    return open_one(path, build_id, out);
}

/* ---- symbol table ---- */

/* The symbol that begins at or closest before an address. */
typedef struct {
    uint64_t value, size;
    const char *name; /* in the file; NULL: none */
} nearest;

/* A symbol goes to the first address at or after its beginning. Later addresses inherit it, unless
 * a symbol begins closer to them. */
static void offer(const mv_symbol_answers *answers, nearest *best, const GElf_Sym *symbol,
                  const char *name)
{
    uint64_t at = mv_lower_bound_u64(answers->address, answers->count, symbol->st_value);

    if (at == answers->count || (best[at].name && best[at].value > symbol->st_value))
        return;
    if (best[at].name && best[at].value == symbol->st_value && best[at].size >= symbol->st_size)
        return;
    best[at] = (nearest){symbol->st_value, symbol->st_size, name};
}

static void read_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                       const mv_symbol_answers *answers, nearest *best)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    GElf_Sym symbol;

    for (size_t i = 0; data && i < count && i < INT32_MAX; i++) {
        const char *name;
        unsigned type;
        if (!gelf_getsym(data, (int)i, &symbol))
            return;
        type = GELF_ST_TYPE(symbol.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF)
            continue;
        name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name && *name)
            offer(answers, best, &symbol, name);
    }
}

/* Offers the symbols of every section of that type; false if there is none. */
static bool read_tables(Elf *elf, uint32_t type, const mv_symbol_answers *answers, nearest *best)
{
    bool is_found = false;

    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != type)
            continue;
        is_found = true;
        read_table(elf, section, &header, answers, best);
    }
    return is_found;
}

static bool name_by_symbols(mv_arena *arena, Elf *elf, Elf *debug, mv_symbol_answers *answers)
{
    nearest *best = mv_push_array(arena, nearest, answers->count);
    const nearest *last = NULL;

    if (!best)
        return false;
    if (!(debug && read_tables(debug, SHT_SYMTAB, answers, best)) &&
        !read_tables(elf, SHT_SYMTAB, answers, best))
        read_tables(elf, SHT_DYNSYM, answers, best);
    for (uint32_t i = 0; i < answers->count; i++) {
        const nearest *own = best[i].name ? &best[i] : NULL;
        bool is_new = own && !(last && last->value > own->value);
        last = is_new ? own : last;
        if (!last || (last->size && answers->address[i] - last->value >= last->size))
            continue;
        if (i > 0 && !is_new && answers->symbol[i - 1])
            answers->symbol[i] = answers->symbol[i - 1];
        else
            answers->symbol[i] = mv_demangle(arena, last->name);
        if (!answers->symbol[i])
            return false;
    }
    return true;
}

/* ---- debug information ---- */

/* libdw searches the stored section for the end of a text. libelf converts sections of types with
 * numbers, so that texts there may be unterminated: such a file is not genuine. */
static bool has_plain_sections(Elf *elf)
{
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        bool is_debug =
            name && (strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0);
        if (is_debug && header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS)
            return false;
    }
    return true;
}

static Dwarf *begin_dwarf(Elf *elf)
{
    return has_plain_sections(elf) ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
}

bool mv_symbol_file_query(mv_arena *arena, const mv_symbol_module *module,
                          mv_symbol_answers *answers, mv_err *err)
{
    open_elf own, debug;
    Dwarf *dwarf;
    bool has_room;

    if (!open_one(module->path, module->build_id, &own))
        return false;
    open_debug(module->build_id, &debug);
    has_room = name_by_symbols(arena, own.elf, debug.elf, answers);
    dwarf = begin_dwarf(own.elf);
    if (!dwarf && debug.elf)
        dwarf = begin_dwarf(debug.elf);
    if (dwarf) {
        has_room = has_room && mv_symbol_dwarf_query(arena, dwarf, answers);
        dwarf_end(dwarf);
    }
    close_elf(&debug);
    close_elf(&own);
    if (!has_room)
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "symbols");
    return true;
}
