/* Values: copies of option values, with defaults filled in. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* returns the bytes of one text or byte string, with its closing zero */
static size_t text_size(const pp_value *value) {
  return value->s ? (size_t)value->size + 1 : 0;
}

void pp_value_default(pp_value *value, const pp_option *option) {
  if (option->type != PP_OPT_FLOAT) value->i = (int64_t)option->number;
  value->f = option->number;
  value->dtype = option->number_dtype;
  value->s = option->text;
  value->size = option->text ? (int64_t)strlen(option->text) : 0;
}

pp_value *pp_values_copy(const pp_option *options, int32_t count, const pp_value *values) {
  size_t size = sizeof(pp_value) * ((size_t)count + 1);
  pp_value *copy;
  char *text;

  for (int32_t i = 0; values && i < count; i++) size += text_size(&values[i]);
  copy = calloc(1, size);
  if (!copy) return NULL;
  text = (char *)(copy + count + 1);
  for (int32_t i = 0; i < count; i++) {
    if (values) copy[i] = values[i];
    if (!copy[i].given) {
      pp_value_default(&copy[i], &options[i]);
    } else if (copy[i].s) {
      memcpy(text, copy[i].s, (size_t)copy[i].size);
      copy[i].s = text;
      text += text_size(&copy[i]);
    }
  }
  return copy;
}
