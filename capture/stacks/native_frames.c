/* Collects the return addresses of the calling thread.
 *
 *     pc, rsp, rbp ─► rule of pc ─► CFA, return address, the caller's rbp ─► pc, rsp, rbp ─► ...
 *                     (cached)
 *
 * Rules come from the exception tables (eh_frame.h). Each return address is looked up once in the
 * life of the process; afterwards a frame costs three loads. Only the stack of this thread is read,
 * from the stack pointer up to the end of the stack. Stacks with an unusual rule, and stacks that
 * the C library did not make, are walked by the unwinder that the program has loaded for its own
 * exceptions. The shim does not bring its own unwinder library, because the dependencies of a
 * preloaded library come before all other dependencies. */
#include "capture/record/forks.h"
#include "capture/record/signals.h"
#include "capture/record/stack.h"
#include "capture/stacks/eh_frame.h"
#include "capture/stacks/elf_symbols.h"
#include "capture/stacks/loader_list.h"

#include <stddef.h>
#include <unwind.h>

enum { SLOTS = 1 << 14, PROBES = 4, PREFETCHED = 24 };
#define MOST_STACK ((uint64_t)1 << 30)

/* State of the shim. All threads write slots without a lock. This is safe because `check` is
 * computed from the address and the rule, so a slot that two threads wrote at the same time matches
 * neither address. */
typedef struct {
    _Atomic uint64_t check, rule;
} slot;

typedef _Unwind_Reason_Code (*unwind_backtrace)(_Unwind_Trace_Fn, void *);
typedef _Unwind_Ptr (*unwind_get_ip)(struct _Unwind_Context *);

static slot slots[SLOTS];
static _Atomic uint64_t loads;   /* the loader's count of loaded files when unloaded files were last
                                  * checked */
static _Atomic uint64_t unloads; /* the loader's count of unloaded files when the state below was
                                  * determined */
static _Atomic(uint64_t) program_backtrace, program_get_ip;
static _Atomic uint64_t main_stack_end;
static atomic_bool is_started;

typedef struct {
    uint64_t *addresses;
    mv_native_step *now;                 /* steps of the current walk */
    const mv_native_step *old, *old_end; /* steps of the previous walk */
    uint32_t count, most;
} stack_walk;

typedef struct {
    uint64_t pc, sp, bp;
    bool is_exact; /* pc is the current instruction or an interrupted one, not a return address */
} registers;

/* ---- rules, cached ---- */

/* The fields of a packed rule. */
#define CFA_OF(bits)     ((mv_cfa_kind)((bits) >> 5 & 7))
#define RBP_OF(bits)     ((mv_saved_kind)((bits) >> 3 & 3))
#define ADDRESS_OF(bits) ((mv_saved_kind)((bits) >> 1 & 3))

static uint64_t pack(mv_frame_rule r)
{
    return (uint64_t)(uint32_t)r.cfa_offset << 40 | (uint64_t)(uint16_t)r.rbp_offset << 24 |
           (uint64_t)(uint16_t)r.return_offset << 8 | (uint64_t)r.cfa << 5 | (uint64_t)r.rbp << 3 |
           (uint64_t)r.address << 1 | r.is_signal;
}

static inline uint64_t first_slot(uint64_t pc)
{
    return pc * 0x9e3779b97f4a7c15u >> 50;
}

static inline uint64_t rule_at(uint64_t pc)
{
    uint64_t first = first_slot(pc), rule;

    for (unsigned i = 0; i < PROBES; i++) {
        slot *s = &slots[(first + i) % SLOTS];
        rule = atomic_load_explicit(&s->rule, memory_order_relaxed);
        if ((atomic_load_explicit(&s->check, memory_order_relaxed) ^ rule) == pc)
            return rule;
    }
    return UINT64_MAX;
}

static __attribute__((noinline)) uint64_t find_rule(uint64_t pc)
{
    uint64_t first = first_slot(pc), rule = pack(mv_eh_frame_rule(pc));
    slot *s = &slots[first % SLOTS];

    for (unsigned i = 0; i < PROBES; i++)
        if (atomic_load_explicit(&slots[(first + i) % SLOTS].check, memory_order_relaxed) == 0) {
            s = &slots[(first + i) % SLOTS];
            break;
        }
    atomic_store_explicit(&s->rule, rule, memory_order_relaxed);
    atomic_store_explicit(&s->check, pc ^ rule, memory_order_relaxed);
    return rule;
}

static void forget_rules(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        atomic_store_explicit(&slots[i].check, 0, memory_order_relaxed);
        atomic_store_explicit(&slots[i].rule, 0, memory_order_relaxed);
    }
}

/* ---- one walk ---- */

