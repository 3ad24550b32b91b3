/* Budget: compares the memory that a pool will need with the memory that the process may use. */
#include "budget.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "os/cgroup.h"
#include "os/sysfile.h"

/* returns the bytes of a line such as "MemTotal:       24737380 kB", or 0 if there is none */
static int64_t read_kilobytes(const char *root, const char *prefix) {
  char line[PP_SYSFILE_LINE];
  if (!pp_sysfile_line(root, "/proc/meminfo", prefix, line)) return 0;
  long long count = strtoll(line, NULL, 10);
  return count > 0 && count < INT64_MAX / 1024 ? count * 1024 : 0;
}

static int64_t installed_memory(const char *root) {
  int64_t total = read_kilobytes(root, "MemTotal:");
  if (total) return total + read_kilobytes(root, "SwapTotal:");
  if (root[0]) return INT64_MAX;
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_MAX;
}

int64_t pp_usable_memory(const char *root) {
  if (!root || strcmp(root, "/") == 0) root = "";
  int64_t installed = installed_memory(root), limit = pp_cgroup_memory(root);
  return installed < limit ? installed : limit;
}

int pp_budget_check(const pp_pool *pool, const pp_pool_options *options, double states,
                    pp_error *error) {
  const double giga = 1e9;
  int32_t blocks = pp_ring_capacity(options->num_envs, options->batch_size) + 1;
  double results = (double)pool->layout.size * blocks;
  double usable = (double)pp_usable_memory(options->topology_root);

  if (states + results <= usable) return PP_OK;
  return pp_error_set(error, PP_ERR_MEMORY,
                      "num_envs=%d needs %.3g GB (environments %.3g GB, results %.3g GB), but this "
                      "process may use %.3g GB: choose fewer environments, or smaller observations",
                      options->num_envs, (states + results) / giga, states / giga, results / giga,
                      usable / giga);
}
