/* The loader's list of files, without harm to children.
 *
 * dl_iterate_phdr takes a lock of the loader's. A fork that another thread makes meanwhile leaves
 * that lock locked in the child for ever, and nothing of glibc's resets it. So hooks read the list
 * here: forks wait until they are done (forks.h); and a child that inherited the lock from a thread
 * of the program's own (in dlopen, say) never takes it. No one can change the list there any more,
 * since that takes the same lock, and so it is read as it stands. */
#ifndef MV_LOADER_LIST_H
#define MV_LOADER_LIST_H

#include <link.h>
#include <stdbool.h>

typedef int mv_loader_each(struct dl_phdr_info *info, size_t size, void *data);

/* dl_iterate_phdr. The list stands still meanwhile, and one thread is in here at a time; the same
 * one may come again from within. */
int mv_loader_iterate(mv_loader_each *each, void *data);

/* Whether the file's memory is there: in a child that was forked in the middle of a dlclose, what
 * is in the list may not be. Always true elsewhere. Calls nothing unless in such a child. */
bool mv_loader_has(const struct link_map *file);

#endif
