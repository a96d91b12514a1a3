/* Functions that loaded ELF files define, found without the loader's dl functions: dlopen and dlsym
 * would take the loader's big lock, which another thread may hold while it waits for us, and would
 * overwrite the program's pending dlerror.
 *
 * Nothing here allocates or keeps anything. A result is valid while its file stays loaded. */
#ifndef MV_ELF_SYMBOLS_H
#define MV_ELF_SYMBOLS_H

#include <link.h>
#include <stdbool.h>

/* The function that `file` defines as `name`: the default version when there are several. NULL:
 * none. The loader's list must not change meanwhile: call from within dl_iterate_phdr. */
void *mv_elf_function(const struct link_map *file, const char *name);

/* Whether `file` says that it needs a library of this name (DT_NEEDED), and what `file` itself is
 * called (DT_SONAME, or the last part of its path). */
bool mv_elf_needs(const struct link_map *file, const char *name);
const char *mv_elf_name(const struct link_map *file);

/* Whether `file` goes by `name` in another file's DT_NEEDED. */
bool mv_elf_is(const struct link_map *file, const char *name);

/* The `at`-th library that `file` needs; NULL behind the last. */
const char *mv_elf_needed(const struct link_map *file, unsigned at);

#endif
