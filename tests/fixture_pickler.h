/* Pickle opcodes as two writers choose and share them, for tests: CPython's (protocol 4) and
 * torch::jit::Pickler's (protocol 2). They write the same values differently:
 *
 *                       CPython                            C++
 *   keys, constants     one object each: memo              by text: memo
 *   other strings       spelled anew each time (texts      by text: memo
 *                       of one character or none: memo)
 *   memo entry          MEMOIZE behind the opening         PUT behind the complete value
 *   frames, stacks      by identity                        by identity
 *   lists and dicts     in batches of 1000, one item by    one batch, also for none
 *                       APPEND or SETITEM
 *   bytes               in FRAMEs of 64 KiB                plain
 *
 * Facts: CPython Modules/_pickle.c 3.8 to 3.13; PyTorch
 * torch/csrc/jit/serialization/pickler.cpp. */
#ifndef MV_FIXTURE_PICKLER_H
#define MV_FIXTURE_PICKLER_H

#include "parse/intern.h"
#include "parse/trace.h"

/* Strings that PyTorch makes once and shares. */
/* clang-format off */
#define MVT_WORD_LIST(X) \
    X(segments) X(device_traces) X(allocator_settings) X(external_annotations) \
    X(host_segments) X(host_traces) X(device) X(address) X(total_size) X(allocated_size) \
    X(active_size) X(requested_size) X(stream) X(segment_type) X(segment_pool_id) \
    X(is_expandable) X(frames) X(blocks) X(size) X(state) X(history) X(real_size) \
    X(name) X(filename) X(line) X(action) X(addr) X(device_free) X(time_us) \
    X(compile_context) X(user_metadata) X(internal_metadata) X(category) X(pool_id) \
    X(forward_frames) X(cpp_frames) X(stage) X(START) X(END) X(large) X(small) \
    X(inactive) X(active_allocated) X(active_pending_free) X(alloc) X(free_requested) \
    X(free_completed) X(segment_alloc) X(segment_free) X(segment_map) X(segment_unmap) \
    X(oom) X(snapshot) X(annotate) X(fx_node_op) X(fx_node_name) X(fx_node_target) \
    X(fx_original_trace)
/* clang-format on */

typedef enum {
#define MVT_WORD_ENUM(word) WORD_##word,
    MVT_WORD_LIST(MVT_WORD_ENUM)
#undef MVT_WORD_ENUM
        MVT_WORD_COUNT
} mvt_word;

/* A text that is in the memo; its bytes stand in the output. */
typedef struct {
    uint64_t at;
    uint64_t length;
    uint32_t memo; /* entry + 1 */
} mvt_shared_text;

typedef struct {
    mv_arena *arena;
    bool cpp;
    uint8_t *data;
    uint64_t length, capacity;
    uint64_t frame; /* where the open FRAME begins; UINT64_MAX: none is open */
    bool is_framing;
    uint32_t memos;                /* entries so far */
    uint32_t word[MVT_WORD_COUNT]; /* memo entry + 1; 0: not written yet */
    uint32_t empty_list;           /* likewise */
    mv_intern texts;               /* rows of `text` */
    mvt_shared_text *text;
    uint32_t text_count, text_capacity;
} mvt_pickler;

void mvt_pickler_init(mvt_pickler *p, mv_arena *arena, bool cpp);
mv_span mvt_pickler_finish(mvt_pickler *p); /* in the arena */

void mvt_put_op(mvt_pickler *p, uint8_t op);

/* Before every value that the other functions do not begin: CPython ends a frame only there. */
void mvt_begin_value(mvt_pickler *p);

/* An object that may be written again keeps its memo entry + 1 in `*entry`, 0 before the first
 * time; NULL: nobody will ask. mvt_put_again is false when the object has yet to be written. */
bool mvt_put_again(mvt_pickler *p, uint32_t entry);
void mvt_memoize_opened(mvt_pickler *p, uint32_t *entry);
void mvt_memoize_complete(mvt_pickler *p, uint32_t *entry);

void mvt_put_text(mvt_pickler *p, mv_span text);
void mvt_put_word(mvt_pickler *p, mvt_word w);
void mvt_put_name(mvt_pickler *p, const char *name); /* one of the words, found by its text */
void mvt_put_integer(mvt_pickler *p, __int128 value);
void mvt_put_unsigned(mvt_pickler *p, uint64_t value); /* the C++ writer's are signed */
void mvt_put_real(mvt_pickler *p, double value);
void mvt_put_bool(mvt_pickler *p, bool value);

/* `count` decides how CPython fills the container. A dict whose number of keys is not at hand may
 * give MVT_SOME_KEYS when it has between 2 and 999. */
enum { MVT_SOME_KEYS = 2 };
void mvt_open_dict(mvt_pickler *p, uint32_t count, uint32_t *entry);
void mvt_close_dict(mvt_pickler *p, uint32_t count);
void mvt_open_list(mvt_pickler *p, uint32_t count, uint32_t *entry);
void mvt_next_item(mvt_pickler *p, uint32_t i); /* before each, counted from 0 */
void mvt_close_list(mvt_pickler *p, uint32_t count);
void mvt_put_empty_list(mvt_pickler *p); /* the one that all things without a stack share */

#endif
