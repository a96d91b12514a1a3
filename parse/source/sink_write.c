/* Functions that write to a sink, wherever its file is. */
#include "parse/source/sink.h"

#include <errno.h>
#include <stdarg.h>

void mv_sink_fail(mv_sink *sink)
{
    if (!sink->failed)
        sink->why = errno ? errno : EIO;
    sink->failed = true;
}

void mv_sink_write(mv_sink *sink, const void *data, uint64_t bytes)
{
    if (sink->failed || bytes == 0)
        return;
    if (fwrite(data, 1, (size_t)bytes, sink->file) != bytes)
        mv_sink_fail(sink);
    sink->bytes += bytes;
}

void mv_sink_printf(mv_sink *sink, const char *format, ...)
{
    va_list args;
    int length;

    if (sink->failed)
        return;
    va_start(args, format);
    length = vfprintf(sink->file, format, args);
    va_end(args);
    if (length < 0)
        mv_sink_fail(sink);
    else
        sink->bytes += (uint64_t)length;
}
