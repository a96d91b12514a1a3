/* Errors in texts: 61 sentences from PyTorch 1.0 to 2.14 with their arithmetic, which
 * testdata/errors/README.md explains; the same sentences as loggers break them up; and sentences
 * about random truths. */
#include "analyze/oom_text/oom_text.h"
#include "base/numbers.h"
#include "parse/source/text_file.h"
#include "tests/fixture/fixture_test.h"

static mv_error_texts texts_in(const char *text, size_t length)
{
    mv_error_texts found;

    mvt_ok(mv_error_texts_in(mvt_memory(), (mv_span){(const uint8_t *)text, length}, &found,
                             mvt_err()));
    return found;
}

static mv_error_texts texts_of(const char *text)
{
    return texts_in(text, strlen(text));
}

static mv_oom_text explain(const mv_error_text *text)
{
    mv_oom_text out;

    mvt_ok(mv_oom_text_find(mvt_memory(), text, &out, mvt_err()));
    return out;
}

/* Returns the only error in a text. */
static mv_oom_text only(const char *text)
{
    mv_error_texts found = texts_of(text);

    cr_assert_eq(found.count, 1, "%u errors in: %s", found.count, text);
    return explain(&found.rows[0]);
}

/* ---- sentences and their results ------------------------------------------------------ */

typedef struct {
    const char *name, *verdict, *refuser, *text;
    int64_t device;
    const char *sizes; /* Parses "requested=LEAST..MOST ...". */
} sentence;

enum { MOST_SENTENCES = 100 };

/* Cuts the next field out of a line. */
static char *field(char **at, const char *end)
{
    char *from = *at + strspn(*at, " "), *to = strstr(from, end);

    if (!to)
        to = from + strlen(from);
    *at = *to ? to + strlen(end) : to;
    *to = 0;
    return from;
}

static uint32_t read_sentences(sentence *out)
{
    uint32_t count = 0;
    mv_span file;

    mvt_ok(mv_text_file_read(mvt_memory(), MV_TESTDATA "/errors/sentences.txt", &file, mvt_err()));
    char *at = strstr((char *)(uintptr_t)file.data, "@ ") + 2;
    while (at && *at) {
        sentence *s = &out[count++];
        char *next = strstr(at, "\n@ "), *line = at;
        cr_assert_lt(count, MOST_SENTENCES);
        if (next)
            *next = 0;
        s->text = strchr(at, '\n') + 1;
        *strchr(at, '\n') = 0;
        s->name = field(&line, " | ");
        s->verdict = field(&line, " ");
        s->refuser = field(&line, " ");
        s->device = strtoll(field(&line, " "), NULL, 10);
        s->sizes = line;
        at = next ? next + 3 : NULL;
    }
    return count;
}

static mv_printed_size size_by_name(const mv_oom_text *t, const char *name, size_t length)
{
    static const char *const names[] = {
#define NAME(id, field) field,
        MV_ERROR_SIZE_LIST(NAME)
#undef NAME
    };

    if (length == 6 && memcmp(name, "others", 6) == 0)
        return t->others;
    if (length == 7 && memcmp(name, "outside", 7) == 0)
        return t->outside;
    if (length == 7 && memcmp(name, "process", 7) == 0)
        return t->process;
    if (length == 11 && memcmp(name, "not_pytorch", 11) == 0)
        return t->not_pytorch;
    for (uint32_t i = 0; i < MV_ERROR_SIZE_COUNT; i++)
        if (strlen(names[i]) == length && memcmp(name, names[i], length) == 0)
            return t->text->size[i];
    cr_assert(false, "no size %.*s", (int)length, name);
    return (mv_printed_size){0};
}

