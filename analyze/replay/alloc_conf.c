#include "analyze/replay/alloc_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nearest.h"
#include "base/numbers.h"

#define MIB      ((uint64_t)1 << 20)
#define MOST_MIB ((uint64_t)1 << 28)

typedef struct {
    const char *at;
    char token[64]; /* latest token, which ends before `at` and is a word, or one of , : [ ] */
    char key[64];
    bool is_recorded;     /* the string is from a recording, so PyTorch accepted it, and unknown
                           * settings are skipped */
    uint32_t bypass_from; /* first row of divisions for which sizes are no longer divided */
    mv_alloc_conf *conf;
    char *why;
    uint32_t why_size;
} conf_text;

mv_alloc_conf mv_alloc_conf_default(void)
{
    return (mv_alloc_conf){
        .rules = {.max_split = UINT64_MAX},
        .max_non_split_rounding = MV_LARGE_SEGMENT,
        .large_segment = MV_LARGE_SEGMENT,
        .fraction = 1,
    };
}

__attribute__((format(printf, 2, 3))) static bool refuse(conf_text *t, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(t->why, t->why_size, "%s: ", t->key);

    va_start(arguments, format);
    if (length >= 0 && (uint32_t)length < t->why_size)
        vsnprintf(t->why + length, t->why_size - (uint32_t)length, format, arguments);
    va_end(arguments);
    return false;
}

/* Reads the next token. Returns "" at the end of the string. Words that do not fit are cut, and
 * then match no known word. */
static const char *next_token(conf_text *t)
{
    uint32_t length = 0;

    while (isspace((unsigned char)*t->at))
        t->at++;
    if (*t->at && strchr(",:[]", *t->at)) {
        t->token[length++] = *t->at++;
    } else {
        for (; *t->at && !strchr(",:[]", *t->at); t->at++)
            if (!isspace((unsigned char)*t->at) && length < sizeof t->token - 1)
                t->token[length++] = *t->at;
    }
    t->token[length] = 0;
    return t->token;
}

static bool expect_colon(conf_text *t)
{
    if (strcmp(next_token(t), ":") == 0)
        return true;
    return refuse(t, "expected ':'%s%s", *t->token ? ", not " : "", t->token);
}

static bool to_number(conf_text *t, const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        return refuse(t, "'%s' is not a whole number", text);
    return true;
}

/* Reads a number of MiB. Numbers above MOST_MIB are reduced to it, because no device has that much
 * and sums of a replay must be less than 2^64. */
static bool take_mib(conf_text *t, uint64_t least, uint64_t *out)
{
    uint64_t mib;

    if (!to_number(t, next_token(t), &mib))
        return false;
    if (mib < least)
        return refuse(t, "must be at least %llu", (unsigned long long)least);
    *out = (mib < MOST_MIB ? mib : MOST_MIB) * MIB;
    return true;
}

/* Reads max_split_size_mb. *out is UINT64_MAX if there is no limit. */
static bool take_max_split(conf_text *t, uint64_t *out)
{
    if (!take_mib(t, MV_LARGE_SEGMENT / MIB, out))
        return false;
    *out = *out == MOST_MIB * MIB ? UINT64_MAX : *out;
    return true;
}

static bool take_share(conf_text *t, bool one_is_fine, double *out)
{
    const char *text = next_token(t);
    char *end;

    *out = strtod(text, &end);
    if (!*text || *end || !(*out > 0) || !(one_is_fine ? *out <= 1 : *out < 1))
        return refuse(t, "'%s' is not a number above 0 and %s 1", text,
                      one_is_fine ? "up to" : "below");
    return true;
}

static bool take_bool(conf_text *t, bool *out)
{
    const char *text = next_token(t);

    *out = strcmp(text, "True") == 0;
    return *out || strcmp(text, "False") == 0 ||
           refuse(t, "expected True or False, not '%s'", text);
}

/* Returns the end of the setting that begins at `at`, which is its comma or the end of the
 * string. */
static const char *end_of_setting(const char *at)
{
    uint32_t depth = 0;

    for (; *at && (depth > 0 || *at != ','); at++) {
        depth += *at == '[';
        depth -= *at == ']' && depth > 0;
    }
    return at;
}

