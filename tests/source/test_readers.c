/* Messages for common mistakes: files that are not snapshots, and snapshots altered after PyTorch
 * wrote them (archived, compressed twice, transferred as text, nested in another object). */
#include "tests/fixture/fixture.h"

static void expect_refused(mv_span bytes, const char *words, uint64_t offset)
{
    mv_trace trace;

    cr_expect_neq(mv_trace_read_bytes(mvt_memory(), bytes, &trace, mvt_err()), MV_OK, "%s", words);
    cr_expect_not_null(strstr(mvt_err()->detail, words), "%s: %s", words, mvt_err()->detail);
    if (offset != MV_NO_OFFSET)
        cr_expect_eq(mvt_err()->offset, offset, "%s", words);
}

#define BYTES(literal)                                  \
    {                                                   \
        (const uint8_t *)(literal), sizeof(literal) - 1 \
    }

Test(readers, other_files_are_named)
{
    static const struct {
        mv_span bytes;
        const char *words;
    } cases[] = {
        {BYTES(""), "the file is empty"},
        {BYTES("memviz session 1\n"), "a session of the viewer"},
        {BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
         "run git lfs pull"},
        {BYTES("{\"segments\": []}"), "looks like text"},
        {BYTES("PK\3\4\0\0\0\0"), "a zip archive"},
        {BYTES("\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3."),
         "a torch.save file from before PyTorch 1.6"},
        {BYTES("\xfd"
               "7zXZ\0"),
         "xz-compressed; unpack it first"},
        {BYTES("BZh91AY&SY"), "bzip2-compressed; unpack it first"},
        {BYTES("\xef\xbb\xbf\x80\4}."), "a pickle after a byte order mark"},
        {BYTES("\xc2\x80\4\xc2\x95"), "a pickle that was stored as UTF-8 text"},
        {BYTES("\xef\xbf\xbd\4\xef\xbf\xbd"), "stored as UTF-8 text, which lost its bytes"},
        {BYTES("}q\0X\x08\0\0\0segments"), "pickle protocol 0 or 1"},
        {BYTES("(dp0\nVsegments\n"), "pickle protocol 0 or 1"},
        {BYTES("(dp0\r\nVsegments\r\n"), "pickle protocol 0 or 1"},
        {BYTES("(lp0\n."), "pickle protocol 0 or 1"},
        {BYTES("]q\0}q\1X\x08\0\0\0segments"), "pickle protocol 0 or 1"},
        {BYTES("((lp0\n(dp1\nVsegments\n"), "pickle protocol 0 or 1"},
        {BYTES("(}q\0X\x08\0\0\0segments"), "pickle protocol 0 or 1"},
        {BYTES("ccollections\nOrderedDict\np0\n(tRp1\n"), "pickle protocol 0 or 1"},
        {BYTES("ccopy_reg\n_reconstructor\nq\0(c"), "pickle protocol 0 or 1"},
        {BYTES("cpathlib\nPosixPath\np0\n(Vx\n"), "pickle protocol 0 or 1"},
        {BYTES("count,size\n1,2\n"), "neither a PyTorch snapshot"},
        {BYTES("class A:\n    pass\n"), "neither a PyTorch snapshot"},
        {BYTES("char *name;\n"), "neither a PyTorch snapshot"},
        {BYTES("collections\ncount\nqueue\n"), "neither a PyTorch snapshot"},
        {BYTES("ccollections\n"), "neither a PyTorch snapshot"},
        {BYTES("(a text)\n"), "neither a PyTorch snapshot"},
        {BYTES("(default) 10:00:00 started\n"), "neither a PyTorch snapshot"},
        {BYTES("(loss 0.1)\n"), "neither a PyTorch snapshot"},
        {BYTES("(lp0 is the printer)\n"), "neither a PyTorch snapshot"},
        {BYTES("(1, 2)\n"), "neither a PyTorch snapshot"},
        {BYTES("}q\n"), "neither a PyTorch snapshot"},
        {BYTES("]q"), "neither a PyTorch snapshot"},
        {BYTES("(((((("), "neither a PyTorch snapshot"},
        {BYTES("hello"), "neither a PyTorch snapshot"},
        {BYTES("SQLite format 3\0\20\0"), "this is an SQLite database"},
        {BYTES("\x58\0\0\0\0\0\0\0{\"__metadata__\":{}}"), "these are tensors (safetensors)"},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_refused(cases[i].bytes, cases[i].words, 0);
        cr_expect_eq(mvt_err()->code, MV_FORMAT);
    }
}