static void expect_sentence(const sentence *s, const char *text, const char *how)
{
    mv_error_texts found = texts_of(text);

    cr_expect_eq(found.count, 1, "%s%s: %u errors in: %s", s->name, how, found.count, text);
    if (found.count != 1)
        return;
    mv_oom_text t = explain(&found.rows[0]);
    cr_expect_str_eq(mv_text_verdict_name(t.verdict), s->verdict, "%s%s: %s", s->name, how, t.why);
    cr_expect_str_eq(mv_text_refuser(&t), s->refuser, "%s%s", s->name, how);
    cr_expect_eq(t.text->device, s->device, "%s%s: device %lld", s->name, how,
                 (long long)t.text->device);
    for (const char *at = s->sizes; *at;) {
        size_t name = strcspn(at, "=");
        mv_printed_size size = size_by_name(&t, at, name);
        const char *p = at + name + 1;
        uint64_t least = 0, most = 0;
        cr_assert(mv_number_take(&p, 10, &least) && (p += 2) && mv_number_take(&p, 10, &most));
        cr_expect(size.least == least && size.most == most,
                  "%s%s: %.*s is %llu to %llu, not %llu to %llu", s->name, how, (int)name, at,
                  (unsigned long long)size.least, (unsigned long long)size.most,
                  (unsigned long long)least, (unsigned long long)most);
        cr_expect(size.least <= size.bytes && size.bytes <= size.most);
        at = p + strspn(p, " ");
    }
    cr_expect(*t.why && *t.advice);
}

Test(oom_text, sentences_of_every_release_add_up)
{
    sentence sentences[MOST_SENTENCES];
    uint32_t count = read_sentences(sentences);

    cr_assert_geq(count, 60);
    for (uint32_t i = 0; i < count; i++)
        expect_sentence(&sentences[i], sentences[i].text, "");
}

/* Breaks the sentence every `width` bytes, with `prefix` before each line (a # in it becomes a
 * digit that changes), and with colours on every other line. */
static const char *torn(const char *text, size_t width, const char *prefix)
{
    static char out[16 << 10];
    size_t used = 0, column = width;
    uint32_t line = 0;

    for (; *text; text++) {
        if (column == width) {
            used += (size_t)snprintf(out + used, sizeof out - used, "%s", used ? "\n" : "");
            for (const char *p = prefix; *p; p++)
                out[used++] = *p == '#' ? (char)('0' + (line * 7 + 3) % 10) : *p;
            if (line++ % 2)
                used += (size_t)snprintf(out + used, sizeof out - used, "\x1b[1;31m");
            column = 0;
        }
        out[used++] = *text;
        column = *text == '\n' ? width : column + 1;
        if (*text == '\n')
            used--;
    }
    out[used] = 0;
    return out;
}

Test(oom_text, torn_sentences_are_read_as_whole_ones)
{
    static const char *const prefixes[] = {
        "",
        "[rank3]: ",
        "# ",
        "(EngineCore_DP0 pid=12#4) ERROR 11-28 09:00:0# [core.py:70#] ",
        "2026-11-28T10:1#:0#.1#7Z worker-7  | ",
        "[1,0]<stderr>:",
        "    "};
    sentence sentences[MOST_SENTENCES];
    uint32_t count = read_sentences(sentences);

    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
            size_t width = 41 + (i * 13 + k * 29) % 80; /* no break within the first words */
            const char *how = mvt_format(", %zu columns after '%s'", width, prefixes[k]);
            if (strstr(sentences[i].text, "out of memory") &&
                width <
                    (size_t)(strstr(sentences[i].text, "out of memory") - sentences[i].text) + 30)
                width += 60;
            expect_sentence(&sentences[i], torn(sentences[i].text, width, prefixes[k]), how);
        }
}

Test(oom_text, sentences_in_code_and_json_are_read)
{
    mv_oom_text t = only("{\"log\": \"torch.OutOfMemoryError: Allocation on device 2 would exceed "
                         "allowed memory. (out of memory)\\nCurrently allocated     : 1.50 GiB"
                         "\\nRequested               : 2.00 MiB\\nDevice limit            : "
                         "2.00 GiB\\nFree (according to CUDA): 0 bytes\\nPyTorch limit\"}");

    cr_expect_eq(t.text->device, 2);
    cr_expect_eq(t.text->size[MV_ERROR_ALLOCATED].bytes, 3 * GIB / 2);
    t = only(
        "MESSAGE = (\n    \"CUDA out of memory. Tried to allocate 18.63 GiB. GPU 0 has a total \"\n"
        "    \"capacity of 45.00 GiB of which 43.66 GiB is free. Process 1459 has \"\n"
        "    \"17179869184.00 GiB memory in use. 2.25 GiB allowed; Of \"\n"
        "    \"the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by "
        "\"\n"
        "    \"PyTorch but unallocated.\")\n");
    cr_expect_eq(t.verdict, MV_TEXT_LIMIT);
    cr_expect(t.text->hides_processes);
    cr_expect(!mv_size_is_printed(t.process));
}

