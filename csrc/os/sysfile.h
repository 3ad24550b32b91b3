/* System files: lines of /proc and /sys, of this machine or of a made-up one under a folder. */
#ifndef PP_OS_SYSFILE_H
#define PP_OS_SYSFILE_H

#include <stdio.h>

enum {
  PP_SYSFILE_LINE = 8192,  // a list of every other of 1024 cpus takes 2.5 KB
  PP_SYSFILE_PATH = 4096
};

/* opens root/path for reading; root "" is this machine. Null: there is no such file */
FILE *pp_sysfile_open(const char *root, const char *path);

/* what follows prefix on the first line that starts with it; 0: there is no such file or line */
int pp_sysfile_line(const char *root, const char *path, const char *prefix,
                    char line[PP_SYSFILE_LINE]);

#endif