/* Reads a word of the stack. In test programs, sanitizers poison parts of the stack. */
static inline __attribute__((no_sanitize("address"))) uint64_t word_at(uint64_t address)
{
    return *(const volatile uint64_t *)(uintptr_t)address; // NOLINT: an address
}

static inline bool is_inside(uint64_t address, uint64_t low, uint64_t end)
{
    return address >= low && address <= end - 8 && (address & 7) == 0;
}

static inline uint64_t saved_at(mv_saved_kind kind, int16_t offset, uint64_t cfa,
                                const registers *r)
{
    uint64_t base = kind == MV_SAVED_AT_CFA ? cfa : kind == MV_SAVED_AT_RSP ? r->sp : r->bp;
    return base + (uint64_t)(int64_t)offset;
}

/* Steps to the caller. Returns false if the stack contradicts the rule. */
static inline bool step(registers *r, uint64_t rule, uint64_t end, mv_native_step *out)
{
    mv_cfa_kind kind = CFA_OF(rule);
    uint64_t base = kind == MV_CFA_RSP || kind == MV_CFA_INSIDE_RSP ? r->sp : r->bp;
    uint64_t cfa = base + (uint64_t)((int64_t)rule >> 40), at, rbp_at = 0;
    bool is_read = kind == MV_CFA_INSIDE_RSP || kind == MV_CFA_INSIDE_RBP;

    if (is_read) {
        if (!is_inside(cfa, r->sp, end))
            return false;
        cfa = word_at(cfa);
    }
    at = saved_at(ADDRESS_OF(rule), (int16_t)(rule >> 8), cfa, r);
    if (cfa <= r->sp || cfa > end || !is_inside(at, r->sp, end))
        return false;
    if (RBP_OF(rule) != MV_SAVED_NOT) {
        rbp_at = saved_at(RBP_OF(rule), (int16_t)(rule >> 24), cfa, r);
        if (!is_inside(rbp_at, r->sp, end))
            return false;
        r->bp = word_at(rbp_at);
    }
    r->pc = word_at(at);
    r->sp = cfa;
    r->is_exact = rule & 1;
    *out = (mv_native_step){r->pc, cfa, r->bp, is_read || r->is_exact ? 0 : at, rbp_at};
    return true;
}

static inline void keep_step(stack_walk *u, mv_native_step step)
{
    if (u->count < MV_NATIVE_PAST)
        u->now[u->count] = step;
    u->addresses[u->count++] = step.pc;
}

/* Reuses the steps of the previous walk, beginning at `old`, as long as the stack still contains
 * the words that they read, because equal registers and equal words give equal steps. The loads do
 * not wait for each other, unlike those of steps by rules. Returns the first step that is no longer
 * valid. */
static const mv_native_step *follow(registers *r, const mv_native_step *old, uint64_t end,
                                    stack_walk *u)
{
    for (; old < u->old_end && u->count < u->most; old++) {
        if (!old->pc_at || old->sp > end || word_at(old->pc_at) != old->pc ||
            (old->bp_at && word_at(old->bp_at) != old->bp))
            break;
        keep_step(u, *old);
        *r = (registers){.pc = old->pc, .sp = old->sp, .bp = old->bp};
    }
    return old;
}

/* Walks the stack by rules. Returns false if a rule is unusual, or if the stack contradicts the
 * rules. */
static bool walk_by_rules(registers r, uint64_t end, stack_walk *u)
{
    const mv_native_step *old = u->old;

    while (u->count < u->most) {
        uint64_t pc, rule;
        mv_native_step next;

        while (old < u->old_end && old->sp < r.sp)
            old++;
        if (old < u->old_end && old->sp == r.sp && old->pc == r.pc && old->bp == r.bp &&
            old->pc_at && !r.is_exact)
            old = follow(&r, old + 1, end, u);
        if (u->count == u->most)
            break;
        pc = r.is_exact ? r.pc : r.pc - 1;
        rule = rule_at(pc);
        if (rule == UINT64_MAX)
            rule = find_rule(pc);
        if (CFA_OF(rule) == MV_CFA_END)
            return true;
        if (CFA_OF(rule) == MV_CFA_UNKNOWN || !step(&r, rule, end, &next))
            return false;
        if (r.pc == 0)
            return true;
        keep_step(u, next);
    }
    return true;
}

static _Unwind_Reason_Code keep(struct _Unwind_Context *frame, void *context)
{
    stack_walk *u = context;
    unwind_get_ip get_ip = (unwind_get_ip)(uintptr_t)atomic_load(&program_get_ip);
    uint64_t address = get_ip(frame);

    if (!address || u->count == u->most)
        return _URC_END_OF_STACK;
    u->addresses[u->count++] = address;
    return _URC_NO_REASON;
}

