/* docs/json.md must describe every field in the JSON of every report, and no others. The tables
 * from which reports are printed are compared with the page's rows. */
#include "cli/report/table.h"
#include "tests/fixture/fixture.h"

enum { MOST_FIELDS = 512, MOST_TABLES = 64 };

typedef struct {
    const char *path[MOST_FIELDS];
    const mv_table *met[MOST_TABLES];
    uint32_t count, tables;
} fields;

static void add(fields *to, const char *path)
{
    cr_assert_lt(to->count, MOST_FIELDS, "%s", path);
    to->path[to->count++] = path;
}

/* "at.*" stands for all fields of an object. */
static bool is_of(const char *path, const char *described)
{
    size_t length = strlen(described);

    return described[length - 1] == '*' ? strncmp(path, described, length - 1) == 0
                                        : strcmp(path, described) == 0;
}

static bool is_met(fields *in, const mv_table *table)
{
    for (uint32_t i = 0; i < in->tables; i++)
        if (in->met[i] == table)
            return true;
    cr_assert_lt(in->tables, MOST_TABLES);
    in->met[in->tables++] = table;
    return false;
}

/* Paths in the form that jq uses: sites[].bytes. A table that writes its own fields, or fields
 * named in the file, counts as one field, as does a repeated table. */
static void list_fields(const mv_table *table, const char *before, fields *out)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const mv_field *field = &table->fields[i];
        const mv_table *of = field->table;
        if (!field->key)
            continue;
        const char *path = mvt_format("%s%s", before, field->key);
        if (!of || of->json || of->shape == MV_SHAPE_MAP)
            add(out, path);
        else if (of->shape == MV_SHAPE_VALUES || is_met(out, of))
            add(out, mvt_format("%s[]", path));
        else
            list_fields(of, mvt_format("%s[].", path), out);
    }
}

/* Returns the section whose heading, a list of commands, contains that name. */
static bool find_section(const char *page, const char *name, const char **at, const char **end)
{
    const char *heading = page;
    size_t length = strlen(name);

    while ((heading = strstr(heading, "\n## "))) {
        const char *line_end = strchr(heading + 1, '\n');
        for (const char *word = strstr(heading, name); word && word < line_end;
             word = strstr(word + 1, name))
            if ((word[-1] == ' ' || word[-1] == '`') && strchr(" ,`\n", word[length])) {
                *at = line_end + 1;
                *end = strstr(line_end, "\n## ");
                *end = *end ? *end + 1 : line_end + strlen(line_end);
                return true;
            }
        heading = line_end;
    }
    return false;
}

Test(json_page, the_page_describes_every_field_of_every_report)
{
    const char *page = mvt_text(MV_SOURCE_DIR "/docs/json.md");

    for (const mv_command *command = mv_commands; command->name; command++)
        if (command->report) {
            fields printed = {0}, described = {0};
            const char *at, *end;
            list_fields(command->report, "", &printed);
            if (!find_section(page, command->name, &at, &end)) {
                cr_expect(false, "docs/json.md has no section of %s", command->name);
                at = end = page;
            }
            /* Collect the names in backquotes from the first cells of the tables between two
             * positions on the page. */
            for (const char *line = at; line < end; line = strchr(line, '\n') + 1) {
                const char *cell_end = *line == '|' ? strstr(line + 1, " | ") : NULL;
                const char *open = cell_end ? memchr(line, '`', (size_t)(cell_end - line)) : NULL;
                while (open) {
                    const char *close = strchr(open + 1, '`');
                    cr_assert(close && close < cell_end, "%.60s", line);
                    add(&described,
                        mv_arena_text(mvt_memory(), open + 1, (uint64_t)(close - open - 1)));
                    open = memchr(close + 1, '`', (size_t)(cell_end - close - 1));
                }
            }
            for (uint32_t i = 0; i < printed.count; i++) {
                bool is = false;
                for (uint32_t k = 0; k < described.count && !is; k++)
                    is = is_of(printed.path[i], described.path[k]);
                cr_expect(is, "docs/json.md: %s prints %s, which is missing", command->name,
                          printed.path[i]);
            }
            for (uint32_t k = 0; k < described.count; k++) {
                bool is = false;
                for (uint32_t i = 0; i < printed.count && !is; i++)
                    is = is_of(printed.path[i], described.path[k]);
                cr_expect(is, "docs/json.md: %s does not print %s", command->name,
                          described.path[k]);
            }
        }
}
