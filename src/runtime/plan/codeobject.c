/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/codeobject.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { NOTE_METADATA = 32, DEEPEST = 16 };

/* A MessagePack text being read; at moves to end when anything is odd. */
typedef struct reader {
    const unsigned char *at, *end;
} reader;

typedef enum kind { OTHER, NUMBER, TEXT, MAP, ARRAY } kind;

typedef struct item {
    kind kind;
    uint64_t number;  /* value, or count of elements or pairs */
    const char *text;
    size_t length;
} item;

static uint64_t big_endian(reader *r, int bytes)
{
    uint64_t value = 0;
    if (r->end - r->at < bytes) {
        r->at = r->end;
        return 0;
    }
    for (int i = 0; i < bytes; i++)
        value = value << 8 | *r->at++;
    return value;
}

static item payload(reader *r, kind of, uint64_t length)
{
    item it = {.kind = of, .text = (const char *)r->at, .length = (size_t)length};
    if (length > (uint64_t)(r->end - r->at)) {
        r->at = r->end;
        return (item){0};
    }
    r->at += length;
    return it;
}

/* Reads one value; of a map or an array only its head. */
static item next(reader *r)
{
    unsigned c = (unsigned)big_endian(r, 1);
    if (c <= 0x7f)
        return (item){.kind = NUMBER, .number = c};
    if (c <= 0x8f)
        return (item){.kind = MAP, .number = c & 15};
    if (c <= 0x9f)
        return (item){.kind = ARRAY, .number = c & 15};
    if (c <= 0xbf)
        return payload(r, TEXT, c & 31);
    switch (c) {
    case 0xc4: case 0xc5: case 0xc6: /* bytes */
        return payload(r, OTHER, big_endian(r, 1 << (c - 0xc4)));
    case 0xca: case 0xcb: /* floats */
        return payload(r, OTHER, c == 0xca ? 4 : 8);
    case 0xcc: case 0xcd: case 0xce: case 0xcf:
        return (item){.kind = NUMBER, .number = big_endian(r, 1 << (c - 0xcc))};
    case 0xd0: case 0xd1: case 0xd2: case 0xd3:
        return (item){.kind = NUMBER, .number = big_endian(r, 1 << (c - 0xd0))};
    case 0xd9: case 0xda: case 0xdb:
        return payload(r, TEXT, big_endian(r, 1 << (c - 0xd9)));
    case 0xdc: case 0xdd:
        return (item){.kind = ARRAY, .number = big_endian(r, c == 0xdc ? 2 : 4)};
    case 0xde: case 0xdf:
        return (item){.kind = MAP, .number = big_endian(r, c == 0xde ? 2 : 4)};
    default: /* nil, booleans, negative numbers; extensions do not occur */
        return (item){0};
    }
}

static void skip(reader *r, int depth)
{
    item it = next(r);
    uint64_t parts = it.kind == MAP ? 2 * it.number : it.kind == ARRAY ? it.number : 0;
    if (depth >= DEEPEST)
        r->at = r->end;
    for (uint64_t i = 0; i < parts && r->at < r->end; i++)
        skip(r, depth + 1);
}

static bool is(const item *it, const char *text)
{
    return it->kind == TEXT && it->length == strlen(text) && !memcmp(it->text, text, it->length);
}

/* One element of amdhsa.kernels; true when it is the kernel looked for. */
static bool read_kernel(reader *r, const char *kernel, clv_code_counts *counts)
{
    static const char *const names[] = {".vgpr_count", ".sgpr_count", ".vgpr_spill_count",
                                        ".sgpr_spill_count", ".group_segment_fixed_size",
                                        ".private_segment_fixed_size", ".wavefront_size",
                                        ".max_flat_workgroup_size"};
    clv_code_counts found = {-1, -1, -1, -1, -1, -1, -1, -1};
    int *const places[] = {&found.vgprs, &found.sgprs, &found.vgpr_spills, &found.sgpr_spills,
                           &found.local_bytes, &found.private_bytes, &found.wavefront, &found.max_group};
    bool wanted = false;
    item head = next(r);
    for (uint64_t i = 0; head.kind == MAP && i < head.number && r->at < r->end; i++) {
        item name = next(r);
        reader value = *r;
        skip(r, 0);
        item it = next(&value);
        if (is(&name, ".name"))
            wanted = is(&it, kernel);
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            if (is(&name, names[n]) && it.kind == NUMBER && it.number <= INT32_MAX)
                *places[n] = (int)it.number;
    }
    if (wanted)
        *counts = found;
    return wanted;
}

static bool read_metadata(reader r, const char *kernel, clv_code_counts *counts)
{
    item head = next(&r);
    for (uint64_t i = 0; head.kind == MAP && i < head.number && r.at < r.end; i++) {
        item name = next(&r);
        if (!is(&name, "amdhsa.kernels")) {
            skip(&r, 0);
            continue;
        }
        item list = next(&r);
        for (uint64_t k = 0; list.kind == ARRAY && k < list.number && r.at < r.end; k++)
            if (read_kernel(&r, kernel, counts))
                return true;
        return false;
    }
    return false;
}

static bool read_notes(const unsigned char *at, const unsigned char *end, const char *kernel,
                       clv_code_counts *counts)
{
    Elf64_Nhdr note;
    while ((size_t)(end - at) >= sizeof note) {
        memcpy(&note, at, sizeof note);
        at += sizeof note;
        size_t left = (size_t)(end - at), name = ((size_t)note.n_namesz + 3) & ~(size_t)3,
               text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > left || note.n_descsz > left - name)
            return false;
        reader r = {at + name, at + name + note.n_descsz};
        if (note.n_type == NOTE_METADATA && note.n_namesz == 7 && !memcmp(at, "AMDGPU", 7) &&
            read_metadata(r, kernel, counts))
            return true;
        at += name + (text < left - name ? text : left - name);
    }
    return false;
}

bool clv_code_object_counts(const unsigned char *data, size_t bytes, const char *kernel,
                            clv_code_counts *counts)
{
    Elf64_Ehdr elf;
    if (bytes < sizeof elf)
        return false;
    memcpy(&elf, data, sizeof elf);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    for (int i = 0; i < elf.e_shnum; i++) {
        Elf64_Shdr section;
        uint64_t at = elf.e_shoff + (uint64_t)i * sizeof section;
        if (elf.e_shoff > bytes || at + sizeof section > bytes)
            return false;
        memcpy(&section, data + at, sizeof section);
        if (section.sh_type == SHT_NOTE && section.sh_offset <= bytes &&
            section.sh_size <= bytes - section.sh_offset &&
            read_notes(data + section.sh_offset, data + section.sh_offset + section.sh_size, kernel,
                       counts))
            return true;
    }
    return false;
}
