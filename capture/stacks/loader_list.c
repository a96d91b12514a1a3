#include "capture/stacks/loader_list.h"

#include "capture/live/confined.h"
#include "capture/record/forks.h"
#include "capture/record/signals.h"
#include "capture/record/stack.h"
#include "capture/stacks/elf_symbols.h"
#include "capture/stacks/safe_read.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* mv_forks.loader */
enum { NOT_ASKED, CAN_LOCK, LOCKED_FOR_EVER };

enum { MOST_TURNS = 1000 }; /* largest number of attempts while the lock changes hands */

/* Used as the load count and the unload count of a list that cannot change. The loader's counts
 * never have this value. */
#define FROZEN UINT64_MAX

/* The loader's mutex, and its count of loaded files, which are only read here. NULL: not found. */
static _Atomic(const pthread_mutex_t *) lock;
static _Atomic(const uint64_t *) load_count;
static atomic_bool is_searched; /* the lock was searched for; children inherit this */

/* ---- finding the loader's lock and its count ---- */

typedef struct {
    const uint8_t *from;
    size_t bytes;
    int owner, count;            /* expected owner and count in the lock */
    const pthread_mutex_t *only; /* the candidate, if `matches` is 1 */
    unsigned matches;
    uint64_t loads; /* number of files loaded so far */
} search;

static bool looks_as_wanted(const pthread_mutex_t *m, const search *s)
{
    return m->__data.__kind == PTHREAD_MUTEX_RECURSIVE && m->__data.__owner == s->owner &&
           m->__data.__count == (unsigned)s->count && m->__data.__lock == s->count;
}

static int find_held(struct dl_phdr_info *info, size_t size, void *data)
{
    search *s = data;

    (void)size;
    s->loads = info->dlpi_adds;
    for (size_t at = 0; at + sizeof(pthread_mutex_t) <= s->bytes; at += sizeof(void *)) {
        const pthread_mutex_t *m = (const void *)(s->from + at);
        if (looks_as_wanted(m, s)) {
            s->only = m;
            s->matches++;
        }
    }
    return 1;
}

/* Finds the loader's count of loaded files, which comes after the lock; newer versions of glibc
 * have another lock in between. If a different word was found by mistake, this is detected when the
 * next file is loaded. */
static void find_load_count(const search *s)
{
    const uint8_t *end = s->from + s->bytes, *at = (const uint8_t *)(s->only + 1);

    for (; at + sizeof s->loads <= end && at <= (const uint8_t *)(s->only + 2);
         at += sizeof *s->only)
        if (memcmp(at, &s->loads, sizeof s->loads) == 0)
            atomic_store(&load_count, (const void *)at);
}

/* Searches the loader's variables for the lock. Among these variables, it is the only recursive
 * mutex that this thread holds once inside dl_iterate_phdr, and does not hold outside. If there is
 * not exactly one such mutex, the lock counts as not found. */
static void find_lock(void)
{
    search s = {.owner = (int)syscall(SYS_gettid), .count = 1};

    s.from = mv_elf_data("_rtld_global", &s.bytes);
    if (!s.from)
        return;
    dl_iterate_phdr(find_held, &s);
    if (s.matches != 1 || s.only->__data.__owner == s.owner)
        return;
    atomic_store(&lock, s.only);
    find_load_count(&s);
}

/* ---- in a child ---- */

/* Returns true if the owner of the lock is a thread outside this process. In that case it is one of
 * the parent's threads. */
static bool is_locked_for_ever(const pthread_mutex_t *m)
{
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        int owner = __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED);
        if (__atomic_load_n(&m->__data.__lock, __ATOMIC_ACQUIRE) == 0)
            return false;
        if (owner)
            return mv_is_confined() || syscall(SYS_tgkill, getpid(), owner, 0) != 0;
        sched_yield();
    }
    return true;
}

static int look_at_lock(void)
{
    const pthread_mutex_t *known = atomic_load(&lock);
    int kept = errno, found;
    bool is_free;

    mv_forks_begin();
    if (!atomic_exchange(&is_searched, true)) {
        find_lock();
        is_free = true;
    } else {
        is_free = known ? !is_locked_for_ever(known) : mv_forks_was_alone();
    }
    found = is_free ? CAN_LOCK : LOCKED_FOR_EVER;
    atomic_store(&mv_forks.loader, found);
    errno = kept;
    return found;
}

