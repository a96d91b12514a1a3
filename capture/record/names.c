#include "capture/record/names.h"

#include <string.h>
#include <sys/prctl.h>

#include "capture/record/process.h"
#include "capture/wire_leb128.h"

/* Kinds of keys in the shared table, besides mv_live_name. */
enum { KEY_LITERAL = 64, KEY_LIBRARY };

static struct {
    mv_id_table ids;
    mv_live_chunk chunk;
    uint32_t strings, codes, modules, frames, stacks;
    uint64_t text_bytes; /* number of bytes of strings from the program itself */
    mv_python_code code; /* the code object being written, which is too large for the program's
                          * stacks */
} names;

bool mv_names_lock(void)
{
    return mv_process_lock(&mv_wiped.names);
}

void mv_names_unlock(void)
{
    mv_process_unlock(&mv_wiped.names);
}

/* Returns the position for the next `most` bytes; NULL: no space. The header of a new chunk
 * contains the numbers of ids made before the chunk. */
static uint8_t *room(uint64_t most)
{
    mv_live_chunk_about about = {.kind = MV_LIVE_NAMES,
                                 .device = names.modules,
                                 .first_row = names.strings | (uint64_t)names.codes << 32,
                                 .table_rows = names.frames | (uint64_t)names.stacks << 32};
    uint8_t *at = names.chunk.memory ? mv_live_chunk_room(&names.chunk, most) : NULL;
    int error;

    if (at || atomic_load(&mv_wiped.state) == MV_RECORDING_STOPPED)
        return at;
    mv_live_chunk_seal(&names.chunk);
    error = mv_live_chunk_begin(&names.chunk, &mv_process.file, most, &about);
    if (error) {
        mv_process_stop(error);
        return NULL;
    }
    return names.chunk.records;
}

static uint8_t *put_text(uint8_t *at, const void *text, size_t bytes)
{
    at = mv_leb128_put(at, bytes);
    if (bytes)
        memcpy(at, text, bytes);
    return at + bytes;
}

/* Writes a record of up to three numbers. */
static bool put_record(mv_live_name kind, uint64_t a, uint64_t b)
{
    uint8_t *at = room(1 + 2 * MV_LEB128_BYTES);

    if (!at)
        return false;
    *at++ = (uint8_t)kind;
    at = mv_leb128_put(at, a);
    if (kind != MV_LIVE_NAME_WORDS)
        at = mv_leb128_put(at, b);
    mv_live_chunk_commit(&names.chunk, at);
    return true;
}

/* Returns the id that a record has just made, which is the next id of its kind. If there is no
 * memory for the key, the name will be written again the next time. */
static uint32_t made(mv_id_key key, uint32_t *next)
{
    uint32_t id = (*next)++;
    mv_id_add(&names.ids, key, id);
    return id;
}

static size_t cut(const char *text, size_t bytes)
{
    if (bytes <= MV_LIVE_MOST_TEXT)
        return bytes;
    bytes = MV_LIVE_MOST_TEXT;
    while (bytes && ((uint8_t)text[bytes] & 0xC0) == 0x80)
        bytes--;
    return bytes;
}

static uint32_t string_at(const void *text, size_t bytes, mv_id_key key)
{
    uint32_t id = mv_id_find(&names.ids, key);
    uint8_t *at;

    if (id != MV_NO_ID)
        return id;
    at = room(1 + MV_LEB128_BYTES + bytes);
    if (!at)
        return MV_NO_ID;
    *at++ = MV_LIVE_NAME_STRING;
    mv_live_chunk_commit(&names.chunk, put_text(at, text, bytes));
    return made(key, &names.strings);
}

/* Returns the id of a string. The caller must hold the lock. */
static uint32_t string(const char *text, size_t bytes)
{
    bytes = cut(text, bytes);
    return string_at(text, bytes, mv_id_key_of(text, bytes, MV_LIVE_NAME_STRING));
}

/* The number of strings is limited, because strings are never removed from a bounded recording. */
uint32_t mv_names_text(const void *text, size_t bytes)
{
    uint64_t window = mv_process.settings.window;
    mv_id_key key;
    uint32_t id;

    bytes = cut(text, bytes);
    key = mv_id_key_of(text, bytes, MV_LIVE_NAME_STRING);
    id = mv_id_find(&names.ids, key);
    if (id != MV_NO_ID || !mv_names_lock())
        return id;
    if (!window || names.text_bytes + bytes <= 2 * window) {
        id = string_at(text, bytes, key);
        names.text_bytes += bytes;
    }
    mv_names_unlock();
    return id;
}

bool mv_names_begin(void)
{
    return string("", 0) == MV_NAMES_EMPTY;
}

/* Returns the string id of `text`, which is stored under `key`. Failures to write the string are
 * counted. */
static uint32_t text_known_as(mv_id_key key, const char *text)
{
    uint32_t id = MV_NO_ID;

    if (mv_names_lock()) {
        id = mv_id_find(&names.ids, key);
        if (id == MV_NO_ID) {
            id = string(text, strlen(text));
            if (id != MV_NO_ID)
                mv_id_add(&names.ids, key, id);
        }
        mv_names_unlock();
    }
    if (id == MV_NO_ID)
        mv_process_lose(MV_LOST_NAMES);
    return id;
}

uint32_t mv_names_literal(const char *text)
{
    mv_id_key key = mv_id_key_of_pair((uintptr_t)text, 0, KEY_LITERAL);
    uint32_t id = mv_id_find(&names.ids, key);

    return id != MV_NO_ID ? id : text_known_as(key, text);
}

