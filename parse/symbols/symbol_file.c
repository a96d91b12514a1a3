#include "parse/symbols/symbol_file.h"

#include "base/search.h"
#include "parse/model/trace.h"
#include "parse/symbols/demangle.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- functions, files and lines from DWARF ----------------------------------------------- */

/* Limits, because hostile DWARF may be nested without end, claim the same addresses repeatedly, or
 * contain an entry that is its own sibling. */
enum {
    MOST_DEPTH = 128,
    MOST_INLINED = 64,
    MOST_STEPS = 1 << 28, /* largest number of entries and ranges to examine */
    SCOPES_PER_ADDRESS = 512,
    KEPT_TEXTS = 256
};

/* Cache of strings copied from the file, because all addresses of a function have the same name. */
typedef struct {
    const char *from, *copy;
} kept_text;

typedef struct {
    mv_arena *arena;
    mv_symbol_answers *answers;
    Dwarf_Die unit;
    Dwarf_Files *files; /* files of the unit */
    size_t file_count;
    uint64_t steps;  /* number of entries that may still be examined */
    uint64_t scopes; /* number of ranges that may still be compared with addresses */
    bool has_room;
    kept_text names[KEPT_TEXTS], paths[KEPT_TEXTS];
} walk;

/* Returns a copy of a string in the file; NULL for NULL. */
static const char *keep(walk *w, kept_text *kept, const char *from, bool is_name)
{
    kept_text *slot = &kept[(uintptr_t)from * 0x9e3779b97f4a7c15u >> 56];

    if (!from)
        return NULL;
    if (slot->from != from) {
        *slot = (kept_text){from, is_name ? mv_demangle(w->arena, from)
                                          : mv_arena_text(w->arena, from, strlen(from))};
        w->has_room = w->has_room && slot->copy;
    }
    return slot->copy;
}

/* Returns the demangled linkage name, if there is one, or else the name in the source. Either name
 * may be in the declaration, or, for an inlined instance, in the original function. */
static const char *name_of(walk *w, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!name && dwarf_attr_integrate(die, DW_AT_name, &attribute))
        name = dwarf_formstring(&attribute);
    return keep(w, w->names, name, true);
}

static uint64_t number_of(Dwarf_Die *die, unsigned which)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    if (!dwarf_attr(die, which, &attribute) || dwarf_formudata(&attribute, &value) != 0)
        return 0;
    return value;
}

static const char *path_of(walk *w, uint64_t file)
{
    const char *path = NULL;

    if (w->files && file < w->file_count)
        path = dwarf_filesrc(w->files, file, NULL, NULL);
    return keep(w, w->paths, path, false);
}

static bool goes_on(const walk *w)
{
    return w->has_room && w->steps > 0 && w->scopes > 0;
}

static uint32_t inlined_in(const mv_symbol_frame *frame)
{
    uint32_t count = 0;

    for (; frame; frame = frame->outer)
        count++;
    return count;
}

/* Adds a function to the answer of an address, or a function inlined into the innermost one so
 * far. */
static void enter(walk *w, Dwarf_Die *die, uint64_t at, bool is_inlined)
{
    mv_symbol_frame *outer = is_inlined ? w->answers->frame[at] : NULL;
    mv_symbol_frame *frame;

    if ((is_inlined && !outer) || inlined_in(outer) > MOST_INLINED)
        return;
    frame = mv_push_struct(w->arena, mv_symbol_frame);
    if (!frame) {
        w->has_room = false;
        return;
    }
    if (outer) { /* the outer function's line is the line of the inlined call */
        uint64_t line = number_of(die, DW_AT_call_line);
        outer->file = path_of(w, number_of(die, DW_AT_call_file));
        outer->line = line && line <= INT32_MAX ? (int64_t)line : MV_NO_LINE;
    }
    *frame = (mv_symbol_frame){.outer = outer, .function = name_of(w, die), .line = MV_NO_LINE};
    w->answers->frame[at] = frame;
}

/* Counts the addresses in the ranges of `die`. If the DIE is a function, adds it to the answers for
 * these addresses. */
