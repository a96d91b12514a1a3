/* What loaded ELF files define, looked up in their own hash tables: without dlsym, which allocates
 * when it finds nothing, overwrites the program's pending dlerror, and waits for the loader's big
 * lock, which a thread in dlopen holds while it runs constructors.
 *
 * Our own dlsym finds the real one here. So mv_elf_function calls nothing at all: a sanitizer has
 * its own strcmp, and looks the real one up with dlsym. */
#ifndef MV_ELF_SYMBOLS_H
#define MV_ELF_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The function that `file` defines as `name`: the default version when there are several. NULL:
 * none. The loader's list must not change meanwhile: call from within mv_loader_iterate. */
void *mv_elf_function(const struct link_map *file, const char *name);

/* The data that the first loaded file has under this name, and its size. Like mv_elf_function. */
const void *mv_elf_data(const char *name, size_t *bytes);

/* The address of each of `count` names, functions or data, as the first loaded file that defines it
 * has it, in the order in which files were loaded; 0 where none does. Whatever a file was loaded
 * with (RTLD_LOCAL) makes no difference. True when every name was found. */
bool mv_elf_find_all(const char *const *names, uint64_t *addresses, uint32_t count);

/* Whether `file` says that it needs a library of this name (DT_NEEDED), and what `file` itself is
 * called (DT_SONAME, or the last part of its path). */
bool mv_elf_needs(const struct link_map *file, const char *name);
const char *mv_elf_name(const struct link_map *file);

/* Whether `file` goes by `name` in another file's DT_NEEDED. */
bool mv_elf_is(const struct link_map *file, const char *name);

/* The `at`-th library that `file` needs; NULL behind the last. */
const char *mv_elf_needed(const struct link_map *file, unsigned at);

#endif