static bool can_lock(void)
{
    int known = atomic_load_explicit(&mv_forks.loader, memory_order_relaxed);
    return (known == NOT_ASKED ? look_at_lock() : known) == CAN_LOCK;
}

void mv_loader_begin(void)
{
    can_lock();
}

/* ---- reading the list without the lock ---- */

/* Describes the program itself, whose program headers may not be at the position given in its ELF
 * header. */
static bool describe_program(struct dl_phdr_info *info)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR); // NOLINT: an address
    size_t count = getauxval(AT_PHNUM);

    for (size_t i = 0; headers && i < count; i++)
        if (headers[i].p_type == PT_PHDR &&
            info->dlpi_addr + headers[i].p_vaddr == (uintptr_t)headers) {
            info->dlpi_phdr = headers;
            info->dlpi_phnum = (ElfW(Half))count;
            return true;
        }
    return false;
}

static bool describe(const struct link_map *file, struct dl_phdr_info *info)
{
    ElfW(Ehdr) head;
    uint8_t last;

    *info = (struct dl_phdr_info){.dlpi_addr = file->l_addr,
                                  .dlpi_name = file->l_name,
                                  .dlpi_adds = FROZEN,
                                  .dlpi_subs = FROZEN};
    if (!mv_peek(file->l_addr, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return file == _r_debug.r_map && describe_program(info);
    info->dlpi_phdr = (const void *)(file->l_addr + head.e_phoff); // NOLINT: an address
    info->dlpi_phnum = head.e_phnum;
    return mv_peek((uintptr_t)(info->dlpi_phdr + head.e_phnum) - 1, &last, 1);
}

static __attribute__((noinline)) int iterate_frozen(mv_loader_each *each, void *data)
{
    int result = 0;

    for (const struct link_map *file = _r_debug.r_map; file && !result; file = file->l_next) {
        struct dl_phdr_info info;
        if (describe(file, &info))
            result = each(&info, sizeof info, data);
    }
    return result;
}

typedef struct {
    mv_loader_each *each;
    void *data;
} visit;

static int visit_file(struct dl_phdr_info *info, size_t size, void *data)
{
    const uint64_t *count = atomic_load_explicit(&load_count, memory_order_relaxed);
    const visit *v = data;

    if (count && __atomic_load_n(count, __ATOMIC_RELAXED) != info->dlpi_adds)
        atomic_store(&load_count, NULL);
    return v->each(info, size, v->data);
}

/* Takes the loader's lock with signals blocked. A confined process cannot block signals, but can at
 * least delay a cancellation. */
int mv_loader_iterate(mv_loader_each *each, void *data)
{
    bool is_first = !mv_forks_is_inside(MV_SECTION_LOADER), must_not_lock = !can_lock();
    mv_signals signals;
    int result, how;

    mv_forks_enter(MV_SECTION_LOADER);
    signals = mv_signals_block();
    if (!signals.is_blocked)
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &how);
    if (is_first && must_not_lock)
        pthread_mutex_lock(&mv_forks.loader_own);
    result = must_not_lock ? iterate_frozen(each, data)
                           : dl_iterate_phdr(visit_file, &(visit){each, data});
    if (is_first && must_not_lock)
        pthread_mutex_unlock(&mv_forks.loader_own);
    mv_forks_leave(MV_SECTION_LOADER);
    if (!signals.is_blocked)
        pthread_setcanceltype(how, NULL); /* this call may end the thread, and so may the next
                                           * one */
    mv_signals_restore(signals);
    return result;
}

bool mv_loader_loads(uint64_t *count)
{
    const uint64_t *known = atomic_load_explicit(&load_count, memory_order_relaxed);

    *count = known ? __atomic_load_n(known, __ATOMIC_RELAXED) : 0;
    return known != NULL;
}

const ElfW(Phdr) * mv_loader_segment(const struct dl_phdr_info *info, uint64_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            return p;
    }
    return NULL;
}

static int read_unloads(struct dl_phdr_info *info, size_t size, void *unloads)
{
    (void)size;
    *(uint64_t *)unloads = info->dlpi_subs;
    return 1;
}

uint64_t mv_loader_unloads(void)
{
    uint64_t unloads = 0;

    mv_loader_iterate(read_unloads, &unloads);
    return unloads;
}

bool mv_loader_has(const struct link_map *file)
{
    uint64_t word;

    return atomic_load_explicit(&mv_forks.loader, memory_order_relaxed) != LOCKED_FOR_EVER ||
           mv_peek((uintptr_t)file->l_ld, &word, sizeof word);
}
