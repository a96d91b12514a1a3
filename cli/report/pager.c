#include "cli/report/pager.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the first word of a command is a program here. */
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

const char *mv_pager_find(void)
{
    const char *command = getenv("MEMVIZ_PAGER");

    command = command ? command : getenv("PAGER");
    command = command ? command : "less";
    command += strspn(command, " ");
    return *command && strcmp(command, "cat") != 0 && is_installed(command) ? command : NULL;
}

FILE *mv_pager_open(const char *command)
{
    FILE *pager;

    setenv("LESS", "FRX", 0); /* ends by itself after one screen, shows colors, leaves the text */
    setenv("LV", "-c", 0);
    pager = popen(command, "w");
    if (!pager)
        return NULL;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    return pager;
}

void mv_pager_close(FILE *pager)
{
    pclose(pager);
}
