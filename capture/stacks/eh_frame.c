#include "capture/stacks/eh_frame.h"

#include "capture/stacks/loader_list.h"

#include <stddef.h>
#include <string.h>

/* Sources: DWARF 4, section 6.4 and figure 40 (call frame instructions), 7.6 (LEB128); Linux
 * Standard Base Core, "Exception Frames" (augmentations, .eh_frame_hdr, pointer encodings); System
 * V ABI for AMD64, table 3.36 (register numbers). */
enum { REG_RBP = 6, REG_RSP = 7, REG_RETURN = 16 };
enum { ENC_ABSOLUTE = 0x00, ENC_PCREL_SDATA4 = 0x1b, ENC_DATAREL_SDATA4 = 0x3b, ENC_OMIT = 0xff };
enum { MOST_REMEMBERED = 8 };

/* A reader over bytes of a loaded file. Beyond `end`, all bytes are zero. */
typedef struct {
    const uint8_t *at, *end;
    bool overrun;
} byte_reader;

static uint64_t take(byte_reader *b, unsigned size)
{
    uint64_t value = 0;

    if (b->overrun || (size_t)(b->end - b->at) < size) {
        b->overrun = true;
        return 0;
    }
    memcpy(&value, b->at, size);
    b->at += size;
    return value;
}

static uint64_t take_leb(byte_reader *b, bool is_signed)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint64_t byte = take(b, 1);
        value |= (byte & 127) << shift;
        if (!(byte & 128))
            return is_signed && byte & 64 ? value | ~(uint64_t)0 << (shift + 7) : value;
    }
    b->overrun = true;
    return 0;
}

static uint64_t take_uleb(byte_reader *b)
{
    return take_leb(b, false);
}

static void skip(byte_reader *b, uint64_t size)
{
    if (size > (uint64_t)(b->end - b->at))
        b->overrun = true;
    else
        b->at += size;
}

/* The parts of a table row that are needed here. The table is described by instructions. */
typedef struct {
    uint8_t cfa;      /* mv_cfa_kind */
    uint8_t saved[3]; /* mv_saved_kind for rbp, rsp and the return address */
    int64_t cfa_offset;
    int64_t offset[3];
} rule_row;

/* The state of the instructions of one function. */
typedef struct {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding; /* encoding of code addresses */
    bool has_data, is_signal;
    rule_row first, now, kept[MOST_REMEMBERED];
    unsigned kept_count;
    uint64_t location, pc;
    bool is_strange; /* an unknown instruction occurred */
} rule_machine;

/* Returns the index of rbp, rsp or the return address in `saved`; -1 for other registers. */
static int slot_of(uint64_t reg)
{
    return reg == REG_RBP ? 0 : reg == REG_RSP ? 1 : reg == REG_RETURN ? 2 : -1;
}

static void save(rule_machine *m, uint64_t reg, mv_saved_kind kind, int64_t offset)
{
    int slot = slot_of(reg);

    if (slot < 0)
        return;
    m->now.saved[slot] = (uint8_t)kind;
    m->now.offset[slot] = offset;
}

static void restore(rule_machine *m, uint64_t reg)
{
    int slot = slot_of(reg);

    if (slot < 0)
        return;
    m->now.saved[slot] = m->first.saved[slot];
    m->now.offset[slot] = m->first.offset[slot];
}

static void set_cfa(rule_machine *m, uint64_t reg, int64_t offset)
{
    m->now.cfa = reg == REG_RSP ? MV_CFA_RSP : reg == REG_RBP ? MV_CFA_RBP : MV_CFA_UNKNOWN;
    m->now.cfa_offset = offset;
}

/* Decodes rsp + n or rbp + n, or the word at such an address. Compilers use no other
 * expressions. */
