#include "cli/report/gate_page.h"

#include <stdlib.h>

#include "viz/scene/markup.h"

bool mv_gate_page_begin(mv_gate_page *page, mv_cli *cli)
{
    FILE *memory = open_memstream(&page->text, &page->size);

    if (!memory)
        return false;
    cli->gates.arena = &cli->arena;
    page->real = cli->out.sink.file;
    cli->out.sink.file = memory;
    return true;
}

/* ---- answers ------------------------------------------------------------------------------ */

/* Finds a gate's worst answer and the first reason for it. Returns false if the gate passes. */
static bool answer_of(const mv_gates *gates, mv_gate gate, mv_gate_outcome_kind *kind,
                      const char **first)
{
    bool is_reported = false;

    for (const mv_gate_outcome *t = gates->outcomes; t; t = t->next)
        if (t->gate == gate && t->text && (!is_reported || t->kind < *kind)) {
            *kind = t->kind;
            *first = t->text;
            is_reported = true;
        }
    return is_reported;
}

static uint32_t count_of(const mv_gates *gates, int kind)
{
    mv_gate_outcome_kind is = MV_GATE_OUTCOME_MET;
    const char *first;
    uint32_t count = 0;

    for (mv_gate g = 0; g < MV_GATE_COUNT; g++)
        count += (gates->asked & (1u << g)) && answer_of(gates, g, &is, &first) && (int)is == kind;
    return count;
}

/* ---- Markdown ---------------------------------------------------------------------------- */

static uint32_t longest_run(const char *text, char c)
{
    uint32_t longest = 0, run = 0;

    for (; *text; text++) {
        run = *text == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Writes a code span in a table cell, in which no text from a file can act as markup. */
static void put_code(mv_out *out, const char *text)
{
    uint32_t ticks = longest_run(text, '`') + 1;

    for (uint32_t i = 0; i < ticks; i++)
        mv_out_char(out, '`');
    mv_out_char(out, ' ');
    for (const char *rest = text; *rest;) {
        size_t length = strcspn(rest, "|");
        mv_out_clean(out, (mv_span){(const uint8_t *)rest, length});
        rest += length;
        if (*rest)
            mv_out_words(out, "\\|");
        rest += *rest == '|';
    }
    mv_out_char(out, ' ');
    for (uint32_t i = 0; i < ticks; i++)
        mv_out_char(out, '`');
}

static void put_markdown(const mv_gate_page *page, mv_cli *cli, int status)
{
    static const char *const words[] = {"**met**", "**unknown**", "unknown, passes"};
    const mv_gates *gates = &cli->gates;
    mv_out *out = &cli->out;
    char text[MV_GATE_TEXT];

    mv_out_format(out, "### memviz %s: %s\n\n", cli->command->name,
                  status == MV_EXIT_FAILED    ? "a file could not be read"
                  : status == MV_EXIT_FOUND   ? "a gate is met"
                  : status == MV_EXIT_UNKNOWN ? "a gate is unknown"
                  : gates->asked              ? "all gates pass"
                                              : "report");
    if (gates->asked)
        mv_out_words(out, "| gate | answer | reason |\n|---|---|---|\n");
    for (mv_gate g = 0; g < MV_GATE_COUNT; g++) {
        mv_gate_outcome_kind kind;
        const char *first;
        if (!(gates->asked & (1u << g)))
            continue;
        if (!answer_of(gates, g, &kind, &first))
            mv_out_format(out, "| `%s` | passes | |\n", mv_gate_text(gates, g, text));
        for (const mv_gate_outcome *t = gates->outcomes; t; t = t->next)
            if (t->gate == g && t->text) {
                mv_out_format(out, "| `%s` | %s | ", mv_gate_text(gates, g, text), words[t->kind]);
                put_code(out, t->text);
                mv_out_words(out, " |\n");
            }
    }
    if (gates->asked)
        mv_out_char(out, '\n');
    for (const char *line = page->text; *line;) { /* indentation makes a code block that no text can
                                                   * end */
        size_t length = strcspn(line, "\n");
        mv_out_words(out, length ? "    " : "");
        mv_out_bytes(out, line, length);
        mv_out_char(out, '\n');
        line += length + (line[length] == '\n');
    }
}

/* ---- JUnit ------------------------------------------------------------------------------- */

static void put_xml(mv_out *out, const char *text)
{
    mv_out_flush(out);
    mv_markup_write(&out->sink, MV_MARKUP_SVG, text);
}

static void put_case(const mv_gates *gates, mv_out *out, const char *command, mv_gate gate)
{
    static const char *const tags[] = {"failure", "error", "skipped"};
    char text[MV_GATE_TEXT];
    mv_gate_outcome_kind kind = MV_GATE_OUTCOME_MET;
    const char *first = "";
    bool is_reported = answer_of(gates, gate, &kind, &first);

    mv_out_format(out, "  <testcase classname=\"memviz.%s\" name=\"", command);
    put_xml(out, mv_gate_text(gates, gate, text));
    if (!is_reported) {
        mv_out_words(out, "\"/>\n");
        return;
    }
    mv_out_format(out, "\">\n    <%s message=\"", tags[kind]);
    put_xml(out, first);
    mv_out_words(out, "\">");
    for (const mv_gate_outcome *t = gates->outcomes; t; t = t->next)
        if (t->gate == gate && t->text) {
            put_xml(out, t->text);
            mv_out_char(out, '\n');
        }
    mv_out_format(out, "</%s>\n  </testcase>\n", tags[kind]);
}

static void put_junit(const mv_gate_page *page, mv_cli *cli, int status)
{
    const char *command = cli->command->name;
    const mv_gates *gates = &cli->gates;
    bool is_broken = status == MV_EXIT_FAILED;
    mv_out *out = &cli->out;

    mv_out_format(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "<testsuite name=\"memviz %s\" tests=\"%d\" failures=\"%u\" errors=\"%u\" "
                  "skipped=\"%u\">\n",
                  command, __builtin_popcount(gates->asked) + is_broken,
                  count_of(gates, MV_GATE_OUTCOME_MET),
                  count_of(gates, MV_GATE_OUTCOME_UNKNOWN) + is_broken,
                  count_of(gates, MV_GATE_OUTCOME_WAIVED));
    if (is_broken)
        mv_out_format(out,
                      "  <testcase classname=\"memviz.%s\" name=\"files\">\n    <error "
                      "message=\"a file could not be read\"/>\n  </testcase>\n",
                      command);
    for (mv_gate g = 0; g < MV_GATE_COUNT; g++)
        if (gates->asked & (1u << g))
            put_case(gates, out, command, g);
    mv_out_words(out, "  <system-out>");
    put_xml(out, page->text);
    mv_out_words(out, "</system-out>\n</testsuite>\n</testsuites>\n");
}

void mv_gate_page_end(mv_gate_page *page, mv_cli *cli, int status)
{
    FILE *memory = cli->out.sink.file;

    if (!page->real)
        return;
    mv_out_flush(&cli->out);
    if (fclose(memory) != 0)
        mv_sink_fail(&cli->out.sink);
    cli->out.sink.file = page->real;
    cli->out.sink.bytes = 0;
    if (page->text && (mv_exit_has_report(status) || cli->keeps_report)) {
        if (cli->options.page == MV_PAGE_JUNIT)
            put_junit(page, cli, status);
        else
            put_markdown(page, cli, status);
    }
    free(page->text);
}
