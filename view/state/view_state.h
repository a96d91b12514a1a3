/* The state of a view: everything that the user has chosen, as plain data. view/intents/ writes the
 * state, and all other code only reads it. Its members are rows of view_state.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/lives/lives.h"

typedef enum {
    MV_MAIN_TIMELINE,
    MV_MAIN_SEGMENTS,
    MV_MAIN_STATE,
    MV_MAIN_RANKS,
    MV_MAIN_POOLS,
    MV_MAIN_COUNT
} mv_main_view;
typedef enum {
    MV_TAB_FLAME,
    MV_TAB_TABLES,
    MV_TAB_DETAILS,
    MV_TAB_REPORTS,
    MV_TAB_WHATIF,
    MV_TAB_LEDGER, /* must be last, because not every file has a ledger */
    MV_TAB_COUNT
} mv_tab;

#define MV_COLOUR_LIST(X)        \
    X(SITE, "line of your code") \
    X(STACK, "stack")            \
    X(CATEGORY, "category")      \
    X(SIZE, "size")              \
    X(LIFETIME, "lifetime")      \
    X(STREAM, "stream")          \
    X(POOL, "pool")

typedef enum {
#define MV_COLOUR_ENUM(name, text) MV_COLOUR_##name,
    MV_COLOUR_LIST(MV_COLOUR_ENUM) MV_COLOUR_COUNT
} mv_colour_mode;

/* How the hits of a search are shown. */
typedef enum { MV_SHOW_ALL, MV_SHOW_HIGHLIGHT, MV_SHOW_ISOLATE, MV_SHOW_COUNT } mv_show;

/* The order of the ranks' lanes: in the order of opening, highest peak first, or most different
 * first. */
typedef enum {
    MV_LANES_BY_FILE,
    MV_LANES_BY_PEAK,
    MV_LANES_DIFFERING,
    MV_LANES_CHOSEN, /* as the user listed them in `lanes` */
    MV_LANES_COUNT
} mv_lane_order;

/* Which element has the keyboard focus. */
typedef enum {
    MV_FOCUS_PANES,
    MV_FOCUS_SEARCH,
    MV_FOCUS_PALETTE,
    MV_FOCUS_OPEN,
    MV_FOCUS_EXPORT,
    MV_FOCUS_GO,
    MV_FOCUS_BOOKMARK, /* the field for a note */
    MV_FOCUS_MENU,     /* a list that uses arrows and Enter, but takes no text */
    MV_FOCUS_DEVICES,  /* a list that uses arrows and Enter, but takes no text */
    MV_FOCUS_ROWS,     /* the field for the row filter of the tables */
    MV_FOCUS_COUNT
} mv_focus;

/* The lists under buttons. */
typedef enum {
    MV_MENU_VIEWS,
    MV_MENU_LEVELS,
    MV_MENU_COLOURS,
    MV_MENU_CLOCKS,
    MV_MENU_BOOKMARKS,
    MV_MENU_HERE /* the menu that the right button opens */
} mv_menu;

enum {
    MV_SEARCH_TEXT = 2048 /* maximum length of a search in bytes */,
    MV_MOST_TABLES = 8,
    MV_MOST_COLUMNS = 8,
    MV_STATE_MOST = 96
};

/* Limits for the scale of text and for the height of the lower pane. */
#define MV_LEAST_SCALE 0.5
#define MV_MOST_SCALE  4.0
#define MV_LEAST_LOWER 0.12
#define MV_MOST_LOWER  0.75

/* The kinds of members. */
#define MV_STATE_FLAG(name)   bool name;
#define MV_STATE_CHOICE(name) uint8_t name; /* the index of a word in `words` */
#define MV_STATE_COUNT(name)  uint32_t name;
#define MV_STATE_ROW(name)    uint32_t name; /* a row number; MV_NO_ROW: none */
#define MV_STATE_BYTES(name)  uint64_t name;
#define MV_STATE_REAL(name)   double name;               /* finite */
#define MV_STATE_TEXT(name)   char name[MV_SEARCH_TEXT]; /* UTF-8, zero-padded */
#define MV_STATE_NONE(...)

/* The place that the user looks at, which Back restores. */
typedef struct {
#define MV_STATE_PLACE(kind, name, first, words) MV_STATE_##kind(name)
#define MV_STATE_PLACES(kind, name, count)       MV_STATE_##kind(name[count])
#define MV_STATE_DESK                            MV_STATE_NONE
#define MV_STATE_DESKS                           MV_STATE_NONE
#define MV_STATE_MOMENT                          MV_STATE_NONE
#include "view/state/view_state.def"
#undef MV_STATE_PLACE
#undef MV_STATE_PLACES
#undef MV_STATE_DESK
#undef MV_STATE_DESKS
#undef MV_STATE_MOMENT
} mv_view_state;

/* The setup of the window, which is the same at every place. */
typedef struct {
#define MV_STATE_PLACE                            MV_STATE_NONE
#define MV_STATE_PLACES                           MV_STATE_NONE
#define MV_STATE_DESK(kind, name, first, words)   MV_STATE_##kind(name)
#define MV_STATE_DESKS(kind, name, count)         MV_STATE_##kind(name[count])
#define MV_STATE_MOMENT(kind, name, first, words) MV_STATE_##kind(name)
#include "view/state/view_state.def"
#undef MV_STATE_PLACE
#undef MV_STATE_PLACES
#undef MV_STATE_DESK
#undef MV_STATE_DESKS
#undef MV_STATE_MOMENT
} mv_view_desk;

/* The default values. */
extern const mv_view_state mv_view_state_first;
extern const mv_view_desk mv_view_desk_first;

/* Describes a member, for code that iterates over all members. */
typedef enum {
    MV_MEMBER_FLAG,
    MV_MEMBER_CHOICE,
    MV_MEMBER_COUNT,
    MV_MEMBER_ROW,
    MV_MEMBER_BYTES,
    MV_MEMBER_REAL,
    MV_MEMBER_TEXT
} mv_member_kind;

typedef struct {
    const char *name;
    const char *words; /* for CHOICE: the possible words, separated by spaces */
    uint32_t kind;     /* mv_member_kind */
    uint32_t count;    /* number of elements: 1, or more for an array */
    size_t offset, size;
    bool is_of_desk; /* the member belongs to mv_view_desk; if false, it belongs to mv_view_state */
    bool is_kept;    /* the member is stored in sessions */
} mv_state_member;

extern const mv_state_member mv_state_members[];
extern const uint32_t mv_state_member_count;

/* Whether the keyboard focus is in a field of a bar or a pane. Such a field covers nothing. */
static inline bool mv_focus_is_inline(uint8_t focus)
{
    return focus == MV_FOCUS_SEARCH || focus == MV_FOCUS_ROWS;
}

bool mv_view_state_is_equal(const mv_view_state *a, const mv_view_state *b);
