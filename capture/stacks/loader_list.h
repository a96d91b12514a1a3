/* Reads the loader's list of files without locking up forked children.
 *
 * dl_iterate_phdr takes a lock of the loader. If another thread forks during the call, that lock
 * stays locked in the child forever: glibc does not reset it. So hooks read the list with these
 * functions, and forks wait until the hooks are done (forks.h). A child may also inherit the lock
 * from one of the program's own threads, for example from one in dlopen. Such a child never takes
 * the lock, and reads the list without it: the list cannot change any more, because changing it
 * takes the same lock. */
#ifndef MV_LOADER_LIST_H
#define MV_LOADER_LIST_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

typedef int mv_loader_each(struct dl_phdr_info *info, size_t size, void *data);

/* Like dl_iterate_phdr. The list does not change during the call, and only one thread at a time
 * runs callbacks; a callback may call this function again. */
int mv_loader_iterate(mv_loader_each *each, void *data);

/* The number of files that the loader has loaded, read without its lock: it increases before code
 * of a loaded file runs. False if it is unknown. */
bool mv_loader_loads(uint64_t *count);

/* The segment of a file in the list that contains an address; NULL: none. */
const ElfW(Phdr) * mv_loader_segment(const struct dl_phdr_info *info, uint64_t address);

/* The number of files that the loader has unloaded. Takes the loader's lock. */
uint64_t mv_loader_unloads(void);

/* Whether the file's memory is still mapped. In a child that was forked during a dlclose, the list
 * may contain an unmapped file; elsewhere this is always true, and makes no call. */
bool mv_loader_has(const struct link_map *file);

#endif