uint32_t mv_names_library(const void *caller)
{
    mv_id_key key = mv_id_key_of_pair((uintptr_t)caller, 0, KEY_LIBRARY);
    uint32_t id = mv_id_find(&names.ids, key);
    const mv_module *module;

    if (id != MV_NO_ID)
        return id;
    module = mv_module_at((uintptr_t)caller);
    return module ? text_known_as(key, module->path) : MV_NO_ID;
}

static uint32_t module_id(const mv_module *module)
{
    mv_id_key key = mv_id_key_of_pair((uintptr_t)module, 0, MV_LIVE_NAME_MODULE);
    uint32_t id = mv_id_find(&names.ids, key);
    uint32_t path;
    uint8_t *at;

    if (id != MV_NO_ID)
        return id;
    path = string(module->path, strlen(module->path));
    at = path == MV_NO_ID ? NULL : room(1 + 5 * MV_LEB128_BYTES + module->build_id_bytes);
    if (!at)
        return MV_NO_ID;
    *at++ = MV_LIVE_NAME_MODULE;
    at = mv_leb128_put(at, path);
    at = put_text(at, module->build_id, module->build_id_bytes);
    at = mv_leb128_put(at, module->bias);
    at = mv_leb128_put(at, module->first);
    at = mv_leb128_put(at, module->end);
    mv_live_chunk_commit(&names.chunk, at);
    return made(key, &names.modules);
}

/* Describes a frame's code object. An unreadable code object is given no name, so that the stack
 * keeps its depth. */
static const mv_python_code *described(const mv_python_frame *frame)
{
    mv_python_code *code = &names.code;

    if (mv_python_describe(frame, code)) {
        if (code->table_bytes > MV_LIVE_MOST_TABLE)
            code->table_bytes = 0;
        return code;
    }
    mv_process_lose(MV_LOST_NAMES);
    code->file = code->name = "";
    code->file_bytes = code->name_bytes = code->table_bytes = 0;
    code->first_line = 0;
    return code;
}

static uint32_t code_id(const mv_python_frame *frame)
{
    const uint64_t identity[] = {frame->code, frame->fingerprint, frame->version};
    mv_id_key key = mv_id_key_of(identity, sizeof identity, MV_LIVE_NAME_CODE);
    uint32_t id = mv_id_find(&names.ids, key);
    const mv_python_code *code;
    uint32_t file, name;
    uint8_t *at;

    if (id != MV_NO_ID)
        return id;
    code = described(frame);
    file = string(code->file, code->file_bytes);
    name = string(code->name, code->name_bytes);
    at = room(1 + 5 * MV_LEB128_BYTES + code->table_bytes);
    if (file == MV_NO_ID || name == MV_NO_ID || !at)
        return MV_NO_ID;
    *at++ = MV_LIVE_NAME_CODE;
    at = mv_leb128_put(at, file);
    at = mv_leb128_put(at, name);
    at = mv_leb128_put(at, code->first_line > 0 ? (uint64_t)code->first_line : 0);
    at = mv_leb128_put(at, frame->version);
    at = put_text(at, code->table, code->table_bytes);
    mv_live_chunk_commit(&names.chunk, at);
    return made(key, &names.codes);
}

/* Writes a record of two numbers, which are also its key. */
static uint32_t pair(mv_live_name kind, uint64_t a, uint64_t b, uint32_t *next)
{
    mv_id_key key = mv_id_key_of_pair(a, b, kind);
    uint32_t id = mv_id_find(&names.ids, key);

    if (id == MV_NO_ID && put_record(kind, a, b))
        id = made(key, next);
    return id;
}

uint32_t mv_names_python_frame(const mv_python_frame *frame)
{
    uint32_t code = code_id(frame);

    if (code == MV_NO_ID)
        return MV_NO_ID;
    return pair(MV_LIVE_NAME_PYTHON, code, frame->offset, &names.frames);
}

uint32_t mv_names_native_frame(uint64_t address, const mv_module *module)
{
    uint32_t id;

    if (!module)
        return pair(MV_LIVE_NAME_NATIVE, 0, address, &names.frames);
    id = module_id(module);
    if (id == MV_NO_ID)
        return MV_NO_ID;
    return pair(MV_LIVE_NAME_NATIVE, (uint64_t)id + 1, address - module->bias, &names.frames);
}

uint32_t mv_names_stack(uint32_t caller, uint32_t frame)
{
    return pair(MV_LIVE_NAME_STACK, caller, frame, &names.stacks);
}

void mv_names_thread(mv_thread_block *block)
{
    char words[] = "thread 0123456789abcde", *now = words + strlen("thread ");
    uint32_t name, text, frame = MV_NO_ID;

    if (!mv_is_confined())
        prctl(PR_GET_NAME, now);
    else
        memcpy(now, block->words ? block->name : "unknown", block->words ? sizeof block->name : 8);
    if ((block->words && strcmp(now, block->name) == 0) || !mv_names_lock())
        return;
    name = string(now, strlen(now));
    text = string(words, strlen(words));
    if (name != MV_NO_ID && text != MV_NO_ID && put_record(MV_LIVE_NAME_THREAD, block->id, name))
        frame = pair(MV_LIVE_NAME_WORDS, text, 0, &names.frames);
    if (frame != MV_NO_ID) {
        memcpy(block->name, now, sizeof block->name);
        block->words = frame + 1;
    }
    mv_names_unlock();
}

void mv_names_forked(void)
{
    names.chunk = (mv_live_chunk){0};
}

void mv_names_forget(void)
{
    mv_id_table_clear(&names.ids);
    names.chunk = (mv_live_chunk){0};
    names.strings = names.codes = names.modules = names.frames = names.stacks = 0;
    names.text_bytes = 0;
}
