// motion.inl: how far HMOVE moves an object, by the cycle of the line in which it is written.
// Included by tia_write.inl.
static inline int motion_shift(int cycle, int motion) {
  int amount = motion < 8 ? motion : motion - 16;
  (void)cycle;
  return -amount;
}
