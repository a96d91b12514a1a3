#include "cli/mcp/tools.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>

#include "base/text.h"
#include "base/texts.h"
#include "cli/report/json.h"
#include "cli/report/table.h"
#include "parse/source/base64.h"

struct mv_mcp_tool {
    const char *name;
    const char *command;   /* name of the command; NULL: none, as in `memviz FILE` */
    const char *word;      /* word after the command; or NULL */
    const char *arguments; /* arguments, in the notation of mv_command; NULL: the command's own */
    const char *about;     /* description; NULL: the command's help text */
    const char *limit;     /* default for --limit; or NULL */
    mv_option_set lacks;   /* MV_HAS bits of options that the tool does not offer, to keep the list
                          * short: they only affect the command's other output, or their default is
                          * right for nearly all files */
    bool is_picture;
};

static const mv_mcp_tool tools[] = {
    {.name = "triage", .command = "triage"},
    {.name = "info", .command = "info", .lacks = MV_HAS(LEVEL)},
    {.name = "stats", .command = "stats"},
    {.name = "leaks", .command = "leaks"},
    {.name = "peak", .command = "peak"},
    {.name = "memory", .command = "memory"},
    {.name = "lines", .command = "lines", .limit = "40"},
    {.name = "fragmentation", .command = "fragmentation", .lacks = MV_HAS(LEVEL)},
    {.name = "oom", .command = "oom"},
    {.name = "whatif", .command = "whatif"},
    {.name = "floor", .command = "floor", .lacks = MV_HAS(LEVEL)},
    {.name = "fit",
     .command = "fit",
     .arguments = "FILE...",
     .about = "peaks at other input sizes; files: PATH=SIZE[,SIZE]"},
    {.name = "diff", .command = "diff"},
    {.name = "ranks", .command = "ranks"},
    {.name = "ledger", .command = "ledger"},
    {.name = "trace", .command = "trace", .limit = "100"},
    {.name = "terms",
     .command = "help",
     .word = "terms",
     .arguments = "[TERM]",
     .about = "the words in the reports: all, or one"},
    {.name = "picture", .command = "trace_plot", .is_picture = true},
    {.name = "flame_graph",
     .command = "memory",
     .about = "live bytes by stack as a picture",
     .lacks = MV_HAS(BY),
     .is_picture = true},
};
enum { TOOLS = sizeof tools / sizeof *tools, MOST_WORDS = 300 };

/* Options that tools accept as arguments. The other options write files, read further files on this
 * machine, or only matter on a terminal. */
#define CHANGE_ARGUMENTS (MV_CHANGE_OPTIONS | MV_HAS(RANKS))
#define REPORT_ARGUMENTS                                                                       \
    (MV_HAS(DEVICE) | MV_HAS(LEVEL) | MV_HAS(LIMIT) | MV_HAS(FROM) | MV_HAS(TO) | MV_HAS(AT) | \
     MV_HAS(TARGET) | MV_HAS(FRAMES) | MV_HAS(CAPACITY) | MV_HAS(CONF) | MV_HAS(BY) |          \
     MV_HAS(TABLE) | MV_HAS(JSON) | MV_HAS(DEPTH) | MV_HAS(FILTER) | MV_HAS(TOP) |             \
     CHANGE_ARGUMENTS)
#define PICTURE_ARGUMENTS                                                                     \
    (MV_HAS(DEVICE) | MV_HAS(LEVEL) | MV_HAS(FROM) | MV_HAS(TO) | MV_HAS(AT) | MV_HAS(VIEW) | \
     MV_HAS(FILTER) | MV_HAS(TOP) | MV_HAS(BY) | MV_HAS(SIZE) | MV_HAS(THEME) | MV_HAS(FRAMES))

