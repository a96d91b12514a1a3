#include "cli/input/moment_option.h"

#include "analyze/oom/refused_calls.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/window.h"

bool mv_at_find_in(mv_cli *cli, const char *file, const mv_trace *trace, const mv_lives *lives,
                   const char *otherwise, mv_moment *out)
{
    const char *at = cli->options.at ? cli->options.at : otherwise;
    mv_moment_query ask;
    mv_window window;
    char why[MV_WHY];
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!mv_window_find_in(cli, file, trace, lives->device, &window))
        return false;
    if (!mv_failure_moment_read(cli->scratch.budget, trace, lives->device, at, window, &ask, why,
                                sizeof why)) {
        mv_complain_of(file, "%s", why);
        return false;
    }
    if (mv_moment_find(&cli->scratch, lives, ask, out, &err) == MV_OK)
        return true;
    mv_complain(file, &err);
    return false;
}

bool mv_at_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const char *otherwise,
                mv_moment *out)
{
    return mv_at_find_in(cli, mv_input_name(cli), trace, lives, otherwise, out);
}

static bool names_moment(const mv_cli *cli, const mv_trace *trace, uint32_t device)
{
    mv_window all = {0, mv_trace_events(trace, device).count};
    mv_moment_query ask;
    char why[MV_WHY];

    return mv_failure_moment_read(cli->scratch.budget, trace, device, cli->options.at, all, &ask,
                                  why, sizeof why);
}

bool mv_at_is_elsewhere(const mv_cli *cli, const mv_trace *trace, uint32_t device)
{
    const char *at = cli->options.at;

    if (!at || cli->options.device != MV_ALL_DEVICES || names_moment(cli, trace, device))
        return false;
    for (uint32_t i = 0; i < mv_trace_devices(trace); i++)
        if (names_moment(cli, trace, i))
            return true;
    return false;
}

bool mv_at_is_peak(const mv_cli *cli)
{
    const char *at = cli->options.at;

    return !at || strcmp(at, "peak") == 0 || strcmp(at, "reserved-peak") == 0;
}

const char *mv_at_words(const mv_cli *cli)
{
    const char *at = cli->options.at;

    return !at || strcmp(at, "peak") == 0     ? "the peak"
           : strcmp(at, "reserved-peak") == 0 ? "the peak of reserved memory"
           : strcmp(at, "end") == 0           ? "the end"
                                              : at;
}

const char *mv_at_text(char text[MV_AT_TEXT], const mv_trace *trace, const mv_moment *moment)
{
    int64_t start = mv_position_start_us(trace);

    if (moment->event == MV_BEFORE)
        snprintf(text, MV_AT_TEXT, "before the first event");
    else if (moment->time_us == MV_NO_TIME || start == MV_NO_TIME)
        snprintf(text, MV_AT_TEXT, "event %u", moment->event);
    else
        snprintf(text, MV_AT_TEXT, "event %u (%.3f s)", moment->event,
                 (double)(moment->time_us - start) / 1e6);
    return text;
}
