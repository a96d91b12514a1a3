/* Looks up symbols defined by loaded ELF files, in the files' own hash tables. dlsym cannot be
 * used. It allocates memory when it finds nothing, and overwrites the program's pending dlerror. It
 * also waits for the loader's main lock, which a thread in dlopen holds while it runs constructors.
 *
 * The shim's dlsym finds the real dlsym with mv_elf_function. This function therefore calls no
 * other function, because sanitizers define strcmp themselves and look up the real strcmp with
 * dlsym. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the function `name` that `file` defines, in its default version if there are several
 * versions; NULL if there is none. Must be called inside mv_loader_iterate, so that the loader's
 * list does not change. */
void *mv_elf_function(const struct link_map *file, const char *name);

/* Returns the data with this name in the first loaded file that defines it, and its size. Otherwise
 * like mv_elf_function. */
const void *mv_elf_data(const char *name, size_t *bytes);

/* Finds the addresses of `count` functions or data, each in the first loaded file that defines its
 * name; 0 if no file does. Files are searched in the order of loading, including those opened with
 * RTLD_LOCAL. Returns true if every name was found. */
bool mv_elf_find_all(const char *const *names, uint64_t *addresses, uint32_t count);

/* Returns true if `file` needs a library with this name (DT_NEEDED). */
bool mv_elf_needs(const struct link_map *file, const char *name);
const char *mv_elf_name(const struct link_map *file);

/* Returns true if `name` in another file's DT_NEEDED refers to `file`, which is the case if it is
 * the file's DT_SONAME or the last part of its path. */
bool mv_elf_is(const struct link_map *file, const char *name);

/* Returns the library at position `at` in the list of libraries that `file` needs; NULL after the
 * last. */
const char *mv_elf_needed(const struct link_map *file, unsigned at);