static bool take_divisions(conf_text *t, const char *text, uint64_t *out)
{
    if (!to_number(t, text, out))
        return false;
    if (*out > UINT32_MAX || (*out & (*out - 1)) != 0)
        return refuse(t, "%s is not a power of two", text);
    return true;
}

static void fill(uint64_t *divisions, uint32_t from, uint32_t end, uint64_t value)
{
    for (uint32_t i = from; i < end; i++)
        divisions[i] = value;
}

/* Reads [256:1,512:2,>:8], which lists divisions for sizes at and above each edge (in MiB). The
 * first edge also covers all smaller sizes, and > covers all sizes above the last edge. */
static bool take_division_list(conf_text *t)
{
    uint64_t *divisions = t->conf->rules.divisions, edge = 1, value;
    uint32_t above = 0, index;
    bool first = true;

    for (;;) {
        bool rest = strcmp(next_token(t), ">") == 0;
        if (!rest && (!to_number(t, t->token, &edge) || edge == 0 || (edge & (edge - 1)) != 0))
            return refuse(t, "the edge '%s' is not a power of two", t->token);
        if (!expect_colon(t) || !take_divisions(t, next_token(t), &value))
            return false;
        if (rest) {
            fill(divisions, above, MV_ROUNDUP_STEPS, value);
        } else {
            index = 63 - (uint32_t)__builtin_clzll(edge);
            index = index < MV_ROUNDUP_STEPS ? index : MV_ROUNDUP_STEPS - 1;
            fill(divisions, first ? 0 : index, index + 1, value);
            above = index + 1;
        }
        first = false;
        if (strcmp(next_token(t), "]") == 0)
            return true;
        if (strcmp(t->token, ",") != 0)
            return refuse(t, "expected ',' or ']'");
    }
}

static bool take_roundup(conf_text *t)
{
    uint64_t value;

    if (strcmp(next_token(t), "[") == 0)
        return take_division_list(t);
    if (!take_divisions(t, t->token, &value))
        return false;
    fill(t->conf->rules.divisions, 0, MV_ROUNDUP_STEPS, value);
    return true;
}

static bool take_backend(conf_text *t)
{
    if (strcmp(next_token(t), "native") == 0)
        return true;
    if (strcmp(t->token, "cudaMallocAsync") == 0)
        return refuse(t, "cudaMallocAsync is the driver's own allocator, which is not replayed");
    return refuse(t, "'%s' is not a backend", t->token);
}

/* The format of a value whose key has no effect on the device. */
typedef enum {
    BOOL,
    NUMBER,         /* whole number */
    POSITIVE,       /* whole number above 0 */
    POWER_OF_2_128, /* power of two up to 128 */
} value_form;

/* Keys for pinned host memory, locks and captures. Their values are checked, but have no effect on
 * device memory. */
static const struct {
    const char *key;
    value_form form;
} without_effect[] = {
    {"release_lock_on_cudamalloc", BOOL},        {"release_lock_on_hipmalloc", BOOL},
    {"pinned_use_cuda_host_register", BOOL},     {"pinned_use_hip_host_register", BOOL},
    {"pinned_use_background_threads", BOOL},     {"pinned_free_catch_all", BOOL},
    {"pin_memory_expandable_segments", BOOL},    {"pinned_num_register_threads", POWER_OF_2_128},
    {"pinned_max_register_threads", NUMBER},     {"pinned_reserve_segment_size_mb", POSITIVE},
    {"pinned_max_round_threshold_mb", NUMBER},   {"pinned_max_cached_size_mb", NUMBER},
    {"graph_capture_record_stream_reuse", BOOL}, {"throw_on_cudamalloc_oom", BOOL},
};

#define WITHOUT_EFFECT (sizeof without_effect / sizeof *without_effect)

static bool take_form(conf_text *t, value_form form)
{
    uint64_t number;
    bool on;

    if (form == BOOL)
        return take_bool(t, &on);
    if (!to_number(t, next_token(t), &number))
        return false;
    if (form == POSITIVE && number == 0)
        return refuse(t, "must be greater than 0");
    if (form == POWER_OF_2_128 && (number == 0 || number > 128 || (number & (number - 1)) != 0))
        return refuse(t, "must be a power of two up to 128");
    return true;
}

