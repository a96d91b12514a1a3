#include "analyze/peak/rules.h"

#include <stdio.h>

#include "base/texts.h"

/* Only this many bytes of a frame's string are matched. */
#define FRAME_MOST 2048

/* A line of the file, without leading and trailing blanks. */
typedef struct {
    const char *text;
    size_t length;
    unsigned number; /* line number, counted from 1 */
} rule_line;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static rule_line trim(rule_line line)
{
    while (line.length && is_blank(line.text[line.length - 1]))
        line.length--;
    while (line.length && is_blank(*line.text)) {
        line.text++;
        line.length--;
    }
    return line;
}

/* Splits a line into its regex and its category. */
static bool split(rule_line line, rule_line *regex, rule_line *name)
{
    size_t at = line.length;
    bool has_tab = memchr(line.text, '\t', line.length) != NULL;

    while (at > 0 && !(has_tab ? line.text[at - 1] == '\t' : is_blank(line.text[at - 1])))
        at--;
    *name = trim((rule_line){line.text + at, line.length - at, line.number});
    *regex = trim((rule_line){line.text, at, line.number});
    return regex->length > 0 && name->length > 0;
}

static bool is_name(rule_line name)
{
    for (size_t i = 0; i < name.length; i++)
        if ((unsigned char)name.text[i] < ' ' || name.text[i] == 127)
            return false;
    return name.length <= MV_RULE_NAME_MOST;
}

static bool add_rule(mv_arena *arena, mv_rules *rules, rule_line line, char *why, uint32_t size)
{
    rule_line regex, name;
    const char *reason;

    if (!split(line, &regex, &name)) {
        snprintf(why, size, "line %u: expected a regular expression and a category", line.number);
        return false;
    }
    if (!is_name(name) || rules->count == MV_RULES_MOST) {
        snprintf(why, size, "line %u: %s", line.number,
                 is_name(name) ? "too many rules" : "the category's name is too long or not text");
        return false;
    }
    rules->name[rules->count] = mv_arena_text(arena, name.text, name.length);
    rules->regex[rules->count] =
        mv_pattern_read(arena, (mv_span){(const uint8_t *)regex.text, regex.length}, &reason);
    if (!rules->regex[rules->count] || !rules->name[rules->count]) {
        snprintf(why, size, "line %u: %s", line.number,
                 rules->regex[rules->count] ? mv_code_text(MV_NOMEM) : reason);
        return false;
    }
    rules->count++;
    return true;
}

bool mv_rules_read(mv_arena *arena, mv_span text, mv_rules *out, char *why, uint32_t why_size)
{
    const char *at = (const char *)text.data, *end = at + text.length;
    unsigned number = 0;

    *out = (mv_rules){.regex = mv_push_array(arena, const mv_pattern *, MV_RULES_MOST),
                      .name = mv_push_array(arena, const char *, MV_RULES_MOST)};
    if (!out->regex || !out->name) {
        snprintf(why, why_size, "%s", mv_code_text(MV_NOMEM));
        return false;
    }
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        rule_line line = {at, (size_t)((stop ? stop : end) - at), ++number};
        at += line.length + 1;
        line = trim(line);
        if (line.length == 0 || *line.text == '#')
            continue;
        if (!add_rule(arena, out, line, why, why_size))
            return false;
    }
    return true;
}

static uint32_t first_match(const mv_rules *rules, mv_span text)
{
    for (uint32_t i = 0; i < rules->count; i++)
        if (mv_pattern_is_in(rules->regex[i], text))
            return i;
    return MV_NO_ROW;
}

uint32_t *mv_rules_match(mv_arena *arena, const mv_rules *rules, const mv_trace *trace)
{
    const mv_frames *f = &trace->frames;
    uint32_t *rule = mv_push_array(arena, uint32_t, f->count);
    char text[FRAME_MOST];

    if (!rule)
        return NULL;
    for (uint32_t i = 0; i < f->count; i++) {
        snprintf(text, sizeof text, "%s:%lld %s", mv_string_text(trace, f->file[i]),
                 (long long)f->line[i], mv_string_text(trace, f->function[i]));
        rule[i] = first_match(rules, mv_text_span(text));
    }
    return rule;
}