/* ---- ends of stacks, and unloaded libraries ---- */

static inline bool is_close(uint64_t sp, uint64_t end)
{
    return sp < end && end - sp < MOST_STACK;
}

/* Returns the end of this thread's stack. For the first thread, glibc exports it for debuggers; for
 * other threads, glibc stores a block of data there. Returns 0 if the stack pointer is on the stack
 * of a coroutine or a signal handler. */
static inline uint64_t end_of_stack(uint64_t sp)
{
    uint64_t block = (uint64_t)pthread_self();
    uint64_t first = atomic_load_explicit(&main_stack_end, memory_order_relaxed);

    return is_close(sp, block) ? block : is_close(sp, first) ? first : 0;
}

static void find_program_unwinder(void)
{
    static const char *const names[] = {"_Unwind_Backtrace", "_Unwind_GetIP"};
    uint64_t found[2];

    mv_elf_find_all(names, found, 2);
    atomic_store(&program_get_ip, found[1]);
    atomic_store(&program_backtrace, found[1] ? found[0] : 0);
}

/* Checks whether libraries were unloaded. The caller must hold the loader's lock. */
static void look_for_unloads(void)
{
    uint64_t now = mv_loader_unloads();

    if (now == atomic_load_explicit(&unloads, memory_order_relaxed))
        return;
    forget_rules();
    find_program_unwinder();
    atomic_store(&unloads, now);
}

/* Drops rules if libraries were unloaded. The rules of an unloaded library must not be used for
 * another library at the same address, so it is enough to check after each load. */
static void notice_unloads(void)
{
    uint64_t now;
    bool is_known = mv_loader_loads(&now);

    if (is_known && now == atomic_load_explicit(&loads, memory_order_relaxed))
        return;
    look_for_unloads();
    atomic_store_explicit(&loads, now, memory_order_relaxed);
}

/* Walks the stack with the program's unwinder. The unwinder takes the loader's lock and its own
 * locks, so no fork may happen during the call. A child may have inherited these locks from a
 * thread that was throwing an exception. */
static void walk_by_program(stack_walk *u)
{
    unwind_backtrace walk;
    mv_signals signals;

    u->count = 0;
    look_for_unloads();
    walk = (unwind_backtrace)(uintptr_t)atomic_load(&program_backtrace);
    if (!walk || !mv_forks_was_alone())
        return;
    mv_forks_enter(MV_SECTION_LOADER);
    signals = mv_signals_block();
    walk(keep, u);
    mv_forks_leave(MV_SECTION_LOADER);
    mv_signals_restore(signals);
}

bool mv_native_start(void)
{
    static const char *const names[] = {"__libc_stack_end"};
    uint64_t found;

    if (atomic_load(&is_started))
        return true;
    if (mv_elf_find_all(names, &found, 1))
        atomic_store(&main_stack_end, word_at(found) & ~(uint64_t)7);
    find_program_unwinder();
    atomic_store(&is_started, true);
    return true;
}

/* The current registers. Rules exist only for x86-64. */
#ifdef __x86_64__
static inline __attribute__((always_inline)) bool read_registers(registers *r)
{
    r->is_exact = true;
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=r"(r->pc), "=r"(r->sp), "=r"(r->bp));
    return true;
}
#else
static inline bool read_registers(registers *r)
{
    (void)r;
    return false;
}
#endif

/* The previous steps are valid only as long as their rules are. During this walk their number is 0,
 * because the thread may leave the walk by a jump. */
uint32_t mv_native_walk(mv_native_past *past, uint64_t *addresses, uint32_t most)
{
    stack_walk u = {.addresses = addresses, .most = most};
    registers r = {0};
    uint64_t end, unloaded;

    if (!atomic_load_explicit(&is_started, memory_order_acquire))
        return 0;
    notice_unloads();
    unloaded = atomic_load_explicit(&unloads, memory_order_relaxed);
    u.now = past->steps[!past->turn];
    u.old = past->steps[past->turn];
    u.old_end = u.old + (past->unloads == unloaded ? past->count : 0);
    past->unloads = unloaded;
    past->count = 0;
    for (const mv_native_step *o = u.old; o < u.old_end && o < u.old + PREFETCHED; o++)
        __builtin_prefetch(&slots[first_slot(o->pc - 1)]);
    end = read_registers(&r) ? end_of_stack(r.sp) : 0;
    if (end && walk_by_rules(r, end, &u)) {
        past->turn = !past->turn;
        past->count = u.count < MV_NATIVE_PAST ? u.count : MV_NATIVE_PAST;
    } else {
        walk_by_program(&u);
    }
    return u.count;
}

const char *mv_native_unwinder(void)
{
    return atomic_load(&is_started) ? "eh_frame" : NULL;
}