/* Skips the value of a setting that is not in this table but that some release accepts, including
 * its comma. */
static bool skip_value(conf_text *t)
{
    t->at = end_of_setting(t->at);
    return true;
}

static bool take_other(conf_text *t)
{
    /* the keys that take_value reads */
    static const char *const with_effect[] = {"max_split_size_mb",
                                              "max_non_split_rounding_mb",
                                              "large_segment_size_mb",
                                              "garbage_collection_threshold",
                                              "per_process_memory_fraction",
                                              "roundup_power2_divisions",
                                              "expandable_segments",
                                              "roundup_bypass_threshold_mb",
                                              "backend"};
    mv_nearest nearest = {0};

    for (uint32_t i = 0; i < WITHOUT_EFFECT; i++)
        if (strcmp(t->key, without_effect[i].key) == 0)
            return take_form(t, without_effect[i].form);
    if (t->is_recorded)
        return skip_value(t);
    for (uint32_t i = 0; i < sizeof with_effect / sizeof *with_effect; i++)
        mv_nearest_try(&nearest, t->key, with_effect[i]);
    for (uint32_t i = 0; i < WITHOUT_EFFECT; i++)
        mv_nearest_try(&nearest, t->key, without_effect[i].key);
    return nearest.word ? refuse(t, "no such setting; did you mean %s?", nearest.word)
                        : refuse(t, "no such setting");
}

/* Reads the size above which sizes are not divided. In PyTorch 1.13, sizes above it are not rounded
 * up by divisions. The table of divisions contains only powers of two. */
static bool take_bypass(conf_text *t)
{
    uint64_t mib;

    if (!to_number(t, next_token(t), &mib))
        return false;
    if (mib == 0 || (mib & (mib - 1)) != 0)
        return refuse(t, "only powers of two can be replayed");
    t->bypass_from = 63 - (uint32_t)__builtin_clzll(mib);
    return true;
}

static bool take_value(conf_text *t)
{
    mv_alloc_conf *c = t->conf;

    if (strcmp(t->key, "max_split_size_mb") == 0)
        return take_max_split(t, &c->rules.max_split);
    if (strcmp(t->key, "max_non_split_rounding_mb") == 0)
        return take_mib(t, MV_LARGE_SEGMENT / MIB, &c->max_non_split_rounding);
    if (strcmp(t->key, "large_segment_size_mb") == 0)
        return take_mib(t, 11, &c->large_segment);
    if (strcmp(t->key, "garbage_collection_threshold") == 0)
        return take_share(t, false, &c->gc_threshold);
    if (strcmp(t->key, "per_process_memory_fraction") == 0)
        return take_share(t, true, &c->fraction);
    if (strcmp(t->key, "roundup_power2_divisions") == 0)
        return take_roundup(t);
    if (strcmp(t->key, "expandable_segments") == 0)
        return take_bool(t, &c->rules.expandable);
    if (strcmp(t->key, "roundup_bypass_threshold_mb") == 0)
        return take_bypass(t);
    if (strcmp(t->key, "backend") == 0)
        return take_backend(t);
    return take_other(t);
}

/* Returns the string after the variable's name, if it begins with the name:
 * PYTORCH_ALLOC_CONF=... */
static const char *after_variable(const char *text)
{
    static const char *const names[] = {
        "PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_HIP_ALLOC_CONF=", "PYTORCH_ALLOC_CONF="};

    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return text + strlen(names[i]);
    return text;
}

