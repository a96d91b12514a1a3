#include "cli/live/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
enum { SIGNALS = sizeof numbers / sizeof *numbers };

static struct {
    struct termios terminal;
    struct sigaction actions[SIGNALS];
} before;

static volatile sig_atomic_t is_ending;

static void note_signal(int number)
{
    if (number != SIGWINCH)
        is_ending = 1;
}

bool mv_screen_is_there(void)
{
    const char *name = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && name && *name &&
           strcmp(name, "dumb") != 0;
}

static void put(const char *sequence)
{
    if (write(STDOUT_FILENO, sequence, strlen(sequence)) < 0)
        is_ending = 1;
}

static bool take_terminal(void)
{
    struct termios raw = before.terminal;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
        return false;
    put("\033[?1049h\033[?25l");
    return true;
}

static void give_terminal(void)
{
    put("\033[?25h\033[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &before.terminal);
}

bool mv_screen_open(void)
{
    struct sigaction note = {.sa_handler = note_signal};

    is_ending = 0;
    if (tcgetattr(STDIN_FILENO, &before.terminal) != 0)
        return false;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(numbers[i], &note, &before.actions[i]);
    if (take_terminal())
        return true;
    mv_screen_close();
    return false;
}

void mv_screen_close(void)
{
    give_terminal();
    for (int i = 0; i < SIGNALS; i++)
        sigaction(numbers[i], &before.actions[i], NULL);
}

int mv_screen_wait(int most_ms)
{
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char key;
    int ready = is_ending ? 0 : poll(&keys, 1, most_ms);

    if (is_ending)
        return MV_SCREEN_END;
    if (ready <= 0)
        return ready == 0 || errno == EINTR ? MV_SCREEN_TIME : MV_SCREEN_END;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : MV_SCREEN_END;
}

void mv_screen_run(char *const *argv)
{
    pid_t child;

    give_terminal();
    child = fork();
    if (child == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    take_terminal();
}
