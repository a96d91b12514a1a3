#include "cli/serve/answer.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cli/report/json.h"

const char *const mv_serve_headers[] = {"Cache-Control",
                                        "no-store",
                                        "Referrer-Policy",
                                        "no-referrer",
                                        "X-Content-Type-Options",
                                        "nosniff",
                                        "Cross-Origin-Resource-Policy",
                                        "same-origin",
                                        "X-Frame-Options",
                                        "DENY",
                                        NULL};

static void set_text(mv_serve_answer *out, unsigned status, const char *text)
{
    out->status = status;
    out->type = "text/plain; charset=utf-8";
    out->bytes = (mv_span){(const uint8_t *)text, strlen(text)};
}

__attribute__((format(printf, 3, 4))) static void add_header(mv_serve_answer *out, const char *name,
                                                             const char *format, ...)
{
    va_list args;

    out->header[out->headers].name = name;
    va_start(args, format);
    vsnprintf(out->header[out->headers++].value, sizeof out->header[0].value, format, args);
    va_end(args);
}

/* ---- texts ------------------------------------------------------------------------------- */

typedef struct {
    char *bytes;
    size_t length;
} text_body;

/* Begins a body, which is then written with site->out. If memory runs out, makes an answer that says
 * so, and returns false. */
static bool begin_text(mv_serve_site *site, mv_serve_answer *out, text_body *text)
{
    *text = (text_body){0};
    site->out.used = 0;
    site->out.sink = (mv_sink){.file = open_memstream(&text->bytes, &text->length)};
    if (!site->out.sink.file)
        set_text(out, 503, "out of memory\n");
    return site->out.sink.file;
}

static void end_text(mv_serve_site *site, mv_serve_answer *out, const text_body *text)
{
    bool is_whole;

    mv_out_flush(&site->out);
    is_whole = fclose(site->out.sink.file) == 0 && !site->out.sink.failed;
    if (!is_whole) {
        free(text->bytes);
        set_text(out, 503, "out of memory\n");
        return;
    }
    out->bytes = (mv_span){(const uint8_t *)text->bytes, text->length};
    out->is_own = true;
}

/* Writes a member with a string value, or null if the string is empty. */
static void put_text(mv_out *out, const char *name, const char *text)
{
    mv_out_format(out, ",\"%s\":", name);
    if (*text)
        mv_json_put_text(out, (mv_span){(const uint8_t *)text, strlen(text)});
    else
        mv_out_words(out, "null");
}

static void put_number(mv_out *out, const char *name, uint64_t number)
{
    mv_out_format(out, ",\"%s\":", name);
    if (number != MV_NO_BYTES)
        mv_out_u64(out, number);
    else
        mv_out_words(out, "null");
}

static void put_verdict(mv_out *out, const mv_served_verdict *v)
{
    static const char *const states[] = {"waiting", "read", "unreadable"};

    put_text(out, "state", states[v->stage]);
    if (v->stage == MV_SERVED_UNREADABLE)
        put_text(out, "why", v->text);
    if (v->stage != MV_SERVED_READ)
        return;
    put_number(out, "peak_allocated", v->allocated);
    put_number(out, "peak_reserved", v->reserved);
    put_text(out, "bound", mv_bound_name(v->bound));
    put_number(out, "devices", v->devices);
    put_number(out, "problems", v->problems);
    put_text(out, "kind", v->kind);
    put_text(out, "text", v->text);
    put_text(out, "damaged", v->damaged);
}

static void put_file(mv_out *out, const mv_served_files_file *file)
{
    mv_out_words(out, "{\"id\":");
    mv_out_u64(out, file->id);
    mv_out_format(out, ",\"version\":\"%llx\",\"name\":", (unsigned long long)file->version);
    mv_json_put_text(out, (mv_span){(const uint8_t *)file->name, strlen(file->name)});
    mv_out_words(out, ",\"bytes\":");
    mv_out_u64(out, file->bytes);
    mv_out_words(out, ",\"modified_ms\":");
    mv_out_i64(out, file->modified_ms);
    mv_out_format(out, ",\"live\":%s", file->is_live ? "true" : "false");
    put_verdict(out, &file->verdict);
    mv_out_char(out, '}');
}

static void answer_list(mv_serve_site *site, mv_serve_answer *out)
{
    mv_err err = {0};
    mv_served_files_list list;
    mv_arena arena;
    text_body text;

    mv_arena_init(&arena, site->budget);
    mv_served_files_find_verdicts(site->served);
    if (mv_served_files_look(site->served, &arena, &list, &err) != MV_OK) {
        set_text(out, 503, "out of memory\n");
    } else if (begin_text(site, out, &text)) {
        out->type = "application/json";
        mv_out_words(&site->out, "{\"host\":");
        mv_json_put_text(&site->out, (mv_span){(const uint8_t *)site->host, strlen(site->host)});
        mv_out_format(&site->out, ",\"left_out\":%u,\"files\":[", list.left_out);
        for (uint32_t i = 0; i < list.count; i++) {
            if (i)
                mv_out_char(&site->out, ',');
            put_file(&site->out, &list.files[i]);
        }
        mv_out_words(&site->out, "]}\n");
        end_text(site, out, &text);
    }
    mv_arena_release(&arena);
}