static bool parse(conf_text *t)
{
    mv_alloc_conf *out = t->conf;

    *out = mv_alloc_conf_default();
    out->max_non_split_rounding = 0; /* equal to large_segment unless it is set */
    t->at = after_variable(t->at);
    t->bypass_from = MV_ROUNDUP_STEPS;
    while (*next_token(t)) {
        if (strcmp(t->token, ",") == 0)
            continue;
        snprintf(t->key, sizeof t->key, "%s", t->token);
        if (!expect_colon(t) || !take_value(t))
            return false;
        if (*next_token(t) && strcmp(t->token, ",") != 0)
            return refuse(t, "expected ',' after its value, not '%s'", t->token);
    }
    fill(out->rules.divisions, t->bypass_from, MV_ROUNDUP_STEPS, 0);
    if (out->max_non_split_rounding == 0)
        out->max_non_split_rounding = out->large_segment;
    return true;
}

bool mv_alloc_conf_parse(const char *text, mv_alloc_conf *out, char *why, uint32_t why_size)
{
    conf_text t = {.at = text, .conf = out, .why = why, .why_size = why_size};

    return parse(&t);
}

const char *mv_alloc_conf_text(const mv_trace *trace)
{
    static const char *const keys[] = {"last_allocator_settings", "PYTORCH_CUDA_ALLOC_CONF",
                                       "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"};

    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint32_t row = mv_setting_find(trace, NULL, keys[i]);
        if (row == MV_NO_ROW || trace->settings.kind[row] != MV_SETTING_TEXT)
            continue;
        if (*mv_string_text(trace, trace->settings.text[row]))
            return mv_string_text(trace, trace->settings.text[row]);
    }
    return "";
}

/* Removes settings that no PyTorch accepts. PyTorch did not write them, so their numbers are not
 * used. */
static mv_alloc_conf believable(const mv_alloc_conf *conf)
{
    mv_alloc_conf as_text, sound = mv_alloc_conf_default();
    char text[1024];

    if (mv_alloc_conf_parse(mv_alloc_conf_print(conf, text, sizeof text), &as_text, NULL, 0))
        return *conf;
    sound.rules.pad = conf->rules.pad;
    sound.rules.expandable = conf->rules.expandable;
    return sound;
}

mv_alloc_conf mv_alloc_conf_of(const mv_trace *trace)
{
    const mv_settings *s = &trace->settings;
    uint32_t row = mv_setting_find(trace, NULL, "garbage_collection_threshold");
    mv_block_rules rules = mv_block_rules_of(trace);
    mv_alloc_conf conf;
    conf_text t = {.at = mv_alloc_conf_text(trace), .is_recorded = true, .conf = &conf};

    if (!parse(&t))
        conf = mv_alloc_conf_default();
    conf.rules.pad = rules.pad;
    if (mv_setting_find(trace, NULL, "expandable_segments") == MV_NO_ROW &&
        !*mv_alloc_conf_text(trace))
        conf.rules.expandable = rules.expandable;
    if (s->count == 0)
        return conf;
    if (mv_setting_find(trace, NULL, "max_split_size") != MV_NO_ROW)
        conf.rules = rules;
    if (row != MV_NO_ROW && s->kind[row] == MV_SETTING_FLOAT && s->real[row] > 0 &&
        s->real[row] < 1)
        conf.gc_threshold = s->real[row];
    return believable(&conf);
}

static bool is_other(double a, double b)
{
    return a < b || a > b;
}

bool mv_alloc_conf_same(const mv_alloc_conf *a, const mv_alloc_conf *b)
{
    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++)
        if (a->rules.divisions[i] != b->rules.divisions[i] &&
            (a->rules.divisions[i] > 1 || b->rules.divisions[i] > 1))
            return false;
    return a->rules.max_split == b->rules.max_split && a->rules.expandable == b->rules.expandable &&
           a->large_segment == b->large_segment &&
           a->max_non_split_rounding == b->max_non_split_rounding &&
           !is_other(a->gc_threshold, b->gc_threshold) && !is_other(a->fraction, b->fraction);
}

/* Appends a setting, or as much of it as fits. */
__attribute__((format(printf, 4, 5))) static void put(char *out, uint32_t size, uint32_t *at,
                                                      const char *format, ...)
{
    va_list arguments;
    int length;

    if (*at + 1 < size && *at > 0 && out[*at - 1] != '[' && out[*at - 1] != ':')
        out[(*at)++] = ',';
    va_start(arguments, format);
    length = vsnprintf(out + *at, size - *at, format, arguments);
    va_end(arguments);
    *at += length > 0 ? (uint32_t)length : 0;
    *at = *at < size ? *at : size - 1;
}

