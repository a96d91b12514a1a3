#include "view/state/keymap.h"

#include <ctype.h>
#include <stdio.h>

#include "view/state/user_input.h"

static const struct {
    const char *name;
    uint32_t key;
} named_keys[] = {
    {"Escape", MV_KEY_ESCAPE},       {"Enter", MV_KEY_ENTER},   {"Tab", MV_KEY_TAB},
    {"Backspace", MV_KEY_BACKSPACE}, {"Delete", MV_KEY_DELETE}, {"Left", MV_KEY_LEFT},
    {"Right", MV_KEY_RIGHT},         {"Up", MV_KEY_UP},         {"Down", MV_KEY_DOWN},
    {"Home", MV_KEY_HOME},           {"End", MV_KEY_END},       {"PageUp", MV_KEY_PAGE_UP},
    {"PageDown", MV_KEY_PAGE_DOWN},  {"F1", MV_KEY_F1},         {"F6", MV_KEY_F6},
};
enum { NAMED_KEYS = sizeof named_keys / sizeof *named_keys };

static const struct {
    const char *name;
    uint8_t mod;
} named_mods[] = {{"Shift+", MV_MOD_SHIFT}, {"Ctrl+", MV_MOD_CTRL}, {"Alt+", MV_MOD_ALT}};
enum { NAMED_MODS = sizeof named_mods / sizeof *named_mods };

/* Reads a modifier at the beginning of `text` that is followed by more. Returns its length in
 * bytes, or 0. */
static size_t read_mod(const char *text, size_t length, uint8_t *mods)
{
    for (int i = 0; i < NAMED_MODS; i++) {
        size_t bytes = strlen(named_mods[i].name);
        if (length > bytes && memcmp(text, named_mods[i].name, bytes) == 0) {
            *mods |= named_mods[i].mod;
            return bytes;
        }
    }
    return 0;
}

bool mv_key_read(const char *text, size_t length, uint32_t *key, uint8_t *mods)
{
    size_t bytes;

    *mods = 0;
    while ((bytes = read_mod(text, length, mods)) > 0) {
        text += bytes;
        length -= bytes;
    }
    for (int i = 0; i < NAMED_KEYS; i++)
        if (strlen(named_keys[i].name) == length && memcmp(named_keys[i].name, text, length) == 0) {
            *key = named_keys[i].key;
            return true;
        }
    if (length != 1 || *text <= ' ' || *text > '~')
        return false;
    *key = (uint32_t)toupper(*text);
    return true;
}

/* Drops Shift for character keys. On many keyboards, '?' and '+' need Shift, and on some, other
 * characters do. Therefore only the character matters, and not how it is typed. */
static void settle(uint32_t *key, uint8_t *mods)
{
    if (*key == '/' && *mods == MV_MOD_SHIFT)
        *key = '?';
    if (*key == '=' && *mods & MV_MOD_CTRL)
        *key = '+';
    if (*key == '<' || *key == '>') {
        *key = *key == '<' ? ',' : '.';
        *mods |= MV_MOD_SHIFT;
    }
    if (*key == '?' || *key == '+')
        *mods &= (uint8_t)~MV_MOD_SHIFT;
}

void mv_keymap_init(mv_keymap *map)
{
    for (int i = MV_DO_NOTHING; i < MV_DO_COUNT; i++)
        map->keys[i] = i == MV_DO_NOTHING ? "" : mv_view_commands[i].keys;
}

/* Finds the next word of a line. Returns its length; 0 at the end of the line. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, " \t\r");
    return strcspn(*at, " \t\r\n");
}

static bool has_key(const char *keys, uint32_t key, uint8_t mods)
{
    for (size_t length; (length = next_word(&keys)) > 0; keys += length) {
        uint32_t k;
        uint8_t m;
        if (!mv_key_read(keys, length, &k, &m))
            continue;
        settle(&k, &m);
        if (k == key && m == mods)
            return true;
    }
    return false;
}

mv_command_id mv_keymap_command(const mv_keymap *map, uint32_t key, uint8_t mods)
{
    settle(&key, &mods);
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++)
        if (has_key(map->keys[i], key, mods))
            return (mv_command_id)i;
    return MV_DO_NOTHING;
}

/* Returns `keys` without this key, allocated in `arena`; NULL when out of memory. */
static const char *without_key(mv_arena *arena, const char *keys, uint32_t key, uint8_t mods)
{
    char left[128];
    size_t used = 0;

    for (size_t length; (length = next_word(&keys)) > 0; keys += length) {
        uint32_t k = 0;
        uint8_t m = 0;
        if (mv_key_read(keys, length, &k, &m))
            settle(&k, &m);
        if (k == key && m == mods)
            continue;
        if (used + length + 2 > sizeof left)
            break;
        used += (size_t)snprintf(left + used, sizeof left - used, "%s%.*s", used ? " " : "",
                                 (int)length, keys);
    }
    left[used] = 0;
    return mv_arena_text(arena, left, used);
}

/* Assigns a key to a command, and removes it from any other command. */
static bool give(mv_arena *arena, mv_keymap *map, mv_command_id id, const char *text, size_t length)
{
    const char *keys;
    char joined[160];
    uint32_t key;
    uint8_t mods;

    if (!mv_key_read(text, length, &key, &mods))
        return false;
    settle(&key, &mods);
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        if (!has_key(map->keys[i], key, mods))
            continue;
        map->keys[i] = without_key(arena, map->keys[i], key, mods);
        if (!map->keys[i])
            map->keys[i] = "";
    }
    keys = map->keys[id];
    snprintf(joined, sizeof joined, "%s%s%.*s", keys, *keys ? " " : "", (int)length, text);
    keys = mv_arena_text(arena, joined, strlen(joined));
    if (keys)
        map->keys[id] = keys;
    return keys != NULL;
}

/* Reads one line. Returns false, with a sentence in `why`, if the line is invalid. */
static bool read_line(mv_arena *arena, mv_keymap *map, const char *line, char *why, uint32_t size)
{
    size_t length = next_word(&line);
    mv_command_id id;
    char name[64];

    if (length == 0 || *line == '#')
        return true;
    snprintf(name, sizeof name, "%.*s", (int)length, line);
    id = mv_view_command_find(name);
    if (id == MV_DO_NOTHING) {
        snprintf(why, size, "unknown command %s", name);
        return false;
    }
    map->keys[id] = "";
    for (line += length; (length = next_word(&line)) > 0; line += length) {
        if (!give(arena, map, id, line, length)) {
            snprintf(why, size, "%s: %.*s is not a key", name, length < 32 ? (int)length : 32,
                     line);
            return false;
        }
    }
    return true;
}

uint32_t mv_keymap_read(mv_arena *arena, mv_keymap *map, const char *text, char *why, uint32_t size)
{
    char reason[128];

    for (uint32_t line = 1; *text; line++) {
        if (!read_line(arena, map, text, reason, sizeof reason)) {
            snprintf(why, size, "%s", reason);
            return line;
        }
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return 0;
}