static bool take_place(byte_reader *b, bool *is_rsp, int64_t *offset, bool *is_inside)
{
    enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };
    uint64_t length = take_uleb(b), op;
    byte_reader inner;

    if (b->overrun || length > (uint64_t)(b->end - b->at))
        return false;
    inner = (byte_reader){b->at, b->at + length, false};
    b->at += length;
    op = take(&inner, 1);
    if (op != OP_BREG0 + REG_RBP && op != OP_BREG0 + REG_RSP)
        return false;
    *is_rsp = op == OP_BREG0 + REG_RSP;
    *offset = (int64_t)take_leb(&inner, true);
    *is_inside = inner.at < inner.end && take(&inner, 1) == OP_DEREF;
    return !inner.overrun && inner.at == inner.end;
}

static void set_cfa_expression(rule_machine *m, byte_reader *b)
{
    bool is_rsp, is_inside;
    int64_t offset;

    m->now.cfa = MV_CFA_UNKNOWN;
    if (!take_place(b, &is_rsp, &offset, &is_inside))
        return;
    m->now.cfa_offset = offset;
    if (is_inside)
        m->now.cfa = is_rsp ? MV_CFA_INSIDE_RSP : MV_CFA_INSIDE_RBP;
    else
        m->now.cfa = is_rsp ? MV_CFA_RSP : MV_CFA_RBP;
}

static void save_by_expression(rule_machine *m, byte_reader *b, uint64_t reg)
{
    bool is_rsp, is_inside;
    int64_t offset;
    bool is_known = take_place(b, &is_rsp, &offset, &is_inside) && !is_inside;

    if (is_known)
        save(m, reg, is_rsp ? MV_SAVED_AT_RSP : MV_SAVED_AT_RBP, offset);
    else if (slot_of(reg) >= 0)
        m->is_strange = true;
}

/* Runs instructions with an operand in the low six bits, and instructions that advance the
 * location. Returns false for all other instructions. */
static bool run_short(rule_machine *m, byte_reader *b, unsigned op)
{
    unsigned low = op & 63;

    switch (op & 0xc0) {
    case 0x40: /* advance_loc */
        m->location += low * m->code_align;
        return true;
    case 0x80: /* offset */
        save(m, low, MV_SAVED_AT_CFA, (int64_t)take_uleb(b) * m->data_align);
        return true;
    case 0xc0: /* restore */
        restore(m, low);
        return true;
    default:
        break;
    }
    if (op >= 2 && op <= 4) { /* advance_loc1, 2, 4 */
        m->location += take(b, 1u << (op - 2)) * m->code_align;
        return true;
    }
    return false;
}

/* Runs all other instructions, by their numbers in DWARF. */
static void run_long(rule_machine *m, byte_reader *b, unsigned op)
{
    uint64_t reg = op >= 5 && op <= 9 ? take_uleb(b) : 0;

    switch (op) {
    case 0x00: /* nop */
        break;
    case 0x05: /* offset_extended */
        save(m, reg, MV_SAVED_AT_CFA, (int64_t)take_uleb(b) * m->data_align);
        break;
    case 0x06: /* restore_extended */
        restore(m, reg);
        break;
    case 0x07: /* undefined; if the return address is undefined, there is no caller */
    case 0x08: /* same_value */
        save(m, reg, MV_SAVED_NOT, 0);
        break;
    case 0x09: /* register */
        take_uleb(b);
        m->is_strange = m->is_strange || slot_of(reg) >= 0;
        break;
    case 0x0a: /* remember_state */
        if (m->kept_count == MOST_REMEMBERED)
            m->is_strange = true;
        else
            m->kept[m->kept_count++] = m->now;
        break;
    case 0x0b: /* restore_state */
        if (m->kept_count == 0)
            m->is_strange = true;
        else
            m->now = m->kept[--m->kept_count];
        break;
    case 0x0c: /* def_cfa */
        reg = take_uleb(b);
        set_cfa(m, reg, (int64_t)take_uleb(b));
        break;
    case 0x0d: /* def_cfa_register */
        set_cfa(m, take_uleb(b), m->now.cfa_offset);
        break;
    case 0x0e: /* def_cfa_offset */
        m->now.cfa_offset = (int64_t)take_uleb(b);
        break;
    case 0x0f: /* def_cfa_expression */
        set_cfa_expression(m, b);
        break;
    case 0x10: /* expression */
        reg = take_uleb(b);
        save_by_expression(m, b, reg);
        break;
    case 0x11: /* offset_extended_sf */
        reg = take_uleb(b);
        save(m, reg, MV_SAVED_AT_CFA, (int64_t)take_leb(b, true) * m->data_align);
        break;
    case 0x12: /* def_cfa_sf */
        reg = take_uleb(b);
        set_cfa(m, reg, (int64_t)take_leb(b, true) * m->data_align);
        break;
    case 0x13: /* def_cfa_offset_sf */
        m->now.cfa_offset = (int64_t)take_leb(b, true) * m->data_align;
        break;
    case 0x2e: /* GNU_args_size */
        take_uleb(b);
        break;
    default: /* val_offset, val_expression, set_loc, and future instructions */
        m->is_strange = true;
        break;
    }
}

