/* Running commands. */
#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* Why hits cannot be gone through. */
static const char *lack_of_hits(const mv_view *view)
{
    if (!*view->now->search)
        return "search for something first";
    if (*view->search_why)
        return view->search_why;
    return view->matches ? "nothing matches the search" : "still searching";
}

static const char *lack(const mv_view *view, uint32_t needs)
{
    static const struct {
        uint32_t need;
        const char *text;
    } lacks[] = {
        {MV_NEEDS_DEVICE, "nothing is shown yet"},
        {MV_NEEDS_PIN, "click an allocation first"},
        {MV_NEEDS_INTERVAL, "drag over the timeline first, to select an interval"},
        {MV_NEEDS_OOM, "no request ran out of memory in this trace"},
        {MV_NEEDS_MARKS, "this trace has no markers"},
        {MV_NEEDS_DEVICES, "only one device is open"},
        {MV_NEEDS_PAST, "there is no earlier view"},
        {MV_NEEDS_FUTURE, "there is no later view"},
    };

    if (needs & MV_NEEDS_FILTER)
        return lack_of_hits(view);
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (needs & lacks[i].need)
            return lacks[i].text;
    return "not now";
}

static const struct {
    void (*run)(mv_view *, uint64_t);
    bool has_arg; /* of its own */
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
    uint32_t lacking;

    if (id <= MV_DO_NOTHING || id >= MV_DO_COUNT)
        return false;
    lacking = mv_view_commands[id].needs & ~mv_view_has(view);
    if (lacking) {
        mv_view_say(view, false, "%s: %s", mv_view_commands[id].title, lack(view, lacking));
        return false;
    }
    mv_change_begin(view);
    mv_change_is(view, (mv_change_kind)mv_view_commands[id].past);
    runs[id].run(view, runs[id].has_arg ? runs[id].arg : arg);
    mv_change_end(view);
    return true;
}