/* ---- random truths ------------------------------------------------------------------------ */

static uint64_t seed;

static uint64_t chance(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 11) % below;
}

/* Formats a size as c10's format_size does. */
static const char *format_size(uint64_t bytes)
{
    if (bytes <= 1024)
        return mvt_format("%llu bytes", (unsigned long long)bytes);
    if (bytes <= MIB)
        return mvt_format("%.2f KiB", (double)bytes / 1024.0);
    if (bytes <= GIB)
        return mvt_format("%.2f MiB", (double)bytes / 1048576.0);
    return mvt_format("%.2f GiB", (double)bytes / 1073741824.0);
}

typedef struct {
    uint64_t tensor, segment, free, allocated, unallocated, own, others, limit; /* 0: no limit */
} truth;

/* Returns a size around a few KiB, MiB or GiB. */
static uint64_t some(void)
{
    return chance(UINT64_C(1) << (9 + chance(27))) & ~UINT64_C(511);
}

static truth random_truth(void)
{
    truth t = {.tensor = 512 + some(),
               .free = some(),
               .allocated = some(),
               .unallocated = some(),
               .own = 300 * MIB + some(),
               .others = chance(2) ? some() : 0};

    t.segment = t.tensor <= MIB       ? 2 * MIB
                : t.tensor < 10 * MIB ? 20 * MIB
                                      : (t.tensor + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    if (chance(3) == 0)
        t.limit = t.allocated + t.unallocated + some();
    return t;
}

static const char *sentence_of(const truth *t, bool is_new)
{
    uint64_t reserved = t->allocated + t->unallocated;
    uint64_t capacity = t->free + reserved + t->own + t->others;
    const char *limit = t->limit ? mvt_format("%s allowed; ", format_size(t->limit)) : "";
    const char *other =
        t->others ? mvt_format("Process 7 has %s memory in use. ", format_size(t->others)) : "";

    if (is_new)
        return mvt_format(
            "CUDA out of memory. Tried to allocate %s. GPU 0 has a total capacity of %s of "
            "which %s is free. %sIncluding non-PyTorch memory, this process has %s memory in "
            "use. %sOf the allocated memory %s is allocated by PyTorch, and %s is reserved by "
            "PyTorch but unallocated.",
            format_size(t->segment), format_size(capacity), format_size(t->free), other,
            format_size(reserved + t->own), limit, format_size(t->allocated),
            format_size(t->unallocated));
    return mvt_format(
        "CUDA out of memory. Tried to allocate %s (GPU 0; %s total capacity; %s already "
        "allocated; %s free; %s%s reserved in total by PyTorch)",
        format_size(t->segment), format_size(capacity), format_size(t->allocated),
        format_size(t->free), limit, format_size(reserved));
}

static void expect_within(mv_printed_size size, uint64_t bytes, const char *what, const char *text)
{
    cr_expect(!mv_size_is_printed(size) || (size.least <= bytes && bytes <= size.most),
              "%s: %llu is not within %llu to %llu: %s", what, (unsigned long long)bytes,
              (unsigned long long)size.least, (unsigned long long)size.most, text);
}

static bool excludes(const mv_oom_text *t, const char *cause)
{
    for (uint32_t i = 0; i < t->excluded_count; i++)
        if (strcmp(t->excluded[i], cause) == 0)
            return true;
    return false;
}

Test(oom_text, no_answer_contradicts_the_truth)
{
    uint32_t verdicts[MV_TEXT_VERDICT_COUNT] = {0};

    seed = 20261128;
    for (uint32_t i = 0; i < 600; i++) {
        truth t = random_truth();
        const char *text = sentence_of(&t, i % 2);
        if (t.free >= t.segment && !t.limit)
            continue;
        /* Nothing in the report may contradict the truth from which the sentence was printed. */
        mv_oom_text o = only(text);
        uint64_t reserved = t.allocated + t.unallocated;
        uint64_t capacity = t.free + reserved + t.own + t.others;
        bool is_over = t.limit && reserved + t.segment > t.limit;
        uint64_t left = t.limit ? t.limit - reserved : UINT64_MAX;
        expect_within(o.text->size[MV_ERROR_REQUESTED], t.segment, "requested", text);
        expect_within(o.text->size[MV_ERROR_UNALLOCATED], t.unallocated, "unallocated", text);
        expect_within(o.text->size[MV_ERROR_RESERVED], reserved, "reserved", text);
        expect_within(o.tensor, t.tensor, "tensor", text);
        expect_within(o.not_pytorch, t.own, "not_pytorch", text);
        expect_within(o.others, t.others, "others", text);
        expect_within(o.outside, t.own + t.others, "outside", text);
        if (o.verdict == MV_TEXT_LIMIT)
            cr_expect(is_over, "no limit: %s", text);
        if (o.verdict == MV_TEXT_CAPACITY)
            cr_expect_gt(t.allocated + t.own + t.tensor, capacity, "fits: %s", text);
        if (o.verdict == MV_TEXT_OUTSIDE)
            cr_expect(t.free + t.others >= t.segment && t.free + t.unallocated < t.tensor &&
                          !is_over,
                      "not the others: %s", text);
        if (excludes(&o, "limit"))
            cr_expect(!is_over, "a limit: %s", text);
        if (excludes(&o, "outside_pytorch") && t.free < t.segment)
            cr_expect(t.free + t.others < t.segment || o.too_large == MV_ANSWER_YES, "others: %s",
                      text);
        if (excludes(&o, "fragmentation") && o.too_large != MV_ANSWER_YES && t.free < t.segment)
            cr_expect_lt(t.unallocated + (left < t.free ? left : t.free), t.tensor, "holes: %s",
                         text);
        verdicts[only(text).verdict]++;
    }
    for (uint32_t v = 0; v < MV_TEXT_VERDICT_COUNT; v++)
        cr_expect_gt(verdicts[v], 5, "%s: %u", mv_text_verdict_name(v), verdicts[v]);
}

/* The lowest and highest sizes on both sides of a proof, which fails with one KiB less. */
Test(oom_text, a_proof_holds_for_every_size_with_the_same_text)
{
    /* 0.995 GiB allocated and a tensor of at least 0.995 GiB less 2 MiB: 1.988 GiB. */
    static const char form[] = "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; %s total "
                               "capacity; 1.00 GiB already allocated; 0 bytes free; 1.00 GiB "
                               "reserved in total by PyTorch)";

    cr_expect_eq(only(mvt_format(form, "1.99 GiB")).verdict, MV_TEXT_UNKNOWN,
                 "it may be 1.995 GiB");
    cr_expect_eq(only(mvt_format(form, "1.98 GiB")).verdict, MV_TEXT_CAPACITY);
    cr_expect_eq(only("CUDA out of memory. Tried to allocate 2.00 MiB (GPU 0; 1.00 GiB total "
                      "capacity; 0 bytes already allocated; 2.00 MiB free; 0 bytes reserved in "
                      "total by PyTorch)")
                     .had_room,
                 MV_ANSWER_OPEN, "both are rounded");
}

/* ---- logs --------------------------------------------------------------------------------- */

#define SHORT(size, gpu, word)                                                                     \
    "CUDA out of memory. Tried to allocate " size " (GPU " gpu "; 15.78 GiB total capacity; 7.31 " \
    "GiB already allocated; 1.21 GiB " word "; 13.47 GiB reserved in total by PyTorch)\n"

Test(oom_text, the_first_in_time_comes_first)
{
    mv_error_texts found = texts_of("[rank1]: 2026-11-28 10:00:07,120 " SHORT(
        "2.00 GiB", "1",
        "free") "[rank1]: raised again: " SHORT("2.00 GiB", "1",
                                                "free") "[rank0]: 2026-11-28 "
                                                        "10:00:06,999 " SHORT("3.00 GiB", "0",
                                                                              "free"));

    cr_assert_eq(found.count, 2);
    cr_expect(found.by_time);
    cr_expect_eq(found.rows[0].rank, 0);
    cr_expect_eq(found.rows[0].line, 3);
    cr_expect_eq(found.rows[1].rank, 1);
    cr_expect_eq(found.rows[1].times, 2);
    found = texts_of(SHORT("2.00 GiB", "1", "free") SHORT("3.00 GiB", "0", "free"));
    cr_expect(!found.by_time);
    cr_expect_eq(found.rows[0].device, 1);
}

Test(oom_text, prose_is_not_an_error)
{
    cr_expect_eq(texts_of("").count, 0);
    cr_expect_eq(texts_of("the node ran out of memory; OutOfMemoryError is caught, CUDA out of "
                          "memory happens")
                     .count,
                 0);
    cr_expect_eq(
        texts_of("except torch.cuda.OutOfMemoryError:\n    torch.cuda.empty_cache()").count, 0);
    cr_expect_eq(texts_of("Tried to allocate 2.00 GiB; 3.00 GiB free; 12 MiB cached)").count, 0);
    cr_expect_eq(texts_of("CUDA out of memory. Tried to allocate X GiB").count, 0);
}

Test(oom_text, errors_without_sizes_are_unknown)
{
    static const char *const texts[] = {
        "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously",
        "torch.AcceleratorError: CUDA error: out of memory",
        "RuntimeError: CUDA driver error: out of memory",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/a.cu:66",
        "ncclUnhandledCudaError: Call to CUDA function failed.\nCuda failure 2 'out of memory'",
        "RuntimeError: HIP error: out of memory",
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "hipErrorOutOfMemory",
        "RuntimeError: CUDA out of memory."};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mv_oom_text t = only(texts[i]);
        cr_expect_eq(t.verdict, MV_TEXT_UNKNOWN, "%s", texts[i]);
        cr_expect_eq(t.excluded_count + t.possible_count, 0, "%s", texts[i]);
        cr_expect_str_eq(mv_text_refuser(&t), "unknown");
    }
    cr_expect(
        only("RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried "
             "to allocate 4294967296 bytes. Error code 12")
            .text->is_of_host);
}

