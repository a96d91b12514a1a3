/* A page is no terminal: its size is not known, as when the program writes to a file. */
#include "cli/report/terminal.h"
#include "cli/report/pager.h"

mv_terminal mv_terminal_find(void)
{
    return (mv_terminal){0};
}

const char *mv_pager_find(void)
{
    return NULL;
}

FILE *mv_pager_open(const char *command)
{
    (void)command;
    return NULL;
}

void mv_pager_close(FILE *pager)
{
    (void)pager;
}