const mv_mcp_tool *mv_mcp_tool_find(const char *name)
{
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* ---- arguments of a tool ------------------------------------------------------------------- */

static mv_option_set options_of(const mv_mcp_tool *tool)
{
    const mv_command *command = mv_command_find(tool->command);

    return command->options & (tool->is_picture ? PICTURE_ARGUMENTS : REPORT_ARGUMENTS) &
           ~tool->lacks;
}

#define OPERAND_NAME 32

/* A tool's argument that is a file or a word. */
typedef struct {
    char name[OPERAND_NAME];
    bool is_optional;
    bool is_many;
} operand;

/* Takes the next argument from "BEFORE AFTER", "FILE|FOLDER..." or "[TERM]". Returns false at the
 * end. */
static bool next_operand(const char **arguments, operand *out)
{
    const char *at = *arguments + strspn(*arguments, " ");
    size_t length = strcspn(at, " "), used = 0;

    *out = (operand){.is_optional = *at == '['};
    out->is_many = length > 3 && memcmp(at + length - 3, "...", 3) == 0;
    for (size_t i = *at == '['; i < length && isupper((unsigned char)at[i]); i++)
        if (used + 2 < sizeof out->name)
            out->name[used++] = (char)tolower((unsigned char)at[i]);
    if (out->is_many)
        out->name[used] = 's';
    *arguments = at + length;
    return length > 0;
}

static const char *arguments_of(const mv_mcp_tool *tool)
{
    return tool->arguments ? tool->arguments : mv_command_find(tool->command)->arguments;
}

/* ---- tools/list -------------------------------------------------------------------------- */

static void put_member(mv_out *out, const char *key, const char *text)
{
    mv_out_format(out, ",\"%s\":", key);
    mv_json_put_text(out, mv_text_span(text));
}

static const char *type_of(mv_option_id id)
{
    switch (id) {
    case MV_OPTION_DEVICE:
    case MV_OPTION_LIMIT:
    case MV_OPTION_DEPTH:
    case MV_OPTION_TOP:
    case MV_OPTION_ZERO:
    case MV_OPTION_RANKS:
        return "\"integer\"";
    case MV_OPTION_CONF:
        return "\"array\",\"items\":{\"type\":\"string\"}";
    default:
        return mv_option_table[id].argument ? "\"string\"" : "\"boolean\"";
    }
}

/* An agent pays for the list with tokens in each session, and most tools share most options. So an
 * option is described in a few words, or not at all if its name and type are enough. */
static const char *about_option(const mv_mcp_tool *tool, mv_option_id id)
{
    mv_option_set allowed = mv_command_find(tool->command)->options;

    switch (id) {
    case MV_OPTION_DEVICE:
    case MV_OPTION_LIMIT:
    case MV_OPTION_TOP:
    case MV_OPTION_JSON:
    case MV_OPTION_ONE_STREAM:
    case MV_OPTION_RANKS:
    case MV_OPTION_TO: /* as `from` */
        return NULL;
    case MV_OPTION_FROM: /* as `at`, if the tool has it */
        return (allowed & MV_HAS(AT)) ? NULL : "event, 1.5s or @NAME#K";
    case MV_OPTION_AT:
        return (allowed & MV_HAS(CAPACITY))
                   ? "24 or 24,32"
                   : "peak reserved-peak end oom low, event, 1.5s or @NAME#K";
    case MV_OPTION_CONF:
        return "as in PYTORCH_CUDA_ALLOC_CONF";
    case MV_OPTION_DEPTH:
        return "levels of the tree";
    case MV_OPTION_FILTER:
        return tool->is_picture
                   ? "as in memory"
                   : "text /regex/ size>64M life<10 site:a.py:62 cat:optimizer leak; - negates";
    case MV_OPTION_DROP:
    case MV_OPTION_HALF:
    case MV_OPTION_CHANGE_CPU:
    case MV_OPTION_FREE_EARLY:
    case MV_OPTION_RECOMPUTE:
        return "filter";
    case MV_OPTION_CHANGE_SCALE:
        return "filter=factor";
    case MV_OPTION_PREALLOC:
        return "filter or SIZE";
    case MV_OPTION_ZERO:
        return "1 2 3, with ranks";
    case MV_OPTION_EMPTY_CACHE:
        return "STEP or an annotation";
    case MV_OPTION_TARGET:
        return (allowed & MV_HAS(CONF)) ? "SIZE or oom" : "SIZE";
    case MV_OPTION_CAPACITY:
    case MV_OPTION_SIZE:
        return mv_option_table[id].argument;
    default:
        return mv_option_words(id, allowed) ? mv_option_words(id, allowed)
                                            : mv_option_help(id, allowed);
    }
}

/* Lists the tables of a report, without those nested in another table: "CSV: sites, categories". */
static const char *main_tables(const struct mv_table *report, char out[MV_TABLE_PATHS])
{
    char paths[MV_TABLE_PATHS], *rest = paths;
    const char *before = "CSV: ";

    mv_table_paths(report, paths);
    for (*out = 0; *rest;) {
        size_t length = strcspn(rest, ",");
        if (!memchr(rest, '.', length)) {
            mv_text_append(out, MV_TABLE_PATHS, "%s%.*s", before, (int)length, rest);
            before = ", ";
        }
        rest += length + strspn(rest + length, ", ");
    }
    return out;
}

static void put_option(mv_out *out, const mv_mcp_tool *tool, mv_option_id id)
{
    const char *about = about_option(tool, id);
    char tables[MV_TABLE_PATHS];

    mv_out_format(out, ",\"%s\":{\"type\":%s", mv_option_table[id].name, type_of(id));
    if (id == MV_OPTION_TABLE)
        about = main_tables(mv_command_find(tool->command)->report, tables);
    if (about)
        put_member(out, "description", about);
    mv_out_char(out, '}');
}

static void put_schema(mv_out *out, const mv_mcp_tool *tool)
{
    const char *rest = arguments_of(tool), *before = "";
    mv_option_set options = options_of(tool);
    operand o;

    mv_out_words(out, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
    while (next_operand(&rest, &o)) {
        mv_out_format(out, "%s\"%s\":{\"type\":%s}", before, o.name,
                      o.is_many ? "\"array\",\"items\":{\"type\":\"string\"}" : "\"string\"");
        before = ",";
    }
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (options & MV_OPTION_BIT(i))
            put_option(out, tool, (mv_option_id)i);
    if (!tool->is_picture)
        mv_out_words(out,
                     ",\"offset\":{\"type\":\"integer\"}"); /* the instructions name max_bytes */
    mv_out_words(out, "},\"required\":[");
    rest = arguments_of(tool);
    before = "";
    while (next_operand(&rest, &o)) {
        if (!o.is_optional)
            mv_out_format(out, "%s\"%s\"", before, o.name);
        before = ",";
    }
    mv_out_words(out, "]}");
}

void mv_mcp_put_tools(mv_out *out)
{
    mv_out_words(out, "{\"tools\":[");
    for (size_t i = 0; i < TOOLS; i++) {
        const mv_mcp_tool *t = &tools[i];
        const mv_command *command = mv_command_find(t->command);
        mv_out_format(out, "%s{\"name\":\"%s\"", i ? "," : "", t->name);
        put_member(out, "description", t->about ? t->about : command->summary);
        put_schema(out, t);
        mv_out_words(out, ",\"annotations\":{\"readOnlyHint\":true}}");
    }
    mv_out_words(out, "]}");
}

/* ---- tools/call: from arguments to words ------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    const mv_mcp_tool *tool;
    char *words[MOST_WORDS];
    int count;
    uint64_t offset, max_bytes;
    bool has_limit, is_json, ran_out_of_memory;
    const char *why; /* what is wrong with the arguments; NULL: no error so far */
} call;

__attribute__((format(printf, 2, 3))) static void refuse(call *c, const char *format, ...)
{
    va_list args;
    char *why;

    if (c->why)
        return;
    va_start(args, format);
    why = mv_arena_vprintf(c->arena, format, args);
    va_end(args);
    c->ran_out_of_memory |= !why;
    if (why)
        mv_utf8_sanitize(why); /* the message quotes the request */
    c->why = why;
}

static void add_word(call *c, char *word)
{
    c->ran_out_of_memory |= !word;
    if (c->count + 1 < MOST_WORDS) /* the list ends in NULL */
        c->words[c->count++] = word;
    else
        refuse(c, "too many arguments");
}

bool mv_mcp_is_number(const cJSON *value)
{
    return cJSON_IsNumber(value) && isfinite(value->valuedouble);
}

const char *mv_mcp_number(char out[MV_MCP_NUMBER], const cJSON *number)
{
    double value = number->valuedouble;
    bool is_whole = value == floor(value) && fabs(value) < 0x1p53;

    snprintf(out, MV_MCP_NUMBER, is_whole ? "%.0f" : "%.17g", value);
    return out;
}

/* Returns the string or number argument with this name as text. Returns NULL for any other type,
 * which is rejected. */
static const char *text_of(call *c, const cJSON *value, const char *name)
{
    char number[MV_MCP_NUMBER];

    if (cJSON_IsString(value))
        return value->valuestring;
    if (mv_mcp_is_number(value)) {
        mv_mcp_number(number, value);
        return mv_arena_text(c->arena, number, strlen(number));
    }
    refuse(c, "%s: expected a string or a number", name);
    return NULL;
}

static void take_number(call *c, const cJSON *value, const char *name, uint64_t least,
                        uint64_t most, uint64_t *out)
{
    const char *text = text_of(c, value, name);

    if (text && (!mv_number_read(text, out) || *out < least || *out > most))
        refuse(c, "%s: expected a number from %llu to %llu", name, (unsigned long long)least,
               (unsigned long long)most);
}

static void take_option(call *c, mv_option_id id, const cJSON *value)
{
    const mv_option *o = &mv_option_table[id];
    bool is_list = (MV_OPTION_BIT(id) & (MV_HAS(CONF) | CHANGE_ARGUMENTS)) && cJSON_IsArray(value);
    const char *text;

    c->has_limit |= id == MV_OPTION_LIMIT;
    c->is_json |= id == MV_OPTION_JSON && cJSON_IsTrue(value);
    if (!o->argument) {
        if (cJSON_IsTrue(value))
            add_word(c, mv_arena_printf(c->arena, "--%s", o->name));
        else if (!cJSON_IsFalse(value))
            refuse(c, "%s: expected true or false", o->name);
        return;
    }
    if (id == MV_OPTION_TABLE)
        add_word(c, mv_arena_text(c->arena, "--csv", 5));
    for (const cJSON *v = is_list ? value->child : value; v && !c->why; v = v->next) {
        text = text_of(c, v, o->name);
        if (text)
            add_word(c, mv_arena_printf(c->arena, "--%s=%s", o->name, text));
        if (!is_list)
            break;
    }
}

static bool is_key(const cJSON *member, const char *key)
{
    return strcmp(member->string, key) == 0;
}

/* Returns the singular name: "file" for "files". Agents pass a single path this way, as they do for
 * tools that take one file. */
static const char *one_of(const operand *o, char one[OPERAND_NAME])
{
    snprintf(one, OPERAND_NAME, "%.*s", (int)strlen(o->name) - 1, o->name);
    return one;
}

static bool takes_words(const mv_mcp_tool *tool)
{
    return mv_command_find(tool->command)->takes_words;
}

static bool is_operand(const mv_mcp_tool *tool, const cJSON *member)
{
    const char *rest = arguments_of(tool);
    char one[OPERAND_NAME];
    operand o;

    while (next_operand(&rest, &o))
        if (is_key(member, o.name) || (o.is_many && is_key(member, one_of(&o, one))))
            return true;
    return is_key(member, "files") && !takes_words(tool);
}

/* Returns a file argument of a tool that gives each of its files a name: the argument with that
 * name, or else element `number` of `files`. */
static const cJSON *operand_value(const cJSON *arguments, const operand *o, int number)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(arguments, o->name), *files;
    char one[OPERAND_NAME];

    if (value)
        return value;
    if (o->is_many)
        return cJSON_GetObjectItemCaseSensitive(arguments, one_of(o, one));
    files = cJSON_GetObjectItemCaseSensitive(arguments, "files");
    if (cJSON_IsArray(files))
        return cJSON_GetArrayItem(files, number);
    return number == 0 ? files : NULL;
}

