/* The actions of the crash matrix's victims, from which a test derives the required contents of
 * their files: event `i` of slot `s` is always the same. A slot is one thread of one process. */
#ifndef MV_VICTIM_EVENTS_H
#define MV_VICTIM_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    VICTIM_SLOTS = 64,
    VICTIM_SLOT_BITS = 36, /* an address shows its owner: (slot + 1) << 36 and up */
    VICTIM_STACKS = 300,
    VICTIM_LAG = 20, /* events from a block to its free */
    VICTIM_ERRNO = 77,
    VICTIM_WAVES = 625, /* of 8 short threads each, with VICTIM_FEW events each */
    VICTIM_FEW = 3
};

/* Shared with the test: the contents of the file $VICTIM_ACKS. */
typedef struct {
    _Atomic uint64_t done[VICTIM_SLOTS]; /* recorded events: calls that returned */
} victim_acks;

typedef struct {
    bool is_free;
    uint64_t addr, size;
    uint32_t stack; /* 1 to VICTIM_STACKS; 0: none */
} victim_event;

/* Even events allocate a block; odd ones free one, once there are enough. */
static inline victim_event victim_event_of(uint32_t slot, uint64_t i)
{
    bool is_free = i % 2 && i > VICTIM_LAG;
    uint64_t block = is_free ? i - VICTIM_LAG + 1 : i;
    uint64_t place = block * 2654435761u % 5003;

    return (victim_event){.is_free = is_free,
                          .addr = ((uint64_t)slot + 1) << VICTIM_SLOT_BITS | place << 21 |
                                  (block * 512 & 0x1fffff),
                          .size = 512 * (1 + block * 7919 % 4096) + (block % 100 == 0 ? 4 : 0),
                          .stack = is_free ? 0 : (uint32_t)(1 + block * 31 % VICTIM_STACKS)};
}

/* The depth of stack n; its frame at depth d is code (n * d) % 97 at offset 2 * d + n. */
static inline uint32_t victim_depth(uint32_t stack)
{
    return 1 + stack % 40;
}

static inline uint32_t victim_code(uint32_t stack, uint32_t depth)
{
    return stack * (depth + 1) % 97;
}

static inline uint32_t victim_offset(uint32_t stack, uint32_t depth)
{
    return 2 * depth + stack % 7;
}

#endif
