#include "cli/report/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/numbers.h"

/* The minimum size, because text on a smaller terminal would be unreadable. */
#define LEAST_COLUMNS 40
#define LEAST_ROWS    10

static uint32_t said_by(const char *variable, uint32_t least)
{
    const char *text = getenv(variable);
    uint64_t value;

    if (!text || !mv_number_read(text, &value) || value == 0 || value > 10000)
        return 0;
    return value < least ? least : (uint32_t)value;
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
    return value && value < least ? least : value;
}

mv_terminal mv_terminal_find(void)
{
    mv_terminal found = {said_by("COLUMNS", LEAST_COLUMNS), said_by("LINES", LEAST_ROWS)};
    struct winsize size;

    if ((found.columns && found.rows) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return found;
    if (!found.columns)
        found.columns = at_least(size.ws_col, LEAST_COLUMNS);
    if (!found.rows)
        found.rows = at_least(size.ws_row, LEAST_ROWS);
    return found;
}
