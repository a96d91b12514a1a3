/* Key bindings. The defaults are in view/state/commands.def, and the user's key file can change
 * them.
 *
 *     # a command's name, and its keys
 *     zoom_in   W Up
 *     pan_left  A Left
 *     quit                            no key
 *
 * Each line replaces all keys of its command. If another command already has one of these keys, the
 * key is removed from that command. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "view/state/command.h"

typedef struct {
    const char *keys[MV_DO_COUNT]; /* keys of each command, such as "W Up"; "": none */
} mv_keymap;

void mv_keymap_init(mv_keymap *map);

/* Returns the command for a key with its modifiers (view/state/user_input.h); MV_DO_NOTHING:
 * none. */
mv_command_id mv_keymap_command(const mv_keymap *map, uint32_t key, uint8_t mods);

/* Reads the user's lines, which end with a NUL, up to the first invalid line. Returns the number of
 * that line, counted from 1, with a sentence in `why`; 0: all lines were read. The lines before an
 * invalid one take effect. */
uint32_t mv_keymap_read(mv_arena *arena, mv_keymap *map, const char *text, char *why,
                        uint32_t size);

/* Parses a string of `length` bytes, such as "Ctrl+PageDown", as a key and MV_MOD_* bits. Returns
 * false if it is not a key. */
bool mv_key_read(const char *text, size_t length, uint32_t *key, uint8_t *mods);
