/* A page is not a terminal, so the size is unknown, as when the program writes to a file. */
#include "cli/report/terminal.h"
#include "cli/report/pager.h"

mv_terminal mv_terminal_find(void)
{
    return (mv_terminal){0};
}

void mv_pager_start(mv_pager *out)
{
    *out = (mv_pager){0};
}

void mv_pager_take(void)
{
}

void mv_pager_end(mv_pager *pager)
{
    (void)pager;
}
