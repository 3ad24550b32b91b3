/* TIA generic: the television chip for any processor. */
#define PP_BUILD(name) name##_generic
#include "tia.inl"
