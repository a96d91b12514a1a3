/* Captures with a damaged chunk: each report must show the loss, and leave out every figure that
 * depends on it. */
#include "tests/fixture/fixture_container.h"
#include "tests/fixture/fixture_json.h"

#define CAPTURE MV_TESTDATA "/captures/train.bin"

/* Writes the capture with one byte inverted in each of these chunks. */
static const char *damaged(const uint16_t *kinds, unsigned count)
{
    mv_span file = mvt_file(mvt_memory(), CAPTURE);
    mvt_container *c = mvt_take_apart(mvt_memory(), file);
    uint8_t *copy = (uint8_t *)mv_arena_text(mvt_memory(), (const char *)file.data, file.length);

    for (uint32_t i = 0; i < c->count; i++)
        for (unsigned k = 0; k < count; k++)
            if (c->chunks[i].head.kind == kinds[k])
                copy[c->chunks[i].at + sizeof c->chunks[i].head] ^= 0xff;
    return mvt_temp_file((mv_span){copy, file.length});
}

#define DAMAGED(...) \
    damaged((const uint16_t[]){__VA_ARGS__}, sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

static const cJSON *finding_of(const cJSON *triage, const char *report)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, mvt_member(triage, "findings")) {
        if (strcmp(mvt_json_text(row, "report"), report) == 0)
            return row;
    }
    return NULL;
}

static void expect_text(const char *command, const char *file, const char *words)
{
    mvt_run run = mvt_sh("$MEMVIZ %s -q %s | tr -s ' \n' ' '", command, file);

    cr_expect(strstr(run.out, words), "%s: %s", command, run.out);
}

Test(lost_tables, whole_files_have_no_damage)
{
    const cJSON *triage = mvt_json(0, "$MEMVIZ --json " CAPTURE);
    const cJSON *ledger = mvt_json(0, "$MEMVIZ ledger --json " CAPTURE);

    cr_expect(cJSON_IsNull(mvt_member(triage, "files.0.damaged")));
    cr_expect(cJSON_IsNull(mvt_member(ledger, "damaged")));
    cr_expect(cJSON_IsNumber(mvt_member(ledger, "devices.0.context_estimate")));
}

LongTest(lost_tables, without_calls_the_holder_of_the_device_is_unknown)
{
    const char *file = DAMAGED(MV_WIRE_API_CALLS);
    const cJSON *triage = mvt_json(0, "$MEMVIZ -q --json %s", file);
    const cJSON *ledger = mvt_json(0, "$MEMVIZ ledger -q --json %s", file);
    const cJSON *found = finding_of(triage, "ledger");

    cr_expect(strstr(mvt_json_text(triage, "files.0.damaged"), "api calls chunk"));
    cr_assert_not_null(found);
    cr_expect_str_eq(mvt_json_text(found, "verdict"), "unknown");
    cr_expect(strstr(mvt_json_text(ledger, "damaged"), "api calls chunk"));
    cr_expect(cJSON_IsNumber(mvt_member(ledger, "devices.0.used")));
    cr_expect(strstr(mvt_json_text(ledger, "devices.0.why"), "CUDA calls are lost"));
    cr_expect(cJSON_IsNull(mvt_member(ledger, "devices.0.context_estimate")));
    cr_expect(cJSON_IsNull(mvt_member(ledger, "devices.0.unexplained")));
    cr_expect(cJSON_IsNull(mvt_member(ledger, "devices.0.samples.0.unexplained")));
    expect_text("", file, " damaged parts of the file were skipped: api calls chunk");
    expect_text("", file, "used; who holds it is unknown: CUDA calls are lost");
    expect_text("ledger", file, "damaged parts of the file were skipped: api calls chunk");
    expect_text("ledger", file, "used; who holds it is unknown: CUDA calls are lost");
}

Test(lost_tables, without_samples_the_use_is_unknown)
{
    const char *file = DAMAGED(MV_WIRE_SAMPLES);
    const cJSON *ledger = mvt_json(0, "$MEMVIZ ledger -q --json %s", file);

    cr_expect(cJSON_IsNull(mvt_member(ledger, "devices.0.used")));
    expect_text("ledger", file, "samples are lost in damaged parts of the file");
}

/* The calls identify it as a capture. Without them, nothing does. */
LongTest(lost_tables, a_capture_without_its_facts_is_not_a_snapshot)
{
    const char *some = DAMAGED(MV_WIRE_FACTS);
    const char *all =
        DAMAGED(MV_WIRE_FACTS, MV_WIRE_API_CALLS, MV_WIRE_SAMPLES, MV_WIRE_HEAP_CALLS);
    mvt_run run = mvt_here_or_sh("$MEMVIZ ledger -q %s", all);

    expect_text("", some, ": capture, bin");
    expect_text("", all, ": damaged file, bin");
    cr_expect_eq(run.status, 1);
    cr_expect(strstr(run.err, "damaged parts of the file hide whether it is a capture"), "%s",
              run.err);
}

Test(lost_tables, lost_events_were_recorded)
{
    const char *file = DAMAGED(MV_WIRE_EVENTS);
    const cJSON *info = mvt_json(0, "$MEMVIZ info --json %s", file);
    mvt_run run = mvt_sh("$MEMVIZ %s; $MEMVIZ leaks %s", file, file);

    cr_expect_str_eq(mvt_json_text(info, "devices.0.history_why"),
                     "events are lost in damaged parts of the file");
    cr_expect_not(strstr(run.out, "_record_memory_history"), "%s", run.out);
    cr_expect_not(strstr(run.out, "no history was recorded"), "%s", run.out);
    expect_text("leaks", file, "events are lost in damaged parts of the file: read an undamaged");
}

/* A file written from a damaged one must report the loss as well. */
Test(lost_tables, conversion_keeps_counts_of_lost_events)
{
    const char *file = DAMAGED(MV_WIRE_API_CALLS), *folder = mvt_temp_folder();
    mvt_run run = mvt_here_or_sh("$MEMVIZ convert -q %s -o %s/copy.bin", file, folder);
    const cJSON *ledger = mvt_json(0, "$MEMVIZ ledger -q --json %s/copy.bin", folder);

    cr_expect_eq(run.status, 0, "%s", run.err);
    cr_expect(cJSON_IsNull(mvt_member(ledger, "devices.0.unexplained")));
}
