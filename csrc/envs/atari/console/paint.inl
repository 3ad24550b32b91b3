/* Paint: turns a line's masks into pixels.
 *
 * Included by tia.inl after `layer`. Defines one static function, paint, for AVX-512, for AVX2 or
 * in plain C, whichever the including file is compiled for. */

#if defined(__AVX512BW__)

/* paints the pixels of `span` in one row: the background, then the layers, the last one on top */
static void paint(uint8_t *row, uint8_t background, const layer *layers, int count,
                  const pp_mask *span) {
  for (int w = 0; w < 3; w++) {
    if (!span->word[w]) continue;
    __m512i pixels = _mm512_set1_epi8((char)background);
    for (int i = 0; i < count; i++) {
      __m512i color = _mm512_set1_epi8((char)layers[i].color);
      pixels = _mm512_mask_mov_epi8(pixels, layers[i].mask.word[w], color);
    }
    // the third word's upper half is zero, so nothing is stored past the row
    _mm512_mask_storeu_epi8(row + 64 * w, span->word[w], pixels);
  }
}

#elif defined(__AVX2__)

/* turns 32 bits into 32 bytes of 0 or 255 */
static inline __m256i spread_bits(uint32_t bits) {
  const __m256i which =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
  __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), which);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
}

/* paints the pixels of `span` in one row: the background, then the layers, the last one on top */
static void paint(uint8_t *row, uint8_t background, const layer *layers, int count,
                  const pp_mask *span) {
  for (int part = 0; part < 5; part++) {
    int w = part >> 1, shift = 32 * (part & 1);
    uint32_t wanted = (uint32_t)(span->word[w] >> shift);
    if (!wanted) continue;
    __m256i pixels = _mm256_set1_epi8((char)background);
    for (int i = 0; i < count; i++) {
      uint32_t bits = (uint32_t)(layers[i].mask.word[w] >> shift);
      if (!bits) continue;
      __m256i color = _mm256_set1_epi8((char)layers[i].color);
      pixels = _mm256_blendv_epi8(pixels, color, spread_bits(bits));
    }
    __m256i *to = (__m256i *)(row + 32 * part);
    if (wanted != UINT32_MAX) {
      pixels = _mm256_blendv_epi8(_mm256_loadu_si256(to), pixels, spread_bits(wanted));
    }
    _mm256_storeu_si256(to, pixels);
  }
}

#else

/* turns eight bits into eight bytes of 0 or 255, the lowest bit to the byte at the lowest
 * address */
static inline uint64_t spread_bits(uint64_t bits) {
  uint64_t each = (bits & 0xff) * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
  each = (each + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
  each *= 0xff;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  each = __builtin_bswap64(each);
#endif
  return each;
}

/* paints the pixels of `span` in one row: the background, then the layers, the last one on top */
static void paint(uint8_t *row, uint8_t background, const layer *layers, int count,
                  const pp_mask *span) {
  for (int part = 0; part < PP_LINE_PIXELS / 8; part++) {
    int w = part >> 3, shift = 8 * (part & 7);
    uint64_t wanted = spread_bits(span->word[w] >> shift), old, pixels;
    if (!wanted) continue;
    pixels = background * UINT64_C(0x0101010101010101);
    for (int i = 0; i < count; i++) {
      uint64_t where = spread_bits(layers[i].mask.word[w] >> shift);
      pixels = (pixels & ~where) | (layers[i].color * UINT64_C(0x0101010101010101) & where);
    }
    memcpy(&old, row + 8 * part, 8);
    pixels = (old & ~wanted) | (pixels & wanted);
    memcpy(row + 8 * part, &pixels, 8);
  }
}

#endif
