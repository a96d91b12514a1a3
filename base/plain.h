/* Structs that are compared byte by byte (memcmp) must not have padding, because padding bytes may
 * differ between equal values. Within
 *
 *     MV_PLAIN_BEGIN
 *     typedef struct { ... } mv_some_query;
 *     MV_PLAIN_END
 *
 * a struct with padding does not compile. Pointers are only four bytes long in WebAssembly, so
 * pointers and size_t members must be placed in pairs, after the eight-byte numbers. */
#pragma once

#define MV_PLAIN_BEGIN _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wpadded\"")
#define MV_PLAIN_END   _Pragma("GCC diagnostic pop")
