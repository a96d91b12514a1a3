/* A cache for the answers of mv_resolve, by name and caller.
 *
 * Nodes are added and never removed, so readers need no lock. An answer is used only while the
 * library to which it points is still loaded. _dl_find_object (glibc 2.35) checks this without a
 * lock; with older versions of glibc, the loader's count of unloaded libraries is compared. */
#include "capture/hooks/resolve.h"

#include "capture/stacks/loader_list.h"

#include <stdatomic.h>

enum {
    BUCKETS = 1024,
    NODES = 8192 /* largest number of call sites in the cache; further call sites are not cached */
};

/* The library to which an answer points. If a library is unloaded and loaded again, it is either at
 * a different address, or at the same address, where the answer is still correct. */
typedef struct {
    const void *file;
    const void *start;
    uint64_t unloaded;
} library_place;

typedef struct node {
    const char *name;
    const void *caller;
    void *function;
    library_place home;
    struct node *next;
} node;

static node nodes[NODES];
static atomic_uint used;
static _Atomic(node *) buckets[BUCKETS];

/* The struct dl_find_object of <dlfcn.h>, which exists since glibc 2.35. The last field leaves
 * space for later versions. */
typedef struct {
    unsigned long long flags;
    void *start, *end;
    struct link_map *file;
    uint64_t more[12];
} found_object;

typedef int find_object_fn(void *, found_object *);
static _Atomic(find_object_fn *) find_object;

static int no_find_object(void *address, found_object *found)
{
    (void)address;
    (void)found;
    return -1;
}

static find_object_fn *object_finder(void)
{
    find_object_fn *finder = atomic_load_explicit(&find_object, memory_order_relaxed);

    if (!finder) {
        finder = (find_object_fn *)mv_resolve_next("_dl_find_object");
        if (!finder)
            finder = no_find_object;
        atomic_store_explicit(&find_object, finder, memory_order_relaxed);
    }
    return finder;
}

static library_place home_of(void *function)
{
    found_object found;
    library_place at = {0};

    if (object_finder()(function, &found) == 0) {
        at.file = found.file;
        at.start = found.start;
    } else {
        at.unloaded = mv_loader_unloads();
    }
    return at;
}

static bool still_holds(const node *n)
{
    library_place now = home_of(n->function);

    return now.file == n->home.file && now.start == n->home.start &&
           now.unloaded == n->home.unloaded;
}

static unsigned bucket_of(const char *name, const void *caller)
{
    uint64_t mixed = ((uintptr_t)name ^ (uintptr_t)caller << 3) * 0x9e3779b97f4a7c15U;

    return mixed >> 32 & (BUCKETS - 1);
}

static void keep(const char *name, const void *caller, void *function)
{
    _Atomic(node *) *bucket = &buckets[bucket_of(name, caller)];
    unsigned at = atomic_load_explicit(&used, memory_order_relaxed);
    node *added;

    do {
        if (at == NODES)
            return;
    } while (!atomic_compare_exchange_weak(&used, &at, at + 1));
    added = &nodes[at];
    *added = (node){.name = name, .caller = caller, .function = function};
    added->home = home_of(function);
    added->next = atomic_load_explicit(bucket, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(bucket, &added->next, added))
        continue;
}

static void *resolve(const char *name, const void *caller, bool lasting)
{
    unsigned bucket = bucket_of(name, caller);
    void *function;

    for (node *n = atomic_load_explicit(&buckets[bucket], memory_order_acquire); n; n = n->next)
        if (n->name == name && n->caller == caller && (lasting || still_holds(n)))
            return n->function;
    function = mv_resolve_anew(name, caller);
    if (function)
        keep(name, caller, function);
    return function;
}

void *mv_resolve(const char *name, const void *caller)
{
    return resolve(name, caller, false);
}

void *mv_resolve_lasting(const char *name, const void *caller)
{
    return resolve(name, caller, true);
}