/* Text after a sentence does not belong to the error. */
Test(oom_text, sizes_of_other_text_are_not_taken)
{
    mv_error_texts found = texts_of(
        "CUDA out of memory. Tried to allocate 2.00 GiB\nTraceback (most recent call last):\n"
        "1.00 GiB free; 3.00 GiB already allocated\n"
        "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 4.00 GiB total capacity;");

    cr_assert_eq(found.count, 2);
    cr_expect(!mv_size_is_printed(found.rows[0].size[MV_ERROR_FREE]));
    cr_expect(!mv_size_is_printed(found.rows[0].size[MV_ERROR_CAPACITY]));
    cr_expect_eq(found.rows[1].size[MV_ERROR_CAPACITY].bytes, 4 * GIB);
}

Test(oom_text, numbers_that_are_too_large_are_not_sizes)
{
    mv_oom_text t =
        only("CUDA out of memory. Tried to allocate 99999999999999999999.00 GiB (GPU 0; "
             "1.00 GiB total capacity; 17179869183.99 GiB already allocated; "
             "18446744073709551615 bytes free; 8589934591.99 GiB reserved in total by "
             "PyTorch) CUDA error: out of memory");

    cr_expect_eq(t.verdict, MV_TEXT_UNKNOWN);
}

Test(oom_text, an_error_is_found_at_any_place_of_a_long_text)
{
    static const char error[] = "\n[rank2]: " SHORT("2.00 GiB", "1", "free");
    size_t length = 400 << 10; /* read 192 KiB at a time; the last 9 KiB are read again */
    char *text = mv_push_array(mvt_memory(), char, length);

    for (size_t at = 181 << 10; at < (size_t)(194 << 10); at += 1531) {
        memset(text, 'x', length);
        for (size_t i = 99; i < length; i += 100)
            text[i] = '\n';
        memcpy(text + at, error, sizeof error - 1);
        mv_error_texts found = texts_in(text, length);
        cr_assert_eq(found.count, 1, "at %zu", at);
        cr_expect_eq(found.rows[0].times, 1, "at %zu", at);
        cr_expect_eq(found.rows[0].rank, 2, "at %zu", at);
        cr_expect_eq(found.rows[0].line, at / 100 + 2, "at %zu: line %llu", at,
                     (unsigned long long)found.rows[0].line);
        cr_expect_eq(found.rows[0].size[MV_ERROR_RESERVED].bytes / MIB, 13793, "at %zu", at);
    }
}

