/* User inputs, independent of any window system. Coordinates are pixels of the scene. */
#pragma once

#include <stdint.h>

typedef enum {
    MV_INPUT_KEY,     /* `key` was pressed, or is repeating */
    MV_INPUT_KEY_UP,  /* `key` was released */
    MV_INPUT_TEXT,    /* `text` was typed */
    MV_INPUT_MOVE,    /* the pointer is at x, y */
    MV_INPUT_PRESS,   /* `button` was pressed at x, y; `clicks` counts presses in quick
                         succession */
    MV_INPUT_RELEASE, /* `button` was released at x, y */
    MV_INPUT_WHEEL,   /* the wheel turned by dx, dy notches (up and right are positive) at x, y */
    MV_INPUT_LEAVE,   /* the pointer left the window, or the window lost the keyboard focus */
    MV_INPUT_DROP     /* the file `path` was dropped */
} mv_input_kind;

enum { MV_MOD_SHIFT = 1, MV_MOD_CTRL = 2, MV_MOD_ALT = 4 };
enum { MV_BUTTON_LEFT = 1, MV_BUTTON_MIDDLE = 2, MV_BUTTON_RIGHT = 3 };

/* A character key has the code of its character, with letters in upper case: 'W', '/', '0'. */
enum {
    MV_KEY_ESCAPE = 27,
    MV_KEY_ENTER = 13,
    MV_KEY_TAB = 9,
    MV_KEY_BACKSPACE = 8,
    MV_KEY_DELETE = 127,
    MV_KEY_LEFT = 256,
    MV_KEY_RIGHT,
    MV_KEY_UP,
    MV_KEY_DOWN,
    MV_KEY_HOME,
    MV_KEY_END,
    MV_KEY_PAGE_UP,
    MV_KEY_PAGE_DOWN,
    MV_KEY_F1,
    MV_KEY_F6
};

typedef struct {
    uint8_t kind;   /* mv_input_kind */
    uint8_t mods;   /* MV_MOD bits */
    uint8_t button; /* MV_BUTTON_* */
    uint8_t clicks; /* 1 for a single click, 2 for a double click */
    uint32_t key;
    float x, y;
    float dx, dy;
    char text[32];    /* UTF-8, NUL-terminated */
    const char *path; /* valid only during the call */
} mv_input;
