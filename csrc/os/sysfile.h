/* System files: reads lines of /proc and /sys, of this machine or of a copy under a folder. */
#ifndef PP_OS_SYSFILE_H
#define PP_OS_SYSFILE_H

#include <stdbool.h>
#include <stdio.h>

enum {
  PP_SYSFILE_LINE = 8192, /* a list of every second one of 1024 cpus takes 2.5 KB */
  PP_SYSFILE_PATH = 4096
};

/* Opens root/path for reading; root is "" for this machine. Returns null if it can't be opened. */
FILE *pp_sysfile_open(const char *root, const char *path);

/* Writes to line what follows prefix on the first line that starts with it. Returns false if there
 * is no such file or line. */
bool pp_sysfile_line(const char *root, const char *path, const char *prefix,
                     char line[PP_SYSFILE_LINE]);

#endif
