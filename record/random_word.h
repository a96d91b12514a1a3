/* A random word that is different for each launcher. */
#pragma once

#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

static inline uint64_t mv_random_word(void)
{
    uint64_t word = 0;

    if (getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word)
        word = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&word;
    return word;
}