/* "file, json, device, ..." */
static const char *list_arguments(const mv_mcp_tool *tool, char *out, uint32_t size)
{
    const char *rest = arguments_of(tool), *before = "";
    mv_option_set options = options_of(tool);
    operand o;

    for (*out = 0; next_operand(&rest, &o); before = ", ")
        mv_text_append(out, size, "%s%s", before, o.name);
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if (options & MV_OPTION_BIT(i)) {
            mv_text_append(out, size, "%s%s", before, mv_option_table[i].name);
            before = ", ";
        }
    if (!tool->is_picture)
        mv_text_append(out, size, ", offset, max_bytes");
    return out;
}

static void take_argument(call *c, const cJSON *member)
{
    mv_option_set options = options_of(c->tool);
    char all[400];

    if (is_operand(c->tool, member))
        return;
    for (uint32_t i = 0; i < MV_OPTION_COUNT; i++)
        if ((options & MV_OPTION_BIT(i)) && is_key(member, mv_option_table[i].name)) {
            take_option(c, (mv_option_id)i, member);
            return;
        }
    if (!c->tool->is_picture && is_key(member, "offset"))
        take_number(c, member, "offset", 0, UINT32_MAX, &c->offset);
    else if (!c->tool->is_picture && is_key(member, "max_bytes"))
        take_number(c, member, "max_bytes", MV_MCP_TEXT_LEAST, MV_MCP_TEXT_MOST, &c->max_bytes);
    else
        refuse(c, "%s has no argument '%.60s'; it has: %s", c->tool->name, member->string,
               list_arguments(c->tool, all, sizeof all));
}