/* Thousands of candidates of 12 bytes, none of which is an error, followed by many different
 * errors. */
Test(oom_text, many_errors_take_linear_time)
{
    enum { ERRORS = 4000 };
    size_t used = 0;
    char *text = mv_push_array(mvt_memory(), char, ERRORS * 64);

    for (uint32_t i = 0; i < ERRORS; i++)
        used += (size_t)snprintf(text + used, ERRORS * 64 - used,
                                 "out of memory.Tried to allocate ALLOC_FAILED ");
    cr_expect_eq(texts_in(text, used).count, 0);
    used = 0;
    for (uint32_t i = 0; i < ERRORS; i++)
        used += (size_t)snprintf(text + used, ERRORS * 64 - used,
                                 "CUDA out of memory. Tried to allocate %u bytes\n", i);
    mv_error_texts found = texts_in(text, used);
    cr_expect_eq(found.count, MV_MOST_ERROR_TEXTS);
    cr_expect_eq(found.count + found.more, ERRORS);
}

static const char summary[] =
    "|===========================================================================|\n"
    "|                  PyTorch CUDA memory summary, device ID 3                 |\n"
    "|---------------------------------------------------------------------------|\n"
    "|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |\n"
    "|===========================================================================|\n"
    "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
    "|---------------------------------------------------------------------------|\n"
    "| Allocated memory      |    %s |    4261 %siB |     847 GiB |     847 GiB |\n"
    "|       from large pool |  107268 KiB |    4228 MiB |     843 GiB |     843 GiB |\n"
    "| Active memory         |    5200 %siB |    4261 MiB |     847 GiB |     847 GiB |\n"
    "| GPU reserved memory   |    5512 %siB |    5512 MiB |    5512 MiB |       0 B   |\n"
    "| Non-releasable memory |     112 %siB |    4261 MiB |     847 GiB |     847 GiB |\n"
    "|===========================================================================|\n";

