#include "capture/elf_symbols.h"

#include <stdint.h>
#include <string.h>

/* The parts of a dynamic section that a look-up needs. */
typedef struct {
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint16_t *versions;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
} elf_tables;

/* glibc has made most of these absolute, but not those of the vDSO. */
static const void *absolute(const struct link_map *file, ElfW(Addr) at)
{
    return (const void *)(at < file->l_addr ? file->l_addr + at : at);
}

static elf_tables tables_of(const struct link_map *file)
{
    elf_tables tables = {0};

    for (const ElfW(Dyn) *entry = file->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = absolute(file, entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB)
            tables.strings = at;
        else if (entry->d_tag == DT_SYMTAB)
            tables.symbols = at;
        else if (entry->d_tag == DT_VERSYM)
            tables.versions = at;
        else if (entry->d_tag == DT_GNU_HASH)
            tables.gnu_hash = at;
        else if (entry->d_tag == DT_HASH)
            tables.sysv_hash = at;
    }
    return tables;
}

/* Whether symbol `i` is a function called `name` that others may bind to without a version. */
static bool is_wanted(const elf_tables *tables, uint32_t i, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[i];
    unsigned char type = symbol->st_info & 15;

    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           (type == STT_FUNC || type == STT_NOTYPE) &&
           !(tables->versions && (tables->versions[i] & 0x8000)) && /* not the default version */
           strcmp(tables->strings + symbol->st_name, name) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static const ElfW(Sym) * find_gnu(const elf_tables *tables, const char *name)
{
    const uint32_t *head = tables->gnu_hash;
    uint32_t buckets = head[0], first = head[1], filters = head[2], shift = head[3];
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(head + 4);
    const uint32_t *bucket = (const uint32_t *)(filter + filters);
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = gnu_hash_of(name);
    enum { BITS = 8 * sizeof *filter };
    ElfW(Addr) word;

    if (filters == 0 || buckets == 0)
        return NULL;
    word = filter[hash / BITS % filters];
    if (!(word >> hash % BITS & word >> (hash >> shift) % BITS & 1))
        return NULL;
    for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
        uint32_t found = chain[i - first];
        if ((found | 1) == (hash | 1) && is_wanted(tables, i, name))
            return &tables->symbols[i];
        if (found & 1)
            break;
    }
    return NULL;
}

static const ElfW(Sym) * find_sysv(const elf_tables *tables, const char *name)
{
    const uint32_t *head = tables->sysv_hash;
    uint32_t hash = 0;

    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash ^= hash >> 24 & 0xf0;
        hash &= 0x0fffffff;
    }
    for (uint32_t i = head[0] ? head[2 + hash % head[0]] : 0; i; i = head[2 + head[0] + i])
        if (is_wanted(tables, i, name))
            return &tables->symbols[i];
    return NULL;
}

void *mv_elf_function(const struct link_map *file, const char *name)
{
    elf_tables tables = tables_of(file);
    const ElfW(Sym) *found = NULL;

    if (!tables.strings || !tables.symbols)
        return NULL;
    if (tables.gnu_hash)
        found = find_gnu(&tables, name);
    else if (tables.sysv_hash)
        found = find_sysv(&tables, name);
    return found ? (void *)(file->l_addr + found->st_value) : NULL;
}

const char *mv_elf_needed(const struct link_map *file, unsigned at)
{
    const char *strings = tables_of(file).strings;

    for (const ElfW(Dyn) *entry = file->l_ld; strings && entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && at-- == 0)
            return strings + entry->d_un.d_val;
    return NULL;
}

const char *mv_elf_name(const struct link_map *file)
{
    const char *strings = tables_of(file).strings;
    const char *slash = strrchr(file->l_name, '/');

    for (const ElfW(Dyn) *entry = file->l_ld; strings && entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SONAME)
            return strings + entry->d_un.d_val;
    return slash ? slash + 1 : file->l_name;
}

bool mv_elf_needs(const struct link_map *file, const char *name)
{
    const char *needed;

    for (unsigned i = 0; (needed = mv_elf_needed(file, i)); i++)
        if (strcmp(needed, name) == 0)
            return true;
    return false;
}

bool mv_elf_is(const struct link_map *file, const char *name)
{
    const char *slash = strrchr(file->l_name, '/');

    return strcmp(mv_elf_name(file), name) == 0 || strcmp(file->l_name, name) == 0 ||
           (slash && strcmp(slash + 1, name) == 0);
}
