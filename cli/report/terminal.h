/* The terminal for results. */
#ifndef MV_TERMINAL_H
#define MV_TERMINAL_H

#include <stdint.h>

typedef struct {
    uint32_t columns, rows; /* 0: not known */
} mv_terminal;

/* The size in COLUMNS and LINES; else the terminal's size, if standard output is one. */
mv_terminal mv_terminal_find(void);

#endif
