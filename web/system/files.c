#include "web/system/files.h"

#include <string.h>

#include "base/pages.h"
#include "web/system/fonts.h"

enum { FILES = 1100 };

static mv_file files[FILES], fonts[MV_PAGE_FONTS];

/* Asks the browser to copy bytes to an address. Returns false if the browser cannot read them. */
__attribute__((import_module("page"), import_name("read"))) extern bool
page_read(uint32_t number, double at, void *to, uint32_t count);

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + MV_PAGE - 1) / MV_PAGE * MV_PAGE;
}

mv_file *mv_file_find(const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (*files[i].name && strcmp(files[i].name, name) == 0)
            return &files[i];
    for (int i = 0; i < MV_PAGE_FONTS; i++) {
        const mv_page_font *font = &mv_page_fonts[i];
        if (strcmp(font->path + 1, name) != 0)
            continue;
        fonts[i].bytes = (uint8_t *)font->bytes; /* the bytes of a font are never written to */
        fonts[i].length = font->length;
        return &fonts[i];
    }
    return NULL;
}

static void drop_bytes(mv_file *file)
{
    if (file->room)
        mv_pages_unmap(file->bytes, file->room);
    file->bytes = NULL;
    file->length = file->room = 0;
    file->is_outside = false;
}

bool mv_file_room(mv_file *file, uint64_t room)
{
    void *bytes;

    if (room <= file->room)
        return true;
    room = whole_pages(room > 2 * file->room ? room : 2 * file->room);
    bytes = file->bytes ? mv_pages_resize(file->bytes, file->room, room) : mv_pages_map(room);
    if (!bytes)
        return false;
    file->bytes = bytes;
    file->room = room;
    return true;
}

mv_file *mv_file_named(const char *name)
{
    size_t length = strlen(name);
    mv_file *file = mv_file_find(name);

    for (int i = 0; !file && i < FILES; i++)
        if (!*files[i].name)
            file = &files[i];
    if (!file || length == 0 || length >= sizeof file->name)
        return NULL;
    memcpy(file->name, name, length + 1);
    return file;
}

uint32_t mv_file_new(const char *name, uint64_t length)
{
    mv_file *file = mv_file_named(name);

    if (!file || file->opened)
        return 0;
    drop_bytes(file);
    file->length = length;
    file->is_outside = true;
    return (uint32_t)(file - files) + 1;
}

bool mv_file_read(const mv_file *file, uint64_t at, void *to, uint32_t wanted, uint32_t *got)
{
    uint64_t left = at < file->length ? file->length - at : 0;

    *got = left < wanted ? (uint32_t)left : wanted;
    if (file->is_outside)
        return *got == 0 || page_read((uint32_t)(file - files) + 1, (double)at, to, *got);
    if (*got > 0)
        memcpy(to, file->bytes + at, *got);
    return true;
}

void mv_file_remove(const char *name)
{
    mv_file *file = mv_file_find(name);

    if (!file || file->opened)
        return;
    drop_bytes(file);
    *file->name = '\0';
}
