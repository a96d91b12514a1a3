/* A library with known addresses, functions and lines, which is always built with debugging
 * information and optimisation. */

#define EXPORT  __attribute__((visibility("default")))
#define INLINED static inline __attribute__((always_inline))

/* A caller's return address, and the line of the call. */
typedef struct {
    const void *address;
    int line;
} sample_place;

EXPORT sample_place sample_plain(void);
EXPORT sample_place sample_with_inlined(int lines[2]);
EXPORT sample_place sample_of_cplusplus(void) __asm__("_ZN6memviz6sample5placeIiEEvT_");

static __attribute__((noinline)) const void *address_here(void)
{
    return __builtin_return_address(0);
}

sample_place sample_plain(void)
{
    sample_place place = {address_here(), __LINE__};
    __asm__ volatile("" ::"r"(&place) : "memory");
    return place;
}

INLINED sample_place innermost_inlined(void)
{
    sample_place place = {address_here(), __LINE__};
    __asm__ volatile("" ::"r"(&place) : "memory");
    return place;
}

INLINED sample_place middle_inlined(int *line)
{
    *line = __LINE__ + 1;
    return innermost_inlined();
}

sample_place sample_with_inlined(int lines[2])
{
    lines[1] = __LINE__ + 1;
    return middle_inlined(&lines[0]);
}

sample_place sample_of_cplusplus(void)
{
    sample_place place = {address_here(), __LINE__};
    __asm__ volatile("" ::"r"(&place) : "memory");
    return place;
}
