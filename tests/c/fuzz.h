/* What a fuzz target consists of: code that is given any bytes and must do no harm.
 *
 * The names are libFuzzer's, so clang links a target with -fsanitize=fuzzer alone. Without it,
 * fuzz_main.c runs a target with bytes that it makes by changing the target's examples. It is
 * deterministic, so the same numbers of inputs and seed meet the same defect again:
 *
 *     fuzz_rom 300 1
 *
 * A target ends the process by abort() if what it sees is wrong; sanitizers see the rest. */
#ifndef PP_TESTS_FUZZ_H
#define PP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* most bytes of an input */
enum { FUZZ_BYTES = 1 << 15 };

/* Uses an input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes an example of an input, by its number from 0 on. Returns its size, 0: there is none. */
size_t fuzz_example(int number, uint8_t bytes[FUZZ_BYTES]);

#endif