static void check_summary(const char *text)
{
    mv_oom_text t = only(text);
    const mv_printed_size *s = t.text->size;

    cr_assert(t.text->is_summary, "%s", text);
    cr_expect_eq(t.text->device, 3);
    cr_expect_eq(t.text->failures, 1);
    cr_expect_eq(t.text->retries, 2);
    cr_expect_eq(s[MV_ERROR_ALLOCATED].least, 5000 * MIB);
    cr_expect_eq(s[MV_ERROR_ALLOCATED].most, 5001 * MIB - 1, "units are cut off");
    cr_expect_eq(s[MV_ERROR_RESERVED].least, 5512 * MIB);
    cr_expect_eq(s[MV_ERROR_UNALLOCATED].least, 511 * MIB + 1);
    cr_expect_eq(s[MV_ERROR_UNALLOCATED].most, 513 * MIB - 1);
    cr_expect_eq(t.pending.bytes, 200 * MIB);
    cr_expect_eq(t.releasable.bytes, 200 * MIB);
    cr_expect_eq(s[MV_ERROR_PEAK_ALLOCATED].bytes, 4261 * MIB);
    cr_expect_eq(t.verdict, MV_TEXT_UNKNOWN);
}

Test(oom_text, summaries_are_added_up)
{
    const char *text = mvt_format(summary, "5000 MiB", "M", "M", "M", "M");
    char old[4000];
    size_t used = 0;

    check_summary(text);
    for (const char *at = text; *at; at++) /* up to PyTorch 1.12: MB */
        if (*at != 'i' || at[1] != 'B')
            old[used++] = *at;
    old[used] = 0;
    check_summary(old);
    check_summary(torn(text, 78, "(RayTrainWorker pid=#1#) "));
    const char *other = mvt_format(summary, "4096 KiB", "K", "K", "K", "K");
    cr_expect_eq(texts_of(mvt_format("%s%s", text, other)).count, 2);
}

/* A text that is cut anywhere must not report more than the whole text. */
Test(oom_text, cut_texts_prove_nothing_else)
{
    sentence sentences[MOST_SENTENCES];
    uint32_t count = read_sentences(sentences);

    for (uint32_t i = 0; i < count; i++)
        for (size_t length = strlen(sentences[i].text); length > 0;
             length -= length < 31 ? length : 31) {
            mv_error_texts found = texts_in(sentences[i].text, length);
            if (found.count == 0)
                continue;
            mv_oom_text t = explain(&found.rows[0]);
            cr_expect(t.verdict == MV_TEXT_UNKNOWN ||
                          strcmp(mv_text_verdict_name(t.verdict), sentences[i].verdict) == 0,
                      "%s cut at %zu: %s", sentences[i].name, length, t.why);
        }
}
