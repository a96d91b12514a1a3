/* What loaded ELF files export, looked up in their own hash tables: without dlsym, which allocates
 * when it finds nothing, changes what dlerror says, and waits for a lock that a thread in dlopen
 * holds while it runs constructors. Here only the lock of the list of files is taken, for as long
 * as the list is read. */
#ifndef MV_ELF_EXPORTS_H
#define MV_ELF_EXPORTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The address of each of `count` names, as the first loaded file that defines it has it, in the
 * order in which files were loaded; 0 where none does. Whatever a file was loaded with (RTLD_LOCAL)
 * makes no difference. True when every name was found. */
bool mv_elf_exports_find(const char *const *names, uint64_t *addresses, uint32_t count);

/* The same in one file, which must stay loaded meanwhile. */
bool mv_elf_exports_in(const struct link_map *file, const char *const *names, uint64_t *addresses,
                       uint32_t count);

#endif
