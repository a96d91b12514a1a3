/* A command, a page and the viewer must print the same sentences. Every sentence with a verdict or
 * advice is made in analyze/ and shown unchanged elsewhere. */
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_view.h"

typedef struct {
    const char *name;
    mv_findings found;
    cJSON *leaks, *oom, *fragmentation; /* reports for the device that the viewer shows */
} comparison;

/* Returns the entry for a device in a report's list, or NULL. */
static cJSON *of_device(cJSON *list, uint32_t device)
{
    cJSON *entry;

    cJSON_ArrayForEach(entry, list)
        if (mvt_json_number(entry, "device") == device)
            return entry;
    return NULL;
}

/* Returns whether a finding of this kind begins with a text, in its title, sentence or advice. */
static bool is_said(const comparison *c, mv_finding_kind kind, const char *text)
{
    for (uint32_t i = 0; i < c->found.count; i++) {
        const mv_finding *f = &c->found.rows[i];
        if (f->kind == kind &&
            (strncmp(f->title, text, strlen(text)) == 0 ||
             strncmp(f->what, text, strlen(text)) == 0 || strcmp(f->advice, text) == 0))
            return true;
    }
    return false;
}

static void expect_said(const comparison *c, mv_finding_kind kind, const char *text)
{
    cr_expect(is_said(c, kind, text), "%s: the viewer does not say: %s", c->name, text);
}

static void check_fragmentation(const comparison *c, uint32_t device)
{
    cJSON *own = of_device(cJSON_GetObjectItem(c->fragmentation, "devices"), device);
    cJSON *advice = cJSON_GetArrayItem(cJSON_GetObjectItem(own, "advice"), 0);
    bool is_fragmented = strcmp(mvt_json_text(own, "verdict"), "fragmented") == 0;
    bool is_known = cJSON_IsTrue(cJSON_GetObjectItem(own, "known"));
    bool waits = strcmp(mvt_json_text(own, "verdict"), "waiting") == 0;
    mv_finding_kind kind = is_fragmented ? MV_FINDING_FRAGMENTED
                           : waits       ? MV_FINDING_WAITING
                           : is_known    ? MV_FINDING_FINE
                                         : MV_FINDING_NOTE;

    expect_said(c, kind, mvt_json_text(own, "why"));
    if (kind <= MV_FINDING_WAITING && advice)
        expect_said(c, kind, mvt_json_text(advice, "text"));
}

static void check_view(mv_view *view, const char *name)
{
    const mv_document *document = mv_view_document(view);
    const mv_document_device *device = mv_view_device(view);
    const mv_reports reports = mv_document_reports(document, device);
    comparison c = {.name = name};

    mvt_ok(mv_findings_find(mvt_memory(), &reports, &c.found, mvt_err()));
    c.leaks = mvt_json(0, "$MEMVIZ leaks --json $SNAPS/%s.pickle*", name);
    c.oom = mvt_json(0, "$MEMVIZ oom --json $SNAPS/%s.pickle*", name);
    c.fragmentation = mvt_json(0, "$MEMVIZ fragmentation --json $SNAPS/%s.pickle*", name);
    const cJSON *own = of_device(cJSON_GetObjectItem(c.leaks, "devices"), device->device), *leak;
    const char *verdict = mvt_json_text(own, "verdict");
    if (strcmp(verdict, "leak") != 0)
        expect_said(&c, strcmp(verdict, "clean") == 0 ? MV_FINDING_FINE : MV_FINDING_NOTE,
                    mvt_json_text(own, "why"));
    cJSON_ArrayForEach(leak, cJSON_GetObjectItem(c.leaks, "leaks"))
        if (mvt_json_number(leak, "device") == device->device)
            expect_said(&c, MV_FINDING_LEAK, mvt_json_text(leak, "advice"));
    const cJSON *oom;
    cJSON_ArrayForEach(oom, cJSON_GetObjectItem(c.oom, "ooms")) {
        if (mvt_json_number(oom, "device") != device->device)
            continue;
        expect_said(&c, MV_FINDING_OOM, mvt_json_text(oom, "why"));
        expect_said(&c, MV_FINDING_OOM, mvt_json_text(oom, "advice"));
    }
    check_fragmentation(&c, device->device);
}

EachView(sentences, the_viewer_equals_the_commands, check_view);

/* Returns a report's text without line breaks and repeated spaces. */
static char *on_one_line(char *text)
{
    char *end = text;

    for (const char *at = text; *at; at++)
        if (*at != '\n' && (*at != ' ' || (end > text && end[-1] != ' ')))
            *end++ = *at;
        else if (end > text && end[-1] != ' ')
            *end++ = ' ';
    *end = 0;
    return text;
}

LongTest(sentences, the_title_of_a_page_equals_the_output_of_the_command)
{
    static const char *const names[] = {"leak_in_training", "gpt_train", "mlp_train",
                                        "leak_global_list", "graphs",    "ring",
                                        "no_history"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *report = mvt_json_here(0, "$MEMVIZ leaks --json $SNAPS/%s.pickle", names[i]);
        cJSON *leak = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "leaks"), 0);
        bool is_unknown = strcmp(mvt_json_text(report, "verdict"), "unknown") == 0;
        const char *said = is_unknown ? "leaks unknown" : "no leak";
        mvt_run drawn = mvt_here("$MEMVIZ trace_plot -o x.html $SNAPS/%s.pickle", names[i]);
        const char *page = mvt_take("x.html", NULL);
        if (leak) { /* "leak 24.0 MiB at train.py:62", without the function */
            const char *culprit = mvt_json_text(leak, "culprit");
            said = mvt_format(" at %.*s", (int)strcspn(culprit, " "), culprit);
        }
        cr_assert(drawn.status == 0 && page, "%s", drawn.err);
        cr_expect_not_null(strstr(page, said), "%s: the page does not say: %s", names[i], said);
    }
}

LongTest(sentences, text_and_json_have_the_same_sentences)
{
    static const char *const names[] = {"oom", "oom_fragmented", "ring", "frag_pinned_by_small"};
    static const char *const commands[] = {"oom", "fragmentation", "whatif"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            cJSON *json =
                mvt_json_here(0, "$MEMVIZ %s --json $SNAPS/%s.pickle", commands[k], names[i]);
            mvt_run text = mvt_here("$MEMVIZ %s $SNAPS/%s.pickle", commands[k], names[i]);
            cJSON *advice, *all = cJSON_GetObjectItem(json, k == 0 ? "ooms" : "advice");
            on_one_line(text.out);
            cJSON_ArrayForEach(advice, all) {
                const char *said = mvt_json_text(advice, k == 0 ? "advice" : "text");
                cr_expect_not_null(strstr(text.out, said), "%s %s: %s", commands[k], names[i],
                                   said);
            }
        }
}
