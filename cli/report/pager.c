#include "cli/report/pager.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the first word of a command is the name of an installed program. */
static bool is_installed(const char *command)
{
    size_t length = strcspn(command, " ");
    const char *folders = getenv("PATH");
    char path[4096];

    if (memchr(command, '/', length)) {
        snprintf(path, sizeof path, "%.*s", (int)length, command);
        return access(path, X_OK) == 0;
    }
    while (folders && *folders) {
        size_t folder = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%.*s", (int)folder, folders, (int)length, command);
        if (access(path, X_OK) == 0)
            return true;
        folders += folder + (folders[folder] == ':');
    }
    return false;
}

/* Returns the pager's command; NULL: none. */
static const char *find(void)
{
    const char *command = getenv("MEMVIZ_PAGER");

    command = command ? command : getenv("PAGER");
    command = command ? command : "less";
    command += strspn(command, " ");
    return *command && strcmp(command, "cat") != 0 && is_installed(command) ? command : NULL;
}

/* Runs in the new process: waits for the first byte, or for the end of the input, and leaves both
 * in the pipe. */
static void become(const char *command, int input)
{
    struct pollfd first = {.fd = input, .events = POLLIN};

    while (poll(&first, 1, -1) < 0 && errno == EINTR) {
    }
    if (!(first.revents & POLLIN))
        _exit(0);
    setenv("LESS", "FRX", 0); /* less exits after one screen, shows colors, and leaves the text on
                               * the terminal */
    setenv("LV", "-c", 0);
    dup2(input, STDIN_FILENO);
    if (input != STDIN_FILENO)
        close(input);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void mv_pager_start(mv_pager *out)
{
    const char *command = find();
    int ends[2];

    *out = (mv_pager){0};
    if (!command || pipe(ends) != 0)
        return;
    out->process = fork();
    if (out->process == 0) {
        close(ends[1]);
        become(command, ends[0]);
    }
    close(ends[0]);
    out->input = out->process > 0 ? fdopen(ends[1], "w") : NULL;
    if (!out->input)
        close(ends[1]);
}

void mv_pager_take(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

void mv_pager_end(mv_pager *pager)
{
    if (!pager->input)
        return;
    fclose(pager->input);
    pager->input = NULL;
    while (waitpid(pager->process, NULL, 0) < 0 && errno == EINTR) {
    }
}