/* Runs the instructions up to the first one for code after pc. */
static void run(rule_machine *m, byte_reader b)
{
    while (b.at < b.end && !b.overrun && !m->is_strange) {
        rule_row before = m->now;
        uint64_t location = m->location;
        unsigned op = (unsigned)take(&b, 1);

        if (!run_short(m, &b, op))
            run_long(m, &b, op);
        if (m->location != location && m->location > m->pc) {
            m->now = before;
            return;
        }
    }
    m->is_strange = m->is_strange || b.overrun;
}

/* Reads the part that is common to the tables of many functions. Moves `b` to its instructions. */
static bool read_cie(byte_reader *b, rule_machine *m)
{
    const char *letters;
    uint64_t length, version;
    const uint8_t *end;

    version = take(b, 1);
    letters = (const char *)b->at;
    if (b->overrun || (version != 1 && version != 3) ||
        !memchr(letters, 0, (size_t)(b->end - b->at)))
        return false;
    skip(b, strlen(letters) + 1);
    m->code_align = take_uleb(b);
    m->data_align = (int64_t)take_leb(b, true);
    if ((version == 1 ? take(b, 1) : take_uleb(b)) != REG_RETURN || b->overrun)
        return false;
    m->has_data = *letters == 'z';
    if (!m->has_data)
        return *letters == 0;
    length = take_uleb(b);
    if (b->overrun || length > (uint64_t)(b->end - b->at))
        return false;
    end = b->at + length;
    for (letters++; *letters; letters++) {
        uint64_t encoding = strchr("RLP", *letters) ? take(b, 1) : 0;
        if (*letters == 'R')
            m->encoding = (uint8_t)encoding;
        else if (*letters == 'S')
            m->is_signal = true;
        else if (*letters == 'P') /* the personality: 8 bytes, or the encoding's 2 or 4 */
            skip(b, (encoding & 7) == 2 ? 2 : (encoding & 7) == 3 ? 4 : 8);
        else if (*letters != 'L')
            return false;
    }
    b->at = end;
    return !b->overrun;
}

/* Opens a record of .eh_frame: moves `b` past its length, and sets its end to the record's end. */
static bool open_record(byte_reader *b)
{
    uint64_t length = take(b, 4);

    if (b->overrun || length == 0 || length == UINT32_MAX || length > (uint64_t)(b->end - b->at))
        return false;
    b->end = b->at + length;
    return true;
}

/* Runs the table of the function at `record`. Returns false if pc is not in this function. */
static bool run_function(const uint8_t *record, const uint8_t *first, const uint8_t *end,
                         rule_machine *m)
{
    byte_reader fde = {record, end, false}, cie;
    uint64_t back, start, range;
    const uint8_t *at;

    if (!open_record(&fde))
        return false;
    at = fde.at;
    back = take(&fde, 4);
    if (back == 0 || back > (uint64_t)(at - first))
        return false;
    cie = (byte_reader){at - back, end, false};
    if (!open_record(&cie) || take(&cie, 4) != 0 || !read_cie(&cie, m))
        return false;
    at = fde.at;
    if (m->encoding == ENC_PCREL_SDATA4) {
        start = (uint64_t)(uintptr_t)at + (uint64_t)(int64_t)(int32_t)take(&fde, 4);
        range = take(&fde, 4);
    } else if (m->encoding == ENC_ABSOLUTE) {
        start = take(&fde, 8);
        range = take(&fde, 8);
    } else {
        return false;
    }
    if (m->has_data)
        skip(&fde, take_uleb(&fde));
    if (fde.overrun || m->pc < start || m->pc - start >= range)
        return false;
    m->location = start;
    run(m, cie);
    m->first = m->now;
    m->location = start;
    run(m, fde);
    return true;
}

