#include "cli/serve/served_page.h"

#define POLICY  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
#define CONNECT " connect-src 'self';"
#define PLACE   "<!--snapshot-->"
#define SERVED  "<script type=\"text/plain\" id=\"served\"></script>"

static const uint8_t *find(mv_span text, const char *word)
{
    return memmem(text.data, text.length, word, strlen(word));
}

static mv_span after(mv_span text, const uint8_t *at)
{
    return (mv_span){at, text.length - (uint64_t)(at - text.data)};
}

/* Returns the end of the only `word` in the text. NULL means that the word occurs never, or more
 * than once. */
static const uint8_t *find_one(mv_span text, const char *word)
{
    const uint8_t *at = find(text, word);

    if (!at || find(after(text, at + strlen(word)), word))
        return NULL;
    return at + strlen(word);
}

static uint8_t *put(uint8_t *to, const void *from, uint64_t length)
{
    memcpy(to, from, length);
    return to + length;
}

mv_code mv_served_page_make(mv_arena *arena, mv_span page, mv_span *out, mv_err *err)
{
    const uint8_t *policy = find_one(page, POLICY), *place = find_one(page, PLACE), *script, *end;
    uint64_t length = page.length + strlen(CONNECT) + strlen(SERVED) - strlen(PLACE);
    uint8_t *copy, *to;

    script = find(page, "<script");
    end = policy ? memchr(policy, '"', after(page, policy).length) : NULL;
    if (!policy || !place || !end || !script || script < end || place < end ||
        find((mv_span){policy, (uint64_t)(end - policy)}, "connect-src"))
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET,
                       "memviz.html is not this version's page: build it with scripts/web");
    copy = mv_arena_push(arena, length, 1);
    if (!copy)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    to = put(copy, page.data, (uint64_t)(policy - page.data));
    to = put(to, CONNECT, strlen(CONNECT));
    to = put(to, policy, (uint64_t)(place - policy) - strlen(PLACE));
    to = put(to, SERVED, strlen(SERVED));
    put(to, place, after(page, place).length);
    *out = (mv_span){copy, length};
    return MV_OK;
}
