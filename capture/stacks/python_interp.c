#include "capture/stacks/python_interp.h"

#include "capture/live/confined.h"
#include "capture/stacks/elf_symbols.h"
#include "capture/stacks/safe_read.h"

#include <stdio.h>
#include <string.h>

enum { UNKNOWN, BEING_WRITTEN, FOUND, OFF };

/* The shim's state, for the one interpreter that it uses in a process. `state` guards the other
 * variables, which are written once, while `state` is BEING_WRITTEN. */
static _Atomic int state;
static _Atomic uint32_t asked;
static mv_python_interp interp;
static _Atomic(const char *) reason;
static char reason_text[96];
static atomic_bool has_layout;

enum { RUNTIME, VERSION, THIS_THREAD, IS_INITIALIZED, CODE, BYTES, TEXT, NAMES };
static const char *const names[NAMES] = {
    "_PyRuntime",       "Py_GetVersion", "PyGILState_GetThisThreadState",
    "Py_IsInitialized", "PyCode_Type",   "PyBytes_Type",
    "PyUnicode_Type",
};

/* Copies the part of "3.12.3 (main, ..." before the space to `out`. Returns major << 8 | minor, or
 * 0 if the string has a different form. */
static uint32_t read_version(const char *text, char *out, size_t size)
{
    unsigned major, minor;
    size_t length = strcspn(text, " ");

    length = length < size - 1 ? length : size - 1;
    memcpy(out, text, length);
    out[length] = 0;
    if (sscanf(text, "%3u.%3u", &major, &minor) != 2 || major > 255 || minor > 255)
        return 0;
    return major << 8 | minor;
}

/* Returns true if PyCode_Type has the expected object size. */
static bool is_code_as_expected(const mv_python_interp *p)
{
    int64_t basic, item;
    uint64_t at = p->code + mv_python_type_basic(&p->layout);

    return mv_peek(at, &basic, sizeof basic) && mv_peek(at + 8, &item, sizeof item) &&
           basic == p->layout.code_basic &&
           item == (p->layout.chain == MV_PYTHON_FRAME_OBJECTS ? 0 : 2);
}

/* Fills `p` from the interpreter's exported data. On failure, returns false with the reason in
 * `why`. */
static bool describe(const uint64_t *addresses, mv_python_interp *p, const char **why)
{
    static char runtime[1024]; /* too large for the program's stacks */
    const char *(*version)(void) = (const char *(*)(void))(uintptr_t)addresses[VERSION];
    uint32_t number = read_version(version(), p->version, sizeof p->version);

    p->this_thread = (void *(*)(void))(uintptr_t)addresses[THIS_THREAD];
    p->is_initialized = (int (*)(void))(uintptr_t)addresses[IS_INITIALIZED];
    p->code = addresses[CODE];
    p->bytes = addresses[BYTES];
    p->text = addresses[TEXT];
    *why = "its memory cannot be read safely here";
    if (!mv_peek(addresses[RUNTIME], runtime, sizeof runtime) ||
        !mv_python_layout_find(number, runtime, &p->layout, why))
        return false;
    *why = "its code objects are not of the expected size";
    return is_code_as_expected(p);
}

/* Makes the interpreter available. Called only by the thread that has set the state to
 * BEING_WRITTEN. */
static __attribute__((noinline)) void publish(const uint64_t *addresses)
{
    const char *why = NULL;

    if (describe(addresses, &interp, &why))
        why = NULL;
    if (why) {
        snprintf(reason_text, sizeof reason_text, "Python %s: %s", interp.version, why);
        atomic_store(&reason, reason_text);
    }
    atomic_store(&has_layout, why == NULL);
    atomic_store_explicit(&state, why ? OFF : FOUND, memory_order_release);
}

/* Returns true for calls 1, 2, 4, 8 ... and for each 4096th call. Other calls are skipped, because
 * a program without an interpreter may allocate often. */
static bool is_time_to_look(void)
{
    uint32_t turn = atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) + 1;
    return (turn & (turn - 1)) == 0 || turn % 4096 == 0;
}

static void look(void)
{
    uint64_t addresses[NAMES];
    int unknown = UNKNOWN;

    if (mv_elf_find_all(names, addresses, NAMES) &&
        atomic_compare_exchange_strong(&state, &unknown, BEING_WRITTEN))
        publish(addresses);
}

const mv_python_interp *mv_python_interp_get(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);

    if (now == UNKNOWN && !mv_is_confined() && is_time_to_look()) {
        look();
        now = atomic_load_explicit(&state, memory_order_acquire);
    }
    return now == FOUND ? &interp : NULL;
}

void mv_python_interp_stop(const char *why)
{
    const char *none = NULL;

    atomic_compare_exchange_strong(&reason, &none, why);
    atomic_store(&state, OFF);
}

const mv_python_interp *mv_python_interp_seen(void)
{
    return atomic_load(&has_layout) ? &interp : NULL;
}

const char *mv_python_interp_why(void)
{
    return atomic_load(&reason);
}
