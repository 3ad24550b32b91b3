// tia_base.c: the television chip for any processor.
#define PP_BUILD(name) name##_base
#include "tia.inl"