static void take_operand(call *c, const operand *o, const cJSON *value)
{
    bool is_list = o->is_many && value && cJSON_IsArray(value);
    const char *text;

    if (!value || (is_list && !value->child)) {
        if (!o->is_optional)
            refuse(c, "%s: expected the path of a snapshot", o->name);
        return;
    }
    for (const cJSON *v = is_list ? value->child : value; v && !c->why; v = v->next) {
        text = text_of(c, v, o->name);
        if (text && strcmp(text, "-") == 0)
            refuse(c, "%s: standard input carries the requests: name a file", o->name);
        else if (text)
            add_word(c, mv_arena_text(c->arena, text, strlen(text)));
        if (!is_list)
            break;
    }
}

static void read_arguments(call *c, const cJSON *arguments)
{
    const char *rest = arguments_of(c->tool);
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(arguments, "files");
    bool takes_many = false;
    int number = 0;
    operand o;

    if (c->tool->command)
        add_word(c, mv_arena_text(c->arena, c->tool->command, strlen(c->tool->command)));
    if (arguments && !cJSON_IsObject(arguments))
        refuse(c, "arguments: expected an object");
    for (const cJSON *m = arguments && cJSON_IsObject(arguments) ? arguments->child : NULL;
         m && !c->why; m = m->next)
        take_argument(c, m);
    if (c->tool->limit && !c->has_limit)
        add_word(c, mv_arena_printf(c->arena, "--limit=%s", c->tool->limit));
    add_word(c, mv_arena_text(c->arena, "--", 2));
    if (c->tool->word)
        add_word(c, mv_arena_text(c->arena, c->tool->word, strlen(c->tool->word)));
    for (; !c->why && next_operand(&rest, &o); number++) {
        takes_many |= o.is_many;
        take_operand(c, &o, operand_value(arguments, &o, number));
    }
    if (!takes_many && cJSON_GetArraySize(files) > number)
        refuse(c, "%s takes %d file%s, not %d: triage and ranks take several", c->tool->name,
               number, mv_plural((uint64_t)number), cJSON_GetArraySize(files));
}

