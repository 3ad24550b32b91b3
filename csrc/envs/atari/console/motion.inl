/* Motion: how far HMOVE moves an object, which depends on the cycle at which it is written.
 * Included by tia_write.inl; a static function that needs nothing else.
 *
 * HMOVE sends each object up to fifteen extra clocks, one every four clocks. Their number is the
 * object's motion register with the top bit inverted. A clock between two lines moves the object
 * one pixel to the left; a clock within a line's pixels has no effect. HMOVE at a line's start also
 * makes the blank before the line eight clocks longer, which moves everything to the right. Returns
 * the pixels by which an object moves to the right. */
static inline int motion_shift(int cycle, int motion) {
  int clocks = motion ^ 8;
  if (cycle > 74) return 8 - clocks;
  if (cycle < 21) {
    int fitting = (70 - 3 * cycle) / 4;
    return 8 - (clocks < fitting ? clocks : fitting);
  }
  int lost = (222 - 3 * cycle) / 4;
  return clocks > lost ? lost - clocks : 0;
}
