#include "capture/record/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/live/confined.h"

static uint64_t signal_bit(int number)
{
    return (uint64_t)1 << (number - 1);
}

mv_signals mv_signals_block(void)
{
    uint64_t all = ~(signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) |
                     signal_bit(SIGFPE) | signal_bit(SIGTRAP) | signal_bit(SIGSYS));
    mv_signals signals = {0};

    signals.is_blocked = !mv_is_confined() && syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all,
                                                      &signals.before, sizeof all) == 0;
    return signals;
}

void mv_signals_restore(mv_signals signals)
{
    if (signals.is_blocked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals.before, NULL, sizeof signals.before);
}