/* ---- tools/call: from a report to an answer ---------------------------------------------- */

/* Returns as many lines as fit, starting at `offset`, but at least one. A line longer than the
 * limit is cut. */
static const char *cut(call *c, mv_span text, mv_span *shown)
{
    const uint8_t *at = text.data, *end = text.data + text.length, *from;
    uint64_t line = 0, first = c->offset, lines = 0;

    for (const uint8_t *p = at; p < end; p++)
        lines += *p == '\n' || p + 1 == end;
    for (; line < first && at < end; line++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    from = at;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        const uint8_t *next = stop ? stop + 1 : end;
        if ((uint64_t)(next - from) > c->max_bytes)
            break;
        at = next;
        line++;
    }
    if (at == from && at < end) { /* never cuts inside a character */
        at += c->max_bytes;
        while (at > from && mv_utf8_is_tail((char)*at))
            at--;
        line++;
    }
    *shown = (mv_span){from, (uint64_t)(at - from)};
    if (at == end && first == 0)
        return NULL;
    if (first >= lines)
        return mv_arena_printf(c->arena, "[the answer has %llu lines: nothing from offset %llu on]",
                               (unsigned long long)lines, (unsigned long long)first);
    if (line >= lines)
        return mv_arena_printf(c->arena, "[lines %llu to %llu, the last, of %llu]",
                               (unsigned long long)first, (unsigned long long)lines - 1,
                               (unsigned long long)lines);
    return mv_arena_printf(c->arena,
                           "[lines %llu to %llu of %llu; for more call again with offset %llu, or "
                           "request less: limit, from and to, device, table]",
                           (unsigned long long)first, (unsigned long long)line - 1,
                           (unsigned long long)lines, (unsigned long long)line);
}

