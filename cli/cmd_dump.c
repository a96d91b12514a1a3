/* memviz dump: prints the whole model as text. What only the container has (format, sizes, notes)
 * is shown by `info`. */
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/report/model_text.h"
#include "parse/model/tables.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the chunks of a container, for debugging files -------------------------------------- */

static const char *verdict(bool good)
{
    return good ? "good" : "BAD";
}

static void put_at(mv_out *out, uint64_t at)
{
    mv_out_u64_wide(out, at, 12);
    mv_out_text(out, "  ");
}

static uint64_t list_header(mv_out *out, mv_span file)
{
    mv_wire_header header;

    memcpy(&header, file.data, sizeof header);
    put_at(out, 0);
    mv_out_format(out, "header version %u features %u hash %s\n", header.version, header.features,
                  verdict(header.hash == XXH3_64bits(&header, offsetof(mv_wire_header, hash))));
    return sizeof header;
}

static uint64_t list_footer(mv_out *out, mv_span file, uint64_t at)
{
    mv_wire_footer footer;

    memcpy(&footer, file.data + at, sizeof footer);
    put_at(out, at);
    mv_out_format(out, "footer index_at %llu file_bytes %llu hash %s\n",
                  (unsigned long long)footer.index_at, (unsigned long long)footer.file_bytes,
                  verdict(footer.hash == XXH3_64bits(&footer, offsetof(mv_wire_footer, hash))));
    return at + sizeof footer;
}

static void put_hash(mv_out *out, const mv_wire_chunk *head, mv_span file, uint64_t at)
{
    const uint8_t *stored = file.data + at + sizeof *head;

    if (head->flags & MV_WIRE_UNSEALED)
        mv_out_text(out, " unsealed\n");
    else
        mv_out_format(out, " hash %s\n",
                      verdict(head->stored_hash == XXH3_64bits(stored, head->stored_bytes)));
}

/* Prints the chunk at `at` and returns the position of the next one. The length is not used if the
 * chunk's head is damaged. */
static uint64_t list_chunk(mv_out *out, mv_span file, uint64_t at)
{
    mv_wire_chunk head;
    const char *name;
    uint64_t left;

    memcpy(&head, file.data + at, sizeof head);
    put_at(out, at);
    if (head.hash != XXH3_64bits(&head, offsetof(mv_wire_chunk, hash))) {
        mv_out_text(out, "chunk with a damaged header\n");
        return at + MV_WIRE_ALIGN;
    }
    name = mv_wire_kind_name(head.kind);
    if (*name != '?')
        mv_out_format(out, "%-14s", name);
    else
        mv_out_format(out, "kind %-9u", head.kind);
    mv_out_format(out, " device %u rows %llu to %llu of %llu codec %u raw %llu stored %llu",
                  head.device, (unsigned long long)head.first_row,
                  (unsigned long long)(head.first_row + head.count),
                  (unsigned long long)head.table_rows, head.codec,
                  (unsigned long long)head.raw_bytes, (unsigned long long)head.stored_bytes);
    left = file.length - at - sizeof head;
    if (head.stored_bytes > left) {
        mv_out_format(out, " cut after %llu\n", (unsigned long long)left);
        return file.length;
    }
    put_hash(out, &head, file, at);
    at += sizeof head + head.stored_bytes;
    return at + (MV_WIRE_ALIGN - at % MV_WIRE_ALIGN) % MV_WIRE_ALIGN;
}

static bool is_magic(mv_span file, uint64_t at, const char *magic, uint64_t length, uint64_t bytes)
{
    return file.length - at >= bytes && memcmp(file.data + at, magic, length) == 0;
}

static bool is_chunk(mv_span file, uint64_t at)
{
    return is_magic(file, at, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES,
                    sizeof(mv_wire_chunk));
}

static bool is_footer(mv_span file, uint64_t at)
{
    return is_magic(file, at, MV_WIRE_END_MAGIC, MV_WIRE_MAGIC_BYTES, sizeof(mv_wire_footer));
}

static uint64_t list_gap(mv_out *out, mv_span file, uint64_t at)
{
    uint64_t end = at;

    while (end < file.length && !is_chunk(file, end) && !is_footer(file, end))
        end = file.length - end > MV_WIRE_ALIGN ? end + MV_WIRE_ALIGN : file.length;
    put_at(out, at);
    mv_out_format(out, "%llu bytes outside chunks\n", (unsigned long long)(end - at));
    return end;
}

static void list_file(mv_out *out, mv_span file)
{
    uint64_t at = list_header(out, file);

    while (at < file.length) {
        if (is_chunk(file, at))
            at = list_chunk(out, file, at);
        else if (is_footer(file, at))
            at = list_footer(out, file, at);
        else
            at = list_gap(out, file, at);
    }
}

/* Prints one line for the header, for each chunk, for each range outside chunks, and for the
 * footer. Does not use the index. Each line shows whether the hash matches. Damage is only reported
 * and does not make the command fail. Returns the exit status. */
static int list_chunks(mv_cli *cli)
{
    mv_source source = {0};
    mv_span file;
    mv_err err = {.offset = MV_NO_OFFSET};
    int status = MV_EXIT_DONE;

    if (mv_source_open(&cli->arena, mv_input_name(cli), &source, &err) != MV_OK ||
        mv_source_rest(&source, &file, &err) != MV_OK)
        status = mv_complain(mv_input_name(cli), &err);
    else if (!is_magic(file, 0, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES, sizeof(mv_wire_header)) &&
             mv_source_check(&source, &err) == MV_OK)
        status = mv_complain_of(mv_input_name(cli), "byte 0: not a memviz container (.bin)");
    else
        list_file(&cli->out, file);
    if (status == MV_EXIT_DONE && mv_source_check(&source, &err) != MV_OK)
        status = mv_complain(mv_input_name(cli), &err);
    mv_source_close(&source);
    return status;
}

int mv_cmd_dump(mv_cli *cli)
{
    bool with_calls = mv_option_given(&cli->options, MV_HAS(CALLS));
    mv_trace trace;

    if (mv_option_given(&cli->options, MV_HAS(CHUNKS)))
        return list_chunks(cli);
    if (!mv_input_read(cli, &trace))
        return MV_EXIT_FAILED;
    if (!mv_model_text_write(&cli->scratch, &trace, with_calls, &cli->out))
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    return MV_EXIT_DONE;
}
