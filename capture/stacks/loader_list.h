/* Reads the loader's list of files in a way that cannot deadlock forked children.
 *
 * dl_iterate_phdr takes one of the loader's locks. If another thread forks during the call, the
 * lock stays locked in the child forever, because glibc does not reset it. Therefore hooks read the
 * list with these functions, and forks wait until the hooks are done (forks.h). A child may also
 * inherit the lock from a thread of the program itself, for example a thread in dlopen. Such a
 * child never takes the lock, and reads the list without it. This is safe because the list can no
 * longer change, as changing it takes the same lock. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

typedef int mv_loader_each(struct dl_phdr_info *info, size_t size, void *data);

/* Works like dl_iterate_phdr. The list does not change during the call, and only one thread at a
 * time runs callbacks. A callback may call this function again. */
int mv_loader_iterate(mv_loader_each *each, void *data);

/* Reads the number of files that the loader has loaded, without taking its lock. The number
 * increases before code of a loaded file runs. Returns false if it is unknown. */
bool mv_loader_loads(uint64_t *count);

/* Returns the segment, of a file in the list, that contains an address; NULL: none. */
const ElfW(Phdr) * mv_loader_segment(const struct dl_phdr_info *info, uint64_t address);

/* Returns the number of files that the loader has unloaded. Takes the loader's lock. */
uint64_t mv_loader_unloads(void);

/* Returns true if the file's memory is still mapped. In a child that was forked during a dlclose,
 * the list may contain an unmapped file; in all other processes the result is always true, without
 * any system call. */
bool mv_loader_has(const struct link_map *file);
