/* The size of the terminal that shows the results. */
#pragma once

#include <stdint.h>

typedef struct {
    uint32_t columns, rows; /* 0: not known */
} mv_terminal;

/* Returns the size given by COLUMNS and LINES, or else the terminal's size if standard output is a
 * terminal. */
mv_terminal mv_terminal_find(void);
