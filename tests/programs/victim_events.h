/* The actions of the programs in the crash matrix. From them a test derives what the programs'
 * files must contain: event `i` of slot `s` is always the same. A slot is one thread of one
 * process. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    VICTIM_SLOTS = 64,
    VICTIM_SLOT_BITS = 36, /* addresses show their owner: they start at (slot + 1) << 36 */
    VICTIM_STACKS = 300,
    VICTIM_LAG = 20, /* number of events between a block and its free */
    VICTIM_ERRNO = 77,
    VICTIM_WAVES = 625, /* waves of 8 short threads each; each thread records VICTIM_FEW events */
    VICTIM_FEW = 3
};

/* The contents of the file $VICTIM_ACKS, which is shared with the test. */
typedef struct {
    /* number of recorded events, counted when their calls returned */
    _Atomic uint64_t done[VICTIM_SLOTS];
} victim_acks;

typedef struct {
    bool is_free;
    uint64_t addr, size;
    uint32_t stack; /* 1 to VICTIM_STACKS; 0: none */
} victim_event;

/* Even events allocate a block. Odd events free one, once there are enough blocks. */
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

/* Returns the depth of stack n. Its frame at depth d is code n * (d + 1) % 97 at offset 2 * d + n %
 * 7. */
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
