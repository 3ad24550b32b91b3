/* Packing: bytes that repeat themselves in fewer bytes, quickly; a state with pictures in it
 * shrinks to a tenth.
 *
 * Words of eight bytes are looked up in a table of those seen before; where several in a row stood
 * before, a pair of numbers stands for them. */
#ifndef PP_BASE_PACK_H
#define PP_BASE_PACK_H

#include <stddef.h>

/* room that packing so many bytes needs at most; they must be fewer than 2^34 */
size_t pp_pack_bound(size_t size);

/* packs into room of pp_pack_bound(size) bytes; returns how many were written */
size_t pp_pack(const void *bytes, size_t size, void *packed);

/* 1: it was packed from exactly so many bytes, which are now in bytes (null: just looks); 0: it was
 * not, and what is in bytes now means nothing. Reads and writes nothing outside, whatever is there
 */
int pp_unpack(const void *packed, size_t packed_size, void *bytes, size_t size);

#endif
