#include "tests/programs/fixed_stack.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 64, MODULES = 17, MODULE_BITS = 20 };

static _Thread_local struct {
    uint32_t count, native_count;
    mv_python_frame frames[MOST];
    uint64_t native[MOST];
} now;

void stand_stack_set(uint32_t count, const uint32_t *codes, const uint32_t *offsets)
{
    now.count = count;
    for (uint32_t i = 0; i < count; i++)
        now.frames[i] = (mv_python_frame){.code = 0x1000 + 64 * (uint64_t)codes[i],
                                          .fingerprint = codes[i],
                                          .offset = offsets[i],
                                          .version = 3 << 8 | 11};
}

void stand_stack_set_native(uint32_t count, const uint64_t *addresses)
{
    now.native_count = count;
    memcpy(now.native, addresses, count * sizeof *addresses);
}

bool mv_python_ready(void)
{
    return true;
}

uint32_t mv_python_walk(mv_python_frame *frames, uint32_t most)
{
    uint32_t count = now.count < most ? now.count : most;
    memcpy(frames, now.frames, count * sizeof *frames);
    return count;
}

bool mv_python_describe(const mv_python_frame *frame, mv_python_code *out)
{
    static const uint8_t table[256] = {1, 2, 3};

    snprintf(out->text[0], sizeof out->text[0], "f%u", (unsigned)frame->fingerprint);
    out->file = "model.py";
    out->name = out->text[0];
    out->file_bytes = sizeof "model.py" - 1;
    out->name_bytes = (uint32_t)strlen(out->text[0]);
    out->first_line = 10 * (int32_t)frame->fingerprint;
    out->table = table;
    out->table_bytes = (uint32_t)frame->fingerprint % sizeof table;
    return true;
}

const char *mv_python_why_off(void)
{
    return NULL;
}

const char *mv_python_version(void)
{
    return "3.11.2";
}

void mv_loader_begin(void)
{
}

bool mv_native_start(void)
{
    return true;
}

uint32_t mv_native_walk(mv_native_past *past, uint64_t *addresses, uint32_t most)
{
    (void)past;
    uint32_t count = now.native_count < most ? now.native_count : most;
    memcpy(addresses, now.native, count * sizeof *addresses);
    return count;
}

const char *mv_native_unwinder(void)
{
    return "stand-in";
}

const mv_module *mv_python_module(void)
{
    return NULL;
}

static mv_module modules[MODULES];

__attribute__((constructor)) static void make_modules(void)
{
    static char paths[MODULES][24];

    for (unsigned n = 1; n < MODULES; n++) {
        snprintf(paths[n], sizeof paths[n], "/lib/lib%u.so", n);
        modules[n] = (mv_module){.path = paths[n],
                                 .build_id = {(uint8_t)n, 0xAB},
                                 .build_id_bytes = 2,
                                 .bias = (uint64_t)n << MODULE_BITS,
                                 .first = (uint64_t)n << MODULE_BITS,
                                 .end = (uint64_t)(n + 1) << MODULE_BITS};
    }
    modules[MODULES - 1].path = "/lib/libnccl.so";
}

const mv_module *mv_module_at(uint64_t address)
{
    uint64_t n = address >> MODULE_BITS;

    return n > 0 && n < MODULES ? &modules[n] : NULL;
}
