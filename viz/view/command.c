#include "viz/view/command.h"

#include <ctype.h>
#include <string.h>

#include "viz/view/view.h"

const mv_view_command mv_view_commands[MV_DO_COUNT] = {
#define MV_VIEW_COMMAND(name, keys, needs, title, help) \
    [MV_DO_##name] = {#name, keys, needs, title, help, mv_do_##name},
#include "viz/view/commands.def"
#undef MV_VIEW_COMMAND
};

mv_command_id mv_view_command_find(const char *name)
{
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++)
        if (strcmp(mv_view_commands[i].name, name) == 0)
            return (mv_command_id)i;
    return MV_DO_NOTHING;
}

/* ---- keys -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t key;
} named_keys[] = {
    {"Escape", MV_KEY_ESCAPE},       {"Enter", MV_KEY_ENTER},   {"Tab", MV_KEY_TAB},
    {"Backspace", MV_KEY_BACKSPACE}, {"Delete", MV_KEY_DELETE}, {"Left", MV_KEY_LEFT},
    {"Right", MV_KEY_RIGHT},         {"Up", MV_KEY_UP},         {"Down", MV_KEY_DOWN},
    {"Home", MV_KEY_HOME},           {"End", MV_KEY_END},       {"PageUp", MV_KEY_PAGE_UP},
    {"PageDown", MV_KEY_PAGE_DOWN},  {"F1", MV_KEY_F1},
};
enum { NAMED_KEYS = sizeof named_keys / sizeof *named_keys };

static const struct {
    const char *name;
    uint8_t mod;
} named_mods[] = {{"Shift+", MV_MOD_SHIFT}, {"Ctrl+", MV_MOD_CTRL}, {"Alt+", MV_MOD_ALT}};
enum { NAMED_MODS = sizeof named_mods / sizeof *named_mods };

/* A modifier at the begin of `text`, which is not all of it; its bytes, or 0. */
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

/* Keyboards type '?' and '+' with Shift, some the others too: the sign counts, not how it came. */
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

mv_command_id mv_view_command_of_key(uint32_t key, uint8_t mods)
{
    settle(&key, &mods);
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++) {
        const char *at = mv_view_commands[i].keys;
        while (*at) {
            size_t length = strcspn(at, " ");
            uint32_t k;
            uint8_t m;
            if (mv_key_read(at, length, &k, &m) && k == key && m == mods)
                return (mv_command_id)i;
            at += length + (at[length] == ' ');
        }
    }
    return MV_DO_NOTHING;
}

/* ---- running ----------------------------------------------------------------------------- */

/* What of `needs` the view has. */
static uint32_t has(const mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);
    uint32_t has = 0;

    if (!device)
        return mv_view_device_count(view) > 1 ? MV_NEEDS_DEVICES : 0;
    has |= MV_NEEDS_DEVICE;
    has |=
        view->now.pinned != MV_NO_ROW || view->now.pinned_segment != MV_NO_ROW ? MV_NEEDS_PIN : 0;
    has |= view->now.has_interval ? MV_NEEDS_INTERVAL : 0;
    has |= view->matches && view->matches->matches ? MV_NEEDS_FILTER : 0;
    has |= device->landmarks.oom_count ? MV_NEEDS_OOM : 0;
    if (device->landmarks.mark_count || (mv_view_is_judged(view) && device->leaks.steps.count))
        has |= MV_NEEDS_MARKS;
    has |= mv_view_device_count(view) > 1 ? MV_NEEDS_DEVICES : 0;
    return has | mv_view_past(view);
}

bool mv_view_command_is_enabled(const mv_view *view, mv_command_id id)
{
    return id > MV_DO_NOTHING && id < MV_DO_COUNT && (mv_view_commands[id].needs & ~has(view)) == 0;
}

static const char *lack(uint32_t needs)
{
    static const struct {
        uint32_t need;
        const char *text;
    } lacks[] = {
        {MV_NEEDS_DEVICE, "nothing is shown yet"},
        {MV_NEEDS_PIN, "click an allocation first"},
        {MV_NEEDS_INTERVAL, "drag over the timeline first, to select an interval"},
        {MV_NEEDS_FILTER, "search for something first"},
        {MV_NEEDS_OOM, "no request failed for want of memory in this trace"},
        {MV_NEEDS_MARKS, "this trace has no markers"},
        {MV_NEEDS_DEVICES, "only one device is open"},
        {MV_NEEDS_PAST, "there is no earlier view"},
        {MV_NEEDS_FUTURE, "there is no later view"},
    };

    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (needs & lacks[i].need)
            return lacks[i].text;
    return "not now";
}

bool mv_view_do(mv_view *view, mv_command_id id, uint64_t arg)
{
    uint32_t lacking;

    if (id <= MV_DO_NOTHING || id >= MV_DO_COUNT)
        return false;
    lacking = mv_view_commands[id].needs & ~has(view);
    if (lacking) {
        mv_view_say(view, false, "%s: %s", mv_view_commands[id].title, lack(lacking));
        return false;
    }
    mv_view_commands[id].run(view, arg);
    return true;
}
