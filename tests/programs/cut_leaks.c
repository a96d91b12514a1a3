/* Makes leak reports on recordings as if they had ended at 200 places, for scripts/test-cuts:
 *
 *     cut_leaks [-v] FILE...
 *
 * Prints one line for each device with events: how often each verdict was reached, and, for a
 * leaking recording, the event after which the leak must be named and the cuts at which it was not.
 * -v lists every cut. */

#include "parse/readers.h"
#include "tests/leaks/fixture_leak_cuts.h"

#define CUTS 200

typedef struct {
    uint32_t devices, cuts, false_alarms, rising, due, missed, misnamed, failed;
} sums;

static void print_row(const char *file, uint32_t device, const mvt_leak_cuts *c, sums *s)
{
    bool leaks = c->verdict == MV_VERDICT_LEAK;

    printf("%-60s %u  %-7s  %3u leak %3u clean %3u unknown", file, device,
           mv_leak_verdict_name(c->verdict), c->leak, c->clean, c->unknown);
    if (leaks)
        printf("  first at %u, due after %u: %u of %u not named, %u by another line; %s",
               c->first_leak, c->due, c->missed, c->cuts_due, c->misnamed, c->label[0]);
    else if (c->leak > 0)
        printf("  FALSE from %u on", c->first_leak);
    if (c->rising > 0)
        printf("  %u CLEAN though the floor rises", c->rising);
    putchar('\n');
    s->devices++;
    s->cuts += c->cuts;
    s->due += leaks ? c->cuts_due : 0;
    s->missed += leaks ? c->missed : 0;
    s->misnamed += leaks ? c->misnamed : 0;
    s->false_alarms += leaks ? 0 : c->leak;
    s->rising += c->rising;
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "-v") == 0;
    sums s = {0};

    if (argc < 2 + all) {
        fprintf(stderr, "usage: cut_leaks [-v] FILE...\n");
        return 2;
    }
    for (int i = 1 + all; i < argc; i++) {
        const char *path = argv[i];
        mv_budget budget = {.limit = (uint64_t)16 << 30};
        const char *name = strrchr(path, '/');
        mv_read_opts opts = {0};
        mv_err err = {0};
        mv_arena arena;
        mv_trace trace;
        mv_arena_init(&arena, &budget);
        if (mv_trace_read(&arena, path, &opts, &trace, &err) == MV_OK)
            for (uint32_t d = 0; d < mv_trace_devices(&trace) && err.code == MV_OK; d++) {
                mvt_leak_cuts cuts;
                if (mv_trace_events(&trace, d).count > 0 &&
                    mvt_leak_cuts_find(&budget, &trace, d, CUTS, all ? stdout : NULL, &cuts,
                                       &err) == MV_OK)
                    print_row(name ? name + 1 : path, d, &cuts, &s);
            }
        if (err.code != MV_OK) {
            fprintf(stderr, "%s: %s: %s\n", path, mv_code_text(err.code), err.detail);
            s.failed++;
        }
        mv_arena_release(&arena);
    }
    printf("%u devices, %u cuts: %u false alarms, %u clean though the floor rises; of %u cuts "
           "where a leak is due, %u without it "
           "and %u with another line first\n",
           s.devices, s.cuts, s.false_alarms, s.rising, s.due, s.missed, s.misnamed);
    return s.failed > 0 || s.rising > 0;
}
