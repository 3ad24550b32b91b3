/* Packing: fast compression of bytes with repetitions. A state that contains pictures shrinks to a
 * tenth.
 *
 * Each word of eight bytes is looked up in a table of earlier words. Several words in a row that
 * occurred before are replaced by their distance and their number. */
#ifndef PP_BASE_PACK_H
#define PP_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the largest packed size of `size` bytes, which must be fewer than 2^34. */
size_t pp_pack_bound(size_t size);

/* Packs into a buffer of pp_pack_bound(size) bytes. Returns the packed size. */
size_t pp_pack(const void *bytes, size_t size, void *packed);

/* Unpacks into bytes, or only checks if bytes is null. Returns false if the packed bytes are not
 * those of exactly size bytes; the content of bytes is then undefined. Never reads or writes
 * outside the two buffers, whatever the packed bytes are. */
bool pp_unpack(const void *packed, size_t packed_size, void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