static void answer_progress(mv_serve_site *site, double progress, mv_serve_answer *out)
{
    text_body text;

    if (!begin_text(site, out, &text))
        return;
    out->status = 202;
    out->type = "application/json";
    mv_out_format(&site->out, "{\"progress\":%.3f}\n", progress);
    end_text(site, out, &text);
}

/* Answers with one line that tells why a file cannot be sent. */
static void answer_why(mv_serve_site *site, const char *why, mv_serve_answer *out)
{
    text_body text;

    if (!begin_text(site, out, &text))
        return;
    set_text(out, 422, "");
    mv_out_clean_text(&site->out, why);
    mv_out_char(&site->out, '\n');
    end_text(site, out, &text);
}

/* ---- files ------------------------------------------------------------------------------- */

/* Writes the file name for a download (RFC 8187). Every byte except letters, digits and a few other
 * characters becomes %NN. */
static void name_download(mv_serve_answer *out, const char *path)
{
    static const char kept[] = "._-";
    const char *slash = strrchr(path, '/');
    char value[360] = "attachment; filename*=UTF-8''";
    size_t at = strlen(value);

    for (const char *name = slash ? slash + 1 : path; *name && at + 4 < sizeof value; name++) {
        bool is_plain =
            isascii((unsigned char)*name) && (isalnum((unsigned char)*name) || strchr(kept, *name));
        at += (size_t)snprintf(value + at, sizeof value - at, is_plain ? "%c" : "%%%02X",
                               (unsigned char)*name);
    }
    add_header(out, "Content-Disposition", "%s", value);
}

static void answer_ready(const mv_serve_request *request, uint64_t version,
                         const mv_served_files_answer *file, mv_serve_answer *out)
{
    char tag[24];
    mv_byte_range range;
    bool is_same;

    snprintf(tag, sizeof tag, "\"%llx\"", (unsigned long long)version);
    is_same = !request->if_range || strcmp(request->if_range, tag) == 0;
    range = mv_byte_range_read(is_same ? request->range : NULL, file->bytes);
    out->status = range.status;
    out->type = "application/octet-stream";
    out->fd = file->fd;
    out->first = range.first;
    out->count = range.count;
    add_header(out, "Accept-Ranges", "bytes");
    add_header(out, "ETag", "%s", tag);
    if (range.status == 206)
        add_header(out, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)range.first,
                   (unsigned long long)(range.first + range.count - 1),
                   (unsigned long long)file->bytes);
    else if (range.status == 416)
        add_header(out, "Content-Range", "bytes */%llu", (unsigned long long)file->bytes);
}

static void answer_file(mv_serve_site *site, const mv_serve_request *request,
                        const mv_serve_query *ask, mv_serve_answer *out)
{
    mv_served_files_answer file;

    if (ask->what == MV_ASK_SNAPSHOT)
        mv_served_files_container(site->served, ask->file, ask->version, &file);
    else
        mv_served_files_original(site->served, ask->file, ask->version, &file);
    switch (file.state) {
    case MV_SERVED_FILE_ABSENT:
        set_text(out, 410, "the file no longer exists\n");
        break;
    case MV_SERVED_FILE_STALE:
        set_text(out, 409, "the file has changed since it was listed\n");
        break;
    case MV_SERVED_FILE_MAKING:
        answer_progress(site, file.progress, out);
        break;
    case MV_SERVED_FILE_FAILED:
        answer_why(site, file.why, out);
        break;
    case MV_SERVED_FILE_READY:
        if (ask->what == MV_ASK_ORIGINAL)
            name_download(out, file.path);
        answer_ready(request, ask->version, &file, out);
        break;
    }
}

static void answer(mv_serve_site *site, const mv_serve_request *request, mv_serve_answer *out)
{
    mv_serve_query ask = mv_serve_request_read(request, site->token);

    *out = (mv_serve_answer){.status = ask.status, .fd = -1};
    if (ask.status == 404) {
        set_text(out, 404, "not found\n");
        return;
    }
    if (ask.status == 405) {
        set_text(out, 405, "only GET and HEAD are allowed\n");
        add_header(out, "Allow", "GET, HEAD");
        return;
    }
    switch (ask.what) {
    case MV_ASK_FOLDER:
        set_text(out, 301, "");
        add_header(out, "Location", "/%s/", site->token);
        break;
    case MV_ASK_PAGE:
        out->type = "text/html; charset=utf-8";
        out->bytes = site->page;
        break;
    case MV_ASK_LIST:
        answer_list(site, out);
        break;
    default:
        answer_file(site, request, &ask, out);
        break;
    }
}

/* The page contains its own policy (web/make_page.py), except for framing, which a page cannot
 * restrict. All other content may not load anything, in case a browser shows it as a page. */
void mv_serve_answer_make(mv_serve_site *site, const mv_serve_request *request,
                          mv_serve_answer *out)
{
    bool is_page;

    answer(site, request, out);
    is_page = out->bytes.data && out->bytes.data == site->page.data;
    add_header(out, "Content-Security-Policy", "%sframe-ancestors 'none'",
               is_page ? "" : "default-src 'none'; sandbox; ");
}
