// motion.inl: how far HMOVE moves an object, by the cycle of the line in which it is written.
// Included by tia_write.inl.
//
// HMOVE sends each object up to fifteen extra clocks, one every four: as many as its motion
// register, its top bit inverted, says. A clock moves the object a pixel to the left if it falls
// between lines; in a line's pixels it has no effect. Begun at a line's start, HMOVE also makes the
// blank before the line eight clocks longer, which moves everything to the right.
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