/* Finds the record for pc in the sorted table of .eh_frame_hdr. Each entry of the table consists of
 * two 32-bit offsets from the header's start: those of a function and of its record. */
static const uint8_t *find_record(const uint8_t *header, uint64_t size, uint64_t pc)
{
    int32_t entry[2];
    uint32_t count, low = 0;
    int64_t want = (int64_t)(pc - (uint64_t)(uintptr_t)header);

    if (size < 12 || header[0] != 1 || header[1] != ENC_PCREL_SDATA4 || header[2] != 3 ||
        header[3] != ENC_DATAREL_SDATA4)
        return NULL;
    memcpy(&count, header + 8, sizeof count);
    if (count == 0 || count > (size - 12) / 8)
        return NULL;
    for (uint32_t high = count; high - low > 1;) {
        uint32_t middle = low + (high - low) / 2;
        memcpy(entry, header + 12 + (uint64_t)middle * 8, sizeof entry);
        if (entry[0] <= want)
            low = middle;
        else
            high = middle;
    }
    memcpy(entry, header + 12 + (uint64_t)low * 8, sizeof entry);
    return entry[0] <= want ? header + entry[1] : NULL;
}

static bool fits(int64_t value, int64_t most)
{
    return value >= -most && value < most;
}

static mv_frame_rule rule_of(const rule_machine *m)
{
    const rule_row *r = &m->now;
    mv_frame_rule rule = {.is_signal = m->is_signal};

    if (m->is_strange || (r->saved[1] != MV_SAVED_NOT && !m->is_signal))
        return rule;
    if (r->saved[2] == MV_SAVED_NOT) {
        rule.cfa = MV_CFA_END;
        return rule;
    }
    if (!fits(r->cfa_offset, 1 << 23) || !fits(r->offset[0], 1 << 15) ||
        !fits(r->offset[2], 1 << 15))
        return rule;
    rule.cfa = r->cfa;
    rule.cfa_offset = (int32_t)r->cfa_offset;
    rule.rbp = r->saved[0];
    rule.rbp_offset = (int16_t)r->offset[0];
    rule.address = r->saved[2];
    rule.return_offset = (int16_t)r->offset[2];
    return rule;
}

typedef struct {
    uint64_t pc;
    mv_frame_rule rule;
} rule_lookup;

static void ask_file(const struct dl_phdr_info *info, const ElfW(Phdr) * header_at, rule_lookup *q)
{
    const uint8_t *header = (const uint8_t *)(info->dlpi_addr + header_at->p_vaddr);
    const uint8_t *record = find_record(header, header_at->p_memsz, q->pc);
    const ElfW(Phdr) *segment =
        record ? mv_loader_segment(info, (uint64_t)(uintptr_t)record) : NULL;
    static rule_machine m; /* static because it is too large for the program's stacks; the loader's
                            * lock is held */
    const uint8_t *first;

    if (!segment)
        return;
    m = (rule_machine){.pc = q->pc};
    first = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
    if (run_function(record, first, first + segment->p_memsz, &m))
        q->rule = rule_of(&m);
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    rule_lookup *q = context;

    (void)size;
    if (!mv_loader_segment(info, q->pc))
        return 0;
    q->rule.cfa = MV_CFA_END;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            ask_file(info, &info->dlpi_phdr[i], q);
    return 1;
}

mv_frame_rule mv_eh_frame_rule(uint64_t pc)
{
    rule_lookup q = {.pc = pc}; /* code outside all files may be generated code, whose tables are
                                 * registered elsewhere */

    mv_loader_iterate(look, &q);
    return q.rule;
}