/* An object that users do not put into a snapshot gets no advice to leave it out. */
Test(readers, a_system_call_in_a_pickle_is_refused)
{
    expect_refused(
        mvt_file(mvt_memory(), MV_TESTDATA "/bad/os_system_stack_global.FORBIDDEN.pickle"),
        "STACK_GLOBAL of os.system: snapshots do not contain it; in Python, load only files that "
        "you created yourself; nothing was executed",
        14);
    cr_expect_eq(mvt_err()->code, MV_FORBIDDEN);
}

Test(readers, archives_and_double_compression_are_named)
{
    uint8_t tar[512] = "snapshot.pickle";
    uint8_t twice[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x03, 0x19, 0x00, 0x00, 0x1f, 0x8b, 0x08};

    memcpy(tar + 257, "ustar", 5);
    expect_refused((mv_span){tar, sizeof tar}, "a tar archive", 0);
    expect_refused((mv_span){twice, sizeof twice}, "compressed twice, here by gzip", 0);
}

/* Inserts a carriage return before every line feed, as FTP and git do in text. */
static mv_span as_text(mv_span bytes)
{
    uint8_t *out = mv_push_array(mvt_memory(), uint8_t, bytes.length * 2);
    uint64_t length = 0;

    for (uint64_t i = 0; i < bytes.length; i++) {
        if (bytes.data[i] == '\n')
            out[length++] = '\r';
        out[length++] = bytes.data[i];
    }
    return (mv_span){out, length};
}

Test(readers, a_transfer_as_text_is_reported)
{
    const char *words =
        "each line feed follows a carriage return: the file was transferred as text";
    mv_span pickle = mvt_file(mvt_memory(), mvt_snapshot("gpt_train"));
    mv_trace trace;
    uint8_t *damaged = mv_push_array(mvt_memory(), uint8_t, pickle.length);

    expect_refused(as_text(pickle), words, MV_NO_OFFSET);
    cr_expect_eq(mvt_err()->code, MV_FORMAT);
    cr_expect_lt(mvt_err()->offset, pickle.length);
    memcpy(damaged, pickle.data, pickle.length);
    damaged[pickle.length / 8] ^= 0xff;
    if (mv_trace_read_bytes(mvt_memory(), (mv_span){damaged, pickle.length}, &trace, mvt_err()) !=
        MV_OK)
        cr_expect_null(strstr(mvt_err()->detail, words),
                       "other damage does not come from a transfer");
}

/* Writes `head`, the values of a snapshot `times` times, and `tail`. */
static mv_span around(const char *head, uint64_t length, int times, const char *tail)
{
    mv_span pickle = mvt_pickle_bytes(mvt_small(), true);
    uint8_t *out =
        mv_push_array(mvt_memory(), uint8_t, length + pickle.length * (uint64_t)times + 16);
    uint64_t at = length;

    memcpy(out, head, length);
    for (int i = 0; i < times; i++) {
        memcpy(out + at, pickle.data + 2, pickle.length - 3); /* without PROTO and STOP */
        at += pickle.length - 3;
    }
    memcpy(out + at, tail, strlen(tail));
    return (mv_span){out, at + strlen(tail)};
}

#define AROUND(head, times, tail) around((head), sizeof(head) - 1, (times), (tail))

Test(readers, a_snapshot_within_another_object_is_found)
{
    expect_refused(AROUND("\x80\4}(\x8c\4rankK\0\x8c\x08snapshot", 1, "u."),
                   "a snapshot is under the key \"snapshot\"; dump it alone", MV_NO_OFFSET);
    expect_refused(AROUND("\x80\4](", 2, "e."), "a snapshot is in a list; dump each one separately",
                   MV_NO_OFFSET);
    expect_refused(AROUND("\x80\4}(K\0", 1, "u."), "a snapshot is under a key; dump it alone",
                   MV_NO_OFFSET);
    expect_refused(
        AROUND("\x80\4}(\x8c\4rankK\0\x8c\4name", 0, "Nu."),
        "neither \"segments\" nor \"device_traces\", as in a checkpoint; pass the file that "
        "_dump_snapshot wrote",
        MV_NO_OFFSET);
}
