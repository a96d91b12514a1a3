/* Runs commands. */

#include "view/intents/intents.h"
#include "view/intents/writable.h"

static const struct {
    void (*run)(mv_view *, uint64_t);
    bool has_arg; /* whether the command has a fixed argument */
    uint64_t arg;
} runs[MV_DO_COUNT] = {
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help) \
    [MV_DO_##name] = {.run = mv_do_##name},
#define MV_VIEW_COMMAND_AS(name, keys, needs, past, title, help, does, number) \
    [MV_DO_##name] = {.run = mv_do_##does, .has_arg = true, .arg = (uint64_t)(number)},
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
};

bool mv_view_do(mv_view *view, mv_command_id id, uint64_t arg)
{
    const char *lacks;

    if (id <= MV_DO_NOTHING || id >= MV_DO_COUNT)
        return false;
    lacks = mv_view_command_unavailable_reason(view, id);
    if (lacks) {
        mv_view_say(view, false, "%s: %s", mv_view_commands[id].title, lacks);
        return false;
    }
    mv_change_begin(view);
    mv_change_is(view, (mv_change_kind)mv_view_commands[id].past);
    runs[id].run(view, runs[id].has_arg ? runs[id].arg : arg);
    mv_change_end(view);
    return true;
}
