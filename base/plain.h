/* Structs that are compared byte by byte (memcmp) have no padding, whose bytes may differ between
 * equal values: inside of
 *
 *     MV_PLAIN_BEGIN
 *     typedef struct { ... } mv_some_ask;
 *     MV_PLAIN_END
 *
 * a struct with padding does not compile. The page has pointers of four bytes: a pointer or a
 * size_t comes after numbers of eight bytes, and pairs of them do. */
#ifndef MV_BASE_PLAIN_H
#define MV_BASE_PLAIN_H

#define MV_PLAIN_BEGIN _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wpadded\"")
#define MV_PLAIN_END   _Pragma("GCC diagnostic pop")

#endif
