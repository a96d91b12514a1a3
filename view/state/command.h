/* The viewer's commands, which are defined in one table (view/state/commands.def). Keys, the help
 * overlay, the palette, tooltips, scripts and docs/viewer.md are generated from it.
 * tests/view/test_view_commands.c fails if a key is used twice.
 *
 * To add a command, add a row to commands.def and a function mv_do_NAME to a file in
 * view/intents/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/state/view_history.h"

typedef struct mv_view mv_view;

typedef enum {
    MV_DO_NOTHING,
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help) MV_DO_##name,
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
    MV_DO_COUNT
} mv_command_id;

/* What must be there for a command to be enabled; one bit each. */
enum {
    MV_NEEDS_NOTHING = 0,
    MV_NEEDS_DEVICE = 1,   /* a device with a visible timeline */
    MV_NEEDS_PIN = 2,      /* a pinned allocation */
    MV_NEEDS_INTERVAL = 4, /* a selected interval */
    MV_NEEDS_FILTER = 8,   /* a search */
    MV_NEEDS_OOM = 16,     /* an out-of-memory event */
    MV_NEEDS_MARKS = 32,   /* annotations, marks or steps */
    MV_NEEDS_DEVICES = 64, /* more than one device or file */
    MV_NEEDS_PAST = 128,   /* an earlier place to go back to */
    MV_NEEDS_FUTURE = 256,
    MV_NEEDS_COLOURS = 512, /* a picture with coloured allocations */
    MV_NEEDS_LEVELS = 1024, /* a file with several memory levels */
    MV_NEEDS_LEDGER = 2048, /* CUDA calls, or device samples */
    MV_NEEDS_LIVE = 4096    /* a recording that is being followed */
};

typedef struct {
    const char *name; /* name used in scripts, such as "zoom_in" */
    const char *keys; /* keys such as "W", "Ctrl+F" or "Shift+P", separated by spaces; "": none */
    uint32_t needs;
    uint32_t past;     /* mv_change_kind: how the command affects Back and Forward */
    const char *title; /* title, such as "Zoom in" */
    const char *help;  /* help text of one sentence */
} mv_view_command;

extern const mv_view_command mv_view_commands[MV_DO_COUNT]; /* indexed by mv_command_id */

/* Returns the command with this name; MV_DO_NOTHING: there is none. */
mv_command_id mv_view_command_find(const char *name);

bool mv_view_command_is_enabled(const mv_view *view, mv_command_id id);

/* Returns the reason why a command is disabled; NULL: it is enabled. */
const char *mv_view_command_unavailable_reason(const mv_view *view, mv_command_id id);

/* Runs a command if it is enabled. Otherwise returns false and shows the reason in the status
 * bar. */
bool mv_view_do(mv_view *view, mv_command_id id, uint64_t arg);
