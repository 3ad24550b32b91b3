/* Calls into the installed Procgen: reads the link. */
#include "library.h"

#include <string.h>

#include "base/fail.h"

_Static_assert(sizeof(procgen_library) == 9 * sizeof(void *), "the link has nine addresses");
_Static_assert(sizeof(libenv_option) == LIBENV_NAME + 16, "libenv's layout");
_Static_assert(sizeof(libenv_tensortype) == LIBENV_NAME + 84, "libenv's layout");

int procgen_library_read(const pp_value *link, procgen_library *library, pp_error *error) {
  if (link->size != (int64_t)sizeof(*library)) {
    return pp_fail(error, PP_ERR_ARGUMENT, "_link has %lld bytes: leave it to parallel_pool",
                   (long long)link->size);
  }
  // POSIX guarantees that a pointer to data can hold a function's address
  memcpy(library, link->s, sizeof(*library));
  if (library->version() == LIBENV_VERSION) return PP_OK;
  return pp_fail(error, PP_ERR_ARGUMENT,
                 "the installed Procgen has version %d of libenv, not %d: pip install --no-deps "
                 "procgen-mirror==0.10.7",
                 library->version(), LIBENV_VERSION);
}