static void print_divisions(const uint64_t *divisions, char *out, uint32_t size, uint32_t *at)
{
    bool all = true;

    for (uint32_t i = 1; i < MV_ROUNDUP_STEPS; i++)
        all = all && divisions[i] == divisions[0];
    if (all && divisions[0] > 1)
        put(out, size, at, "roundup_power2_divisions:%llu", (unsigned long long)divisions[0]);
    if (all)
        return;
    put(out, size, at, "roundup_power2_divisions:[");
    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++)
        put(out, size, at, "%u:%llu", 1u << i, (unsigned long long)divisions[i]);
    if (*at + 1 < size)
        out[(*at)++] = ']';
    out[*at] = 0;
}

const char *mv_alloc_conf_print(const mv_alloc_conf *conf, char *out, uint32_t size)
{
    char share[MV_REAL_TEXT];
    uint32_t at = 0;

    out[0] = 0;
    if (conf->rules.expandable)
        put(out, size, &at, "expandable_segments:True");
    if (conf->rules.max_split != UINT64_MAX)
        put(out, size, &at, "max_split_size_mb:%llu",
            (unsigned long long)(conf->rules.max_split / MIB));
    if (conf->max_non_split_rounding != conf->large_segment)
        put(out, size, &at, "max_non_split_rounding_mb:%llu",
            (unsigned long long)(conf->max_non_split_rounding / MIB));
    if (conf->large_segment != MV_LARGE_SEGMENT)
        put(out, size, &at, "large_segment_size_mb:%llu",
            (unsigned long long)(conf->large_segment / MIB));
    print_divisions(conf->rules.divisions, out, size, &at);
    if (conf->gc_threshold > 0)
        put(out, size, &at, "garbage_collection_threshold:%s",
            mv_real_text(share, conf->gc_threshold));
    if (conf->fraction < 1)
        put(out, size, &at, "per_process_memory_fraction:%s", mv_real_text(share, conf->fraction));
    return out;
}

static bool has_key(const char *setting, const char *end, const char *key)
{
    for (; setting < end && *setting != ':'; setting++)
        if (!isspace((unsigned char)*setting) && *setting != *key++)
            return false;
    return *key == 0;
}

static void append(char *out, uint32_t *at, const char *text, uint64_t length)
{
    if (*at > 0)
        out[(*at)++] = ',';
    memcpy(out + *at, text, length);
    *at += (uint32_t)length;
    out[*at] = 0;
}

const char *mv_alloc_conf_change(mv_arena *arena, const char *text, const char *key,
                                 const char *value)
{
    char setting[128];
    bool is_done = !value;
    uint32_t at = 0;
    uint64_t length;
    char *out;

    text = after_variable(text);
    out = mv_push_array(arena, char, strlen(text) + sizeof setting + 2);
    if (!out)
        return NULL;
    snprintf(setting, sizeof setting, "%s:%s", key, value ? value : "");
    for (const char *end; *text; text = *end ? end + 1 : end) {
        while (isspace((unsigned char)*text))
            text++;
        end = end_of_setting(text);
        length = (uint64_t)(end - text);
        if (length > 0 && !has_key(text, end, key)) {
            append(out, &at, text, length);
        } else if (length > 0 && !is_done) {
            append(out, &at, setting, strlen(setting));
            is_done = true;
        }
    }
    if (!is_done)
        append(out, &at, setting, strlen(setting));
    return out;
}

uint32_t mv_alloc_conf_idle(const char *text, const char *keys[MV_MOST_IDLE_KEYS])
{
    uint32_t count = 0;

    text = after_variable(text);
    for (const char *end; *text && count < MV_MOST_IDLE_KEYS; text = *end ? end + 1 : end) {
        end = end_of_setting(text);
        for (uint32_t i = 0; i < WITHOUT_EFFECT && count < MV_MOST_IDLE_KEYS; i++)
            if (has_key(text, end, without_effect[i].key))
                keys[count++] = without_effect[i].key;
    }
    return count;
}