/* Returns the messages that the program printed in addition to its report, without "memviz: ". */
static mv_span messages_of(mv_span messages)
{
    static const char name[] = "memviz: ";
    uint64_t skip =
        messages.length >= sizeof name - 1 && memcmp(messages.data, name, sizeof name - 1) == 0
            ? sizeof name - 1
            : 0;

    if (skip > 0)
        messages = (mv_span){messages.data + skip, messages.length - skip};
    if (messages.length > MV_MCP_TEXT_LEAST)
        messages.length = MV_MCP_TEXT_LEAST;
    while (messages.length > 0 && messages.data[messages.length - 1] == '\n')
        messages.length--;
    return messages;
}

static void shape(call *c, const mv_mcp_ran *ran, mv_mcp_result *out)
{
    bool failed = !mv_exit_has_report(ran->status);
    mv_span messages = messages_of(ran->messages);

    *out = (mv_mcp_result){.is_error = failed};
    if (failed && ran->out.length == 0) {
        out->text = messages.length ? messages : mv_text_span("the report failed");
    } else if (c->tool->is_picture) {
        out->picture = ran->out;
        out->text = messages;
    } else if (c->is_json && ran->out.length > c->max_bytes) {
        out->is_error = true;
        out->note = mv_arena_printf(
            c->arena,
            "the JSON is %llu bytes long: request less with limit, device or table, or use %s",
            (unsigned long long)ran->out.length,
            ran->out.length > MV_MCP_TEXT_MOST ? "text with offset" : "max_bytes");
    } else {
        out->note = cut(c, ran->out, &out->text);
        if (messages.length)
            out->note = mv_arena_printf(c->arena, "%s%s%.*s", out->note ? out->note : "",
                                        out->note ? "\n" : "", (int)messages.length,
                                        (const char *)messages.data);
    }
}

mv_code mv_mcp_call(mv_mcp *mcp, mv_arena *arena, const mv_mcp_tool *tool, const cJSON *arguments,
                    mv_mcp_result *out, mv_err *err)
{
    call *c = mv_push_struct(arena, call);
    mv_mcp_ran ran = {0};

    if (!c)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "memory limit reached");
    *c = (call){.arena = arena, .tool = tool, .max_bytes = MV_MCP_TEXT};
    read_arguments(c, arguments);
    if (c->ran_out_of_memory)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "memory limit reached");
    if (c->why) {
        *out = (mv_mcp_result){.is_error = true, .text = mv_text_span(c->why)};
        return MV_OK;
    }
    if (mcp->run(mcp->user, arena, c->words, c->count, tool->is_picture, &ran, err) != MV_OK)
        return err->code;
    shape(c, &ran, out);
    return MV_OK;
}

static void put_text(mv_out *out, mv_span text)
{
    mv_out_words(out, "{\"type\":\"text\",\"text\":");
    mv_json_put_text(out, text);
    mv_out_char(out, '}');
}

void mv_mcp_put_result(mv_out *out, const mv_mcp_result *result)
{
    const char *before = "";

    mv_out_words(out, "{\"content\":[");
    if (result->picture.length) {
        mv_out_words(out, "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"");
        mv_out_flush(out);
        mv_base64_write(&out->sink, result->picture.data, result->picture.length);
        mv_out_words(out, "\"}");
        before = ",";
    }
    if (result->text.length) {
        mv_out_words(out, before);
        put_text(out, result->text);
        before = ",";
    }
    if (result->note) {
        mv_out_words(out, before);
        put_text(out, mv_text_span(result->note));
    }
    mv_out_format(out, "],\"isError\":%s}", result->is_error ? "true" : "false");
}
