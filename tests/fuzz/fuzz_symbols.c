/* libFuzzer target: any bytes as a source of symbols. Bytes that begin like an ELF file are read as
 * one with DWARF, as named in a capture; other bytes are read as the line table of a Python code
 * object, and as a mangled name.
 *
 * Checked: every query is answered in bounded memory, which is all freed, and a line does not
 * depend on other queries. Names are terminated, whether they are UTF-8 or not, and both forms
 * agree. */
#include "parse/symbols/demangle.h"
#include "parse/symbols/python_lines.h"
#include "parse/symbols/symbols.h"
#include "tests/fixture/in_process.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/target.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUERIES = 128, APART = 24, OFFSETS = 64, MOST_NAME = 4096 };

/* The file's own build id, as if this were the loaded file. */
static uint64_t find_id(const uint8_t *data, size_t size, uint8_t id[64])
{
    const void *bits;
    ssize_t length = -1;

    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)data, size);
    if (elf)
        length = dwelf_elf_gnu_build_id(elf, &bits);
    if (length > 0 && length <= 64)
        memcpy(id, bits, (size_t)length);
    if (elf)
        elf_end(elf);
    return length > 0 && length <= 64 ? (uint64_t)length : 0;
}

static void look_up(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_symbol_query queries[QUERIES];
    mv_arena arena;
    mv_symbols found;
    mv_err err = {0};
    uint8_t id[64];
    char path[256];

    mvt_memory_file("module.so", (mv_span){data, size});
    snprintf(path, sizeof path, "%s/module.so", mvt_memory_folder());
    mv_symbol_module module = {.path = path, .build_id = {id, find_id(data, size, id)}};
    for (uint32_t i = 0; i < QUERIES; i++)
        queries[i] = (mv_symbol_query){0, (uint64_t)i * APART};
    queries[QUERIES - 1].address = UINT64_MAX;
    queries[QUERIES - 2].module = MV_NO_ROW;
    mv_arena_init(&arena, &budget);
    if (mv_symbols_resolve(&arena, &module, 1, queries, QUERIES, &found, &err) == MV_OK) {
        for (uint32_t j = 0; j < QUERIES; j++) {
            if (found.first[j] >= found.first[j + 1])
                mvt_stop("query %u has no frame", j);
            for (uint32_t k = found.first[j]; k < found.first[j + 1]; k++)
                if (!found.function[k] || strlen(found.function[k]) > MOST_NAME ||
                    (found.line[k] != MV_NO_LINE && (found.line[k] <= 0 || !found.file[k])))
                    mvt_stop("frame %u of query %u", k, j);
        }
    } else if (err.code != MV_NOMEM && err.code != MV_LIMIT)
        mvt_stop("symbols fail: %s", err.detail);
    mv_arena_release(&arena);
    if (budget.used != 0)
        mvt_stop("memory that was not released");
}

static void read_name(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 1 << 20};
    char *name = malloc(size + 1), into[80];
    mv_arena arena;

    if (!name)
        return;
    memcpy(name, data, size);
    name[size] = 0;
    mv_arena_init(&arena, &budget);
    const char *text = mv_demangle(&arena, name);
    if (!text || strlen(text) > MOST_NAME)
        mvt_stop("a name of %zu bytes", text ? strlen(text) : 0);
    if (mv_demangle_into(name, into, sizeof into) &&
        (strlen(into) >= sizeof into || strncmp(into, text, strlen(into)) != 0))
        mvt_stop("%s is another name than %s", into, text);
    mv_arena_release(&arena);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && memcmp(data,
                            "\x7f"
                            "ELF",
                            4) == 0)
        look_up(data, size);
    else if (size > 2 && data[0] == '_')
        read_name(data, size);
    else if (size > 2) {
        mv_python_lines code = {.version = 3u << 8 | (uint32_t)(7 + data[0] % 9),
                                .first_line = (int8_t)data[1],
                                .table = {data + 2, size - 2}};
        uint32_t offsets[OFFSETS];
        int64_t lines[OFFSETS], line;
        for (uint32_t i = 0; i < OFFSETS; i++)
            offsets[i] = i * 2;
        mv_python_lines_find(&code, offsets, OFFSETS, lines);
        for (uint32_t i = 0; i < OFFSETS; i++) {
            mv_python_lines_find(&code, &offsets[i], 1, &line);
            if (line != lines[i] || (line < 0 && line != MV_NO_LINE))
                mvt_stop("offset %u is in line %lld, or in %lld", offsets[i], (long long)line,
                         (long long)lines[i]);
        }
    }
    return 0;
}
