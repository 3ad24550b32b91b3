/* System files: reads lines of /proc and /sys, of this machine or of a copy under a folder. */
#include "sysfile.h"

#include <string.h>

FILE *pp_sysfile_open(const char *root, const char *path) {
  char full[PP_SYSFILE_PATH];
  int length = snprintf(full, sizeof(full), "%s%s", root, path);
  return length > 0 && length < PP_SYSFILE_PATH ? fopen(full, "re") : NULL;
}

bool pp_sysfile_line(const char *root, const char *path, const char *prefix,
                     char line[PP_SYSFILE_LINE]) {
  FILE *file = pp_sysfile_open(root, path);
  if (!file) return false;
  size_t skip = strlen(prefix);
  bool found = false;
  while (!found && fgets(line, PP_SYSFILE_LINE, file)) found = strncmp(line, prefix, skip) == 0;
  fclose(file);
  if (found) memmove(line, line + skip, strlen(line + skip) + 1);
  return found;
}
