/* Control groups: what the process may use of the machine. */
#ifndef PP_OS_CGROUP_H
#define PP_OS_CGROUP_H

#include <stdint.h>

/* cores' worth of time, rounded up; INT64_MAX when nothing is limited. root "" is this machine */
int64_t pp_cgroup_cores(const char *root);

/* bytes of memory; INT64_MAX when nothing is limited */
int64_t pp_cgroup_memory(const char *root);

#endif
