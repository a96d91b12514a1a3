#include "capture/elf_exports.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    const char *const *names;
    uint64_t *addresses;
    uint32_t count, found;
} search;

/* The tables of one file. */
typedef struct {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* DT_GNU_HASH */
    ElfW(Addr) bias;
} exports;

/* glibc has made addresses of the offsets in the dynamic section, except for what it did not load
 * itself (the vDSO). */
static const void *table_at(ElfW(Addr) bias, ElfW(Addr) value)
{
    return (const void *)(value < bias ? value + bias : value); // NOLINT: an address
}

static bool read_dynamic(ElfW(Addr) bias, const ElfW(Dyn) * dynamic, exports *out)
{
    *out = (exports){.bias = bias};
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            out->symbols = table_at(bias, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_STRTAB)
            out->strings = table_at(bias, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_GNU_HASH)
            out->hash = table_at(bias, dynamic->d_un.d_ptr);
    }
    return out->symbols && out->strings && out->hash;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

/* The table: buckets, first symbol, words of the filter, its shift; the filter; the first symbol
 * of each bucket; for each symbol its hash, whose lowest bit ends the bucket. */
static const ElfW(Sym) * symbol_of(const exports *e, const char *name, uint32_t hash)
{
    enum { WORD_BITS = sizeof(ElfW(Addr)) * 8 };
    uint32_t bucket_count = e->hash[0], first = e->hash[1], words = e->hash[2];
    const ElfW(Addr) *filter = (const void *)(e->hash + 4);
    const uint32_t *buckets = (const void *)(filter + words);
    const uint32_t *chain = buckets + bucket_count;
    ElfW(Addr) word;
    uint32_t i;

    if (bucket_count == 0 || words == 0)
        return NULL;
    word = filter[hash / WORD_BITS % words];
    if (!(word >> hash % WORD_BITS & word >> (hash >> e->hash[3]) % WORD_BITS & 1))
        return NULL;
    i = buckets[hash % bucket_count];
    if (i < first)
        return NULL;
    for (;; i++) {
        const ElfW(Sym) *symbol = &e->symbols[i];
        if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            strcmp(e->strings + symbol->st_name, name) == 0)
            return symbol;
        if (chain[i - first] & 1)
            return NULL;
    }
}

static void search_exports(search *s, const exports *e)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const ElfW(Sym) * symbol;
        if (s->addresses[i])
            continue;
        symbol = symbol_of(e, s->names[i], hash_of(s->names[i]));
        if (symbol) {
            s->addresses[i] = e->bias + symbol->st_value;
            s->found++;
        }
    }
}

static int search_file(struct dl_phdr_info *info, size_t size, void *context)
{
    search *s = context;
    const ElfW(Dyn) *dynamic = NULL;
    exports e;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (read_dynamic(info->dlpi_addr, dynamic, &e))
        search_exports(s, &e);
    return s->found == s->count;
}

bool mv_elf_exports_find(const char *const *names, uint64_t *addresses, uint32_t count)
{
    search s = {names, addresses, count, 0};

    memset(addresses, 0, count * sizeof *addresses);
    dl_iterate_phdr(search_file, &s);
    return s.found == count;
}

bool mv_elf_exports_in(const struct link_map *file, const char *const *names, uint64_t *addresses,
                       uint32_t count)
{
    search s = {names, addresses, count, 0};
    exports e;

    memset(addresses, 0, count * sizeof *addresses);
    if (read_dynamic(file->l_addr, file->l_ld, &e))
        search_exports(&s, &e);
    return s.found == count;
}
