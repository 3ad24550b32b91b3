/* Control groups: the cores and the memory that the kernel lets this process use. */
#include "cgroup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sysfile.h"

/* a kind of limit: its controller in version 1, and how to read it from a folder of each version */
typedef struct kind {
  const char *controller;
  int64_t (*v2)(const char *root, const char *folder);
  int64_t (*v1)(const char *root, const char *folder);
  const char *mounts[2]; /* folders of version 1, as systemd and the container runtimes mount it */
} kind;

static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* reads the first line of a file in a folder; returns whether there is one */
static bool read_member(const char *root, const char *folder, const char *member,
                        char line[PP_SYSFILE_LINE]) {
  char path[PP_SYSFILE_PATH];
  snprintf(path, sizeof(path), "%s/%s", folder, member);
  return pp_sysfile_line(root, path, "", line);
}

/* ----------------------------------------------------------------------------------- cores -- */

/* returns a quota in cores, rounded up; INT64_MAX if there is no limit */
static int64_t cores_of(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return INT64_MAX;
  return quota / period + (quota % period != 0);
}

/* cgroup v2: one file, "max 100000" or "150000 100000" */
static int64_t v2_cores(const char *root, const char *folder) {
  char line[PP_SYSFILE_LINE];
  long long quota, period;
  if (!read_member(root, folder, "cpu.max", line)) return INT64_MAX;
  return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cores_of(quota, period) : INT64_MAX;
}

/* cgroup v1: two files; a quota of -1 means none */
static int64_t v1_cores(const char *root, const char *folder) {
  char quota[PP_SYSFILE_LINE], period[PP_SYSFILE_LINE];
  if (!read_member(root, folder, "cpu.cfs_quota_us", quota)) return INT64_MAX;
  if (!read_member(root, folder, "cpu.cfs_period_us", period)) return INT64_MAX;
  return cores_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

static const kind cores = {
    "cpu", v2_cores, v1_cores, {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}};

/* ---------------------------------------------------------------------------------- memory -- */

/* returns a number of bytes; no limit if the text is "max", or anything else that is no number */
static int64_t bytes_of(const char *line) {
  long long bytes = strtoll(line, NULL, 10);
  return bytes > 0 ? bytes : INT64_MAX;
}

static int64_t v2_memory(const char *root, const char *folder) {
  char line[PP_SYSFILE_LINE];
  return read_member(root, folder, "memory.max", line) ? bytes_of(line) : INT64_MAX;
}

/* without a limit, this file holds a number larger than any memory */
static int64_t v1_memory(const char *root, const char *folder) {
  char line[PP_SYSFILE_LINE];
  return read_member(root, folder, "memory.limit_in_bytes", line) ? bytes_of(line) : INT64_MAX;
}

static const kind memory = {
    "memory", v2_memory, v1_memory, {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"}};

/* ---------------------------------------------------------------------------------- groups -- */

/* Returns the tightest limit on the path from a group up to the mount. In a container that sees
 * only its own subtree, the group's folder does not exist, and the mount itself is the container's
 * group. */
static int64_t group_limit(const char *root, const char *mount, const char *group,
                           int64_t (*limit)(const char *root, const char *folder)) {
  if (strstr(group, "..")) group = "";  // outside of this namespace
  char folder[PP_SYSFILE_PATH];
  snprintf(folder, sizeof(folder), "%s%s", mount, group);
  int64_t tightest = INT64_MAX;
  for (;;) {
    tightest = min_of(tightest, limit(root, folder));
    char *slash = strrchr(folder, '/');
    if (slash < folder + strlen(mount)) return tightest;
    *slash = '\0';
  }
}

/* returns whether a list such as "cpu,cpuacct" contains this controller */
static bool names_controller(const char *controllers, size_t length, const char *name) {
  for (size_t begin = 0; begin < length;) {
    size_t size = strcspn(controllers + begin, ",:");
    if (size == strlen(name) && strncmp(controllers + begin, name, size) == 0) return true;
    begin += size + 1;
  }
  return false;
}

/* returns the limit that one line of /proc/self/cgroup ("hierarchy:controllers:path") leads to */
static int64_t line_limit(const char *root, char *line, const kind *what) {
  line[strcspn(line, "\n")] = '\0';
  char *controllers = strchr(line, ':');
  char *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group) return INT64_MAX;
  controllers++;
  size_t length = (size_t)(group++ - controllers);

  if (length == 0) {
    return min_of(group_limit(root, "/sys/fs/cgroup", group, what->v2),
                  group_limit(root, "/sys/fs/cgroup/unified", group, what->v2));
  }
  if (!names_controller(controllers, length, what->controller)) return INT64_MAX;
  return min_of(group_limit(root, what->mounts[0], group, what->v1),
                group_limit(root, what->mounts[1], group, what->v1));
}

static int64_t tightest_limit(const char *root, const kind *what) {
  FILE *file = pp_sysfile_open(root, "/proc/self/cgroup");
  if (!file) return INT64_MAX;
  char line[PP_SYSFILE_LINE];
  int64_t tightest = INT64_MAX;
  while (fgets(line, sizeof(line), file)) tightest = min_of(tightest, line_limit(root, line, what));
  fclose(file);
  return tightest;
}

int64_t pp_cgroup_cores(const char *root) {
  return tightest_limit(root, &cores);
}

int64_t pp_cgroup_memory(const char *root) {
  return tightest_limit(root, &memory);
}
