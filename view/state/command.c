#include "view/state/command.h"

const mv_view_command mv_view_commands[MV_DO_COUNT] = {
#define MV_VIEW_COMMAND(name, keys, needs, past, title, help) \
    [MV_DO_##name] = {#name, keys, needs, past, title, help},
#include "view/state/commands.def"
#undef MV_VIEW_COMMAND
};

mv_command_id mv_view_command_find(const char *name)
{
    for (int i = MV_DO_NOTHING + 1; i < MV_DO_COUNT; i++)
        if (strcmp(mv_view_commands[i].name, name) == 0)
            return (mv_command_id)i;
    return MV_DO_NOTHING;
}
