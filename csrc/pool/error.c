/* Error: fills in pp_error, and names statuses. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int pp_error_set(pp_error *error, int status, const char *format, ...) {
  if (error) {
    va_list arguments;
    error->code = status;
    error->env_id = -1;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
  }
  return status;
}

void pp_error_explain(pp_error *error, const char *callback, int status) {
  error->text[PP_ERROR_TEXT - 1] = '\0';
  if (error->text[0]) return;
  pp_error_set(error, status, "its callback %s returned %d (%s) and wrote no reason to error->text",
               callback, status, pp_status_name(status));
}

const char *pp_status_name(int32_t status) {
  switch (status) {
    case PP_OK: return "PP_OK";
    case PP_AGAIN: return "PP_AGAIN";
    case PP_ERR_ARGUMENT: return "PP_ERR_ARGUMENT";
    case PP_ERR_TYPE: return "PP_ERR_TYPE";
    case PP_ERR_STATE: return "PP_ERR_STATE";
    case PP_ERR_MEMORY: return "PP_ERR_MEMORY";
    case PP_ERR_SYSTEM: return "PP_ERR_SYSTEM";
    case PP_ERR_ENV: return "PP_ERR_ENV";
    case PP_ERR_CLOSED: return "PP_ERR_CLOSED";
    case PP_ERR_FORKED: return "PP_ERR_FORKED";
    case PP_ERR_ABI: return "PP_ERR_ABI";
    case PP_ERR_BROKEN: return "PP_ERR_BROKEN";
    case PP_ERR_TIMEOUT: return "PP_ERR_TIMEOUT";
    default: return "unknown status";
  }
}
