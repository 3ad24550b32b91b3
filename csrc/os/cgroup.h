/* Control groups: the cores and the memory that the kernel lets this process use. */
#ifndef PP_OS_CGROUP_H
#define PP_OS_CGROUP_H

#include <stdint.h>

/* Returns the CPU quota in cores, rounded up; INT64_MAX if there is none. root: a folder to read
 * /proc and /sys under, "" for this machine. */
int64_t pp_cgroup_cores(const char *root);

/* Returns the memory limit in bytes; INT64_MAX if there is none. */
int64_t pp_cgroup_memory(const char *root);

#endif
