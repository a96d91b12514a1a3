#include "capture/stacks/elf_symbols.h"

#include "capture/stacks/loader_list.h"

#include <string.h>

/* The parts of a file's dynamic section that a look-up uses. */
typedef struct {
    ElfW(Addr) bias;
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint16_t *versions;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
} elf_tables;

/* The symbol to find. */
typedef struct {
    const char *name;
    bool is_function; /* whether only a function is accepted */
} wanted;

/* Converts an address in a dynamic section. glibc has made most of these addresses absolute, but
 * not those of the vDSO. */
static const void *absolute(ElfW(Addr) bias, ElfW(Addr) at)
{
    return (const void *)(at < bias ? bias + at : at); // NOLINT: an address
}

static elf_tables read_tables(ElfW(Addr) bias, const ElfW(Dyn) * entry)
{
    elf_tables tables = {.bias = bias};

    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = absolute(bias, entry->d_un.d_ptr);
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

static elf_tables tables_of(const struct link_map *file)
{
    return read_tables(file->l_addr, file->l_ld);
}

/* Used instead of strcmp, which must not be called here (see the header). */
static bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool is_type_wanted(const ElfW(Sym) * symbol, const wanted *w)
{
    unsigned char type = symbol->st_info & 15;
    return type == STT_FUNC || type == STT_NOTYPE || (type == STT_OBJECT && !w->is_function);
}

/* Returns true if other files can bind to symbol `i` by this name without a version. */
static bool is_wanted(const elf_tables *tables, uint32_t i, const wanted *w)
{
    const ElfW(Sym) *symbol = &tables->symbols[i];

    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && is_type_wanted(symbol, w) &&
           !(tables->versions && (tables->versions[i] & 0x8000)) && /* not the default version */
           is_same(tables->strings + symbol->st_name, w->name);
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Layout of the table: number of buckets, first symbol, words of the filter, its shift; the filter;
 * the first symbol of each bucket; the hash of each symbol, with the lowest bit set at a bucket's
 * end. */
static const ElfW(Sym) * find_gnu(const elf_tables *tables, const wanted *w)
{
    const uint32_t *head = tables->gnu_hash;
    uint32_t buckets = head[0], first = head[1], filters = head[2], shift = head[3];
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(head + 4);
    const uint32_t *bucket = (const uint32_t *)(filter + filters);
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = gnu_hash_of(w->name);
    enum { BITS = 8 * sizeof *filter };
    ElfW(Addr) word;

    if (filters == 0 || buckets == 0)
        return NULL;
    word = filter[hash / BITS % filters];
    if (!(word >> hash % BITS & word >> (hash >> shift) % BITS & 1))
        return NULL;
    for (uint32_t i = bucket[hash % buckets]; i >= first; i++) {
        uint32_t found = chain[i - first];
        if ((found | 1) == (hash | 1) && is_wanted(tables, i, w))
            return &tables->symbols[i];
        if (found & 1)
            break;
    }
    return NULL;
}

static const ElfW(Sym) * find_sysv(const elf_tables *tables, const wanted *w)
{
    const uint32_t *head = tables->sysv_hash;
    uint32_t hash = 0;

    for (const char *c = w->name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash ^= hash >> 24 & 0xf0;
        hash &= 0x0fffffff;
    }
    for (uint32_t i = head[0] ? head[2 + hash % head[0]] : 0; i; i = head[2 + head[0] + i])
        if (is_wanted(tables, i, w))
            return &tables->symbols[i];
    return NULL;
}

/* Finds a symbol in one file; NULL if the file does not define it. */
static const ElfW(Sym) * find_symbol(const elf_tables *tables, const wanted *w)
{
    if (!tables->strings || !tables->symbols)
        return NULL;
    if (tables->gnu_hash)
        return find_gnu(tables, w);
    return tables->sysv_hash ? find_sysv(tables, w) : NULL;
}

/* Finds the address of a symbol in one file; 0 if the file does not define it. */
static ElfW(Addr) find(const elf_tables *tables, const wanted *w)
{
    const ElfW(Sym) *found = find_symbol(tables, w);
    return found ? tables->bias + found->st_value : 0;
}

void *mv_elf_function(const struct link_map *file, const char *name)
{
    elf_tables tables = tables_of(file);
    return (void *)find(&tables, &(wanted){name, true}); // NOLINT: an address
}

const void *mv_elf_data(const char *name, size_t *bytes)
{
    for (const struct link_map *file = _r_debug.r_map; file; file = file->l_next) {
        elf_tables tables = tables_of(file);
        const ElfW(Sym) *found = find_symbol(&tables, &(wanted){name, false});
        if (found) {
            *bytes = found->st_size;
            return (const void *)(tables.bias + found->st_value); // NOLINT: an address
        }
    }
    return NULL;
}

/* ---- searching all files ---- */

typedef struct {
    const char *const *names;
    uint64_t *addresses;
    uint32_t count, found;
} search;

static int search_file(struct dl_phdr_info *info, size_t size, void *context)
{
    search *s = context;
    const ElfW(Dyn) *dynamic = NULL;
    elf_tables tables;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    tables = read_tables(info->dlpi_addr, dynamic);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->addresses[i])
            continue;
        s->addresses[i] = find(&tables, &(wanted){s->names[i], false});
        s->found += s->addresses[i] != 0;
    }
    return s->found == s->count;
}

bool mv_elf_find_all(const char *const *names, uint64_t *addresses, uint32_t count)
{
    search s = {names, addresses, count, 0};

    memset(addresses, 0, count * sizeof *addresses);
    mv_loader_iterate(search_file, &s);
    return s.found == count;
}

/* ---- files and the libraries that they need ---- */

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