static uint32_t cover(walk *w, Dwarf_Die *die, bool is_function, bool is_inlined)
{
    const mv_symbol_answers *a = w->answers;
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    uint32_t covered = 0;

    while (goes_on(w) && (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        uint64_t at = mv_lower_bound_u64(a->address, a->count, start);
        w->steps--;
        for (; at < a->count && a->address[at] < end && goes_on(w); at++) {
            covered++;
            w->scopes--;
            if (is_function)
                enter(w, die, at, is_inlined);
        }
    }
    return covered;
}

/* Examines the children of a DIE that may contain functions. Recursion is as deep as scopes are
 * nested. */
// NOLINTNEXTLINE(misc-no-recursion)
static void walk_children(walk *w, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;

    if (depth == MOST_DEPTH || !goes_on(w) || dwarf_child(parent, &die) != 0)
        return;
    do {
        bool is_inside = false;
        w->steps--;
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            is_inside = cover(w, &die, true, false) > 0;
            break;
        case DW_TAG_inlined_subroutine:
            is_inside = cover(w, &die, true, true) > 0;
            break;
        case DW_TAG_lexical_block:
            is_inside = cover(w, &die, false, false) > 0;
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
            is_inside = true;
            break;
        default:
            break;
        }
        if (is_inside)
            walk_children(w, &die, depth + 1);
    } while (goes_on(w) && dwarf_siblingof(&die, &die) == 0);
}

/* Sets the lines of the innermost functions, which are the lines of the instructions. */
static void add_lines(walk *w)
{
    const mv_symbol_answers *a = w->answers;
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;

    while (goes_on(w) && (offset = dwarf_ranges(&w->unit, offset, &base, &start, &end)) > 0) {
        uint64_t at = mv_lower_bound_u64(a->address, a->count, start);
        w->steps--;
        for (; at < a->count && a->address[at] < end && goes_on(w); at++, w->scopes--) {
            Dwarf_Line *line = a->frame[at] ? dwarf_getsrc_die(&w->unit, a->address[at]) : NULL;
            int number;
            if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
                continue;
            a->frame[at]->line = number;
            a->frame[at]->file = keep(w, w->paths, dwarf_linesrc(line, NULL, NULL), false);
        }
    }
}

/* Fills the answers' frames. Returns false if the budget was spent. */
static bool query_dwarf(mv_arena *arena, Dwarf *dwarf, mv_symbol_answers *answers)
{
    walk w = {.arena = arena, .answers = answers, .steps = MOST_STEPS, .has_room = true};
    Dwarf_CU *unit = NULL;
    uint8_t type;

    w.scopes = (uint64_t)answers->count * SCOPES_PER_ADDRESS;
    while (goes_on(&w) && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &w.unit, NULL) == 0) {
        if (type != DW_UT_compile || cover(&w, &w.unit, false, false) == 0)
            continue;
        if (dwarf_getsrcfiles(&w.unit, &w.files, &w.file_count) != 0)
            w.files = NULL;
        walk_children(&w, &w.unit, 0);
        add_lines(&w);
    }
    return w.has_room;
}

/* ---- the file ---------------------------------------------------------------------------- */

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

/* Returns true if the file has the wanted build id; if none is wanted, the file must have none. */
static bool is_the_one(Elf *elf, mv_span build_id)
{
    const void *bits;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &bits);

    if (length <= 0)
        return build_id.length == 0;
    return (uint64_t)length == build_id.length && memcmp(bits, build_id.data, build_id.length) == 0;
}

/* Returns true if the kernel generates the files of this file system, so that reading them may have
 * side effects. */
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

/* Opens a regular file. The path comes from a capture, so it is untrusted. The file is checked
 * before it is opened, because opening a device has side effects, and checked again afterwards. */
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

/* usr/lib/debug/.build-id/ab/cdef0123.debug, where Debian's -dbgsym packages install files. */
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

/* The closest symbol at or before an address. */
typedef struct {
    uint64_t value, size;
    const char *name; /* name of the symbol, in the file's memory; NULL: none */
} nearest;

/* Assigns a symbol to the first address at or after the symbol's beginning. Later addresses inherit
 * the symbol, unless another symbol is closer. */
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

/* Offers the symbols of every section of this type. Returns false if there is no such section. */
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

/* Returns true if the sections with debugging information have plain types. libdw searches the
 * stored section for the end of a string, but libelf converts sections whose type contains numbers,
 * which may leave strings unterminated. No genuine file has such sections. */
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
        has_room = has_room && query_dwarf(arena, dwarf, answers);
        dwarf_end(dwarf);
    }
    close_elf(&debug);
    close_elf(&own);
    if (!has_room)
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "symbols");
    return true;
}
