<<<<<<< HEAD
/* Packing: fast compression of bytes with repetitions. A state that contains pictures shrinks to a
 * tenth.
 *
 * Each word of eight bytes is looked up in a table of earlier words. Several words in a row that
 * occurred before are replaced by their distance and their number. */
=======
/* Packing: fast compression of bytes that contain repetitions. A state with pictures in it shrinks
 * to a tenth.
 *
 * The bytes are read as words of eight. Each word is looked up in a table of the words seen before,
 * and a repetition of several words in a row is stored as a length and a distance. */
>>>>>>> h-ra
#ifndef PP_BASE_PACK_H
#define PP_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>

<<<<<<< HEAD
/* Returns the largest packed size of so many bytes, which must be fewer than 2^34. */
size_t pp_pack_bound(size_t size);

/* Packs into a buffer of pp_pack_bound(size) bytes. Returns the packed size. */
size_t pp_pack(const void *bytes, size_t size, void *packed);

/* Unpacks into bytes, or only checks if bytes is null. Returns false if the packed bytes are not
 * those of exactly size bytes; the content of bytes is then undefined. Never reads or writes
 * outside the two buffers, whatever the packed bytes are. */
bool pp_unpack(const void *packed, size_t packed_size, void *bytes, size_t size);
=======
/* Returns the most bytes that so many bytes can have when packed; size must be less than 2^34. */
size_t pp_pack_bound(size_t size);

/* Packs bytes into memory of pp_pack_bound(size) bytes. Returns how many were written. */
size_t pp_pack(const void *bytes, size_t size, void *packed);

/* Unpacks into bytes, or only checks if bytes is null. Returns 1 if packed is the packed form of
 * exactly `size` bytes, else 0; the contents of bytes are then meaningless. Never reads or writes
 * outside these ranges, whatever packed contains. */
int pp_unpack(const void *packed, size_t packed_size, void *bytes, size_t size);
>>>>>>> h-ra

#endif
