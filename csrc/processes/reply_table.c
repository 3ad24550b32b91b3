/* Reply tables: how the parent copies the records in its workers' replies into columns. */
#include <string.h>

#include "lanes.h"

/* Returns the records of a reply, or null if it has another head or another number of them. */
static const char *records_of(const pp_pool *pool, const pp_reply_table *table,
                              const pp_reply_part *part) {
  int64_t size;
  const char *reply = pp_pool_reply(pool, part->env_id, &size);
  if (!reply || size != part->head_size + part->num_records * table->record_size ||
      memcmp(reply, part->head, (size_t)part->head_size) != 0) {
    return NULL;
  }
  return reply + part->head_size;
}

static void copy_record(const pp_reply_table *table, const char *record, int64_t row, char *out) {
  for (int32_t f = 0; f < table->num_fields; f++) {
    const pp_reply_field *field = &table->fields[f];
    memcpy(out + field->column + row * field->size, record + field->offset, (size_t)field->size);
  }
}

int32_t pp_pool_read_table(const pp_pool *pool, const pp_reply_table *table, void *out) {
  int32_t num_replied;
  const int32_t *replied = pp_pool_replied(pool, &num_replied);
  int64_t row = 0;

  if (num_replied != table->num_parts) return 0;
  for (int32_t p = 0; p < num_replied; p++) {
    const pp_reply_part *part = &table->parts[p];
    const char *records = replied[p] == part->env_id ? records_of(pool, table, part) : NULL;
    if (!records) return 0;
    for (int64_t i = 0; i < part->num_records; i++) {
      copy_record(table, records + i * table->record_size, row++, out);
    }
  }
  return 1;
}
