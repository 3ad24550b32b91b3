/* Machine topology: the cores that this process may use, by NUMA node. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include "topology.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "sysfile.h"

/* ------------------------------------------------------------------------------------ sets -- */

/* a set of numbers from 0 to PP_MAX_CPUS - 1 */
typedef struct set {
  uint8_t has[PP_MAX_CPUS];
} set;

/* adds the numbers of a list in the kernel's format, such as "0-3,8,10-11" */
static void add_list(set *numbers, const char *list) {
  char *end;
  for (long first = strtol(list, &end, 10); end != list; first = strtol(list, &end, 10)) {
    long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    for (long i = first < 0 ? 0 : first; i <= last && i < PP_MAX_CPUS; i++) numbers->has[i] = 1;
    if (*end != ',') return;
    list = end + 1;
  }
}

static int32_t count_of(const set *numbers) {
  int32_t count = 0;
  for (int32_t i = 0; i < PP_MAX_CPUS; i++) count += numbers->has[i];
  return count;
}

/* ----------------------------------------------------------------------------------- files -- */

/* adds the list in a file's first line; returns whether there is such a file */
static bool read_list(const char *root, const char *path, set *numbers) {
  char line[PP_SYSFILE_LINE];
  if (!pp_sysfile_line(root, path, "", line)) return false;
  add_list(numbers, line);
  return true;
}

/* ------------------------------------------------------------------------------------ cpus -- */

/* adds the affinity of this thread, which the kernel keeps within cpuset and online cpus */
static void read_own_affinity(set *cpus) {
#if defined(__linux__)
  // as large as any kernel's mask (NR_CPUS), as the kernel refuses one that is too small
  unsigned long mask[8192 / (8 * sizeof(unsigned long))];
  const int32_t bits = 8 * sizeof(mask[0]);
  memset(mask, 0, sizeof(mask));
  if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)(void *)mask) == 0) {
    for (int32_t i = 0; i < PP_MAX_CPUS; i++) cpus->has[i] = mask[i / bits] >> (i % bits) & 1;
  }
  if (count_of(cpus) > 0) return;
#endif
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (long i = 0; i < online && i < PP_MAX_CPUS; i++) cpus->has[i] = 1;
}

/* adds the affinity of a made-up machine, without its offline cpus */
static void read_affinity_under(const char *root, set *cpus) {
  char line[PP_SYSFILE_LINE];
  set online = {{0}};
  if (pp_sysfile_line(root, "/proc/self/status", "Cpus_allowed_list:", line)) add_list(cpus, line);
  if (!read_list(root, "/sys/devices/system/cpu/online", &online)) return;
  for (int32_t i = 0; i < PP_MAX_CPUS; i++) cpus->has[i] &= online.has[i];
}

/* ----------------------------------------------------------------------------------- nodes -- */

enum { NO_NODE = -1 };

/* makes a node the owner of its usable cpus; returns whether it has any */
static bool claim_cpus(const char *root, int32_t id, const set *cpus, int32_t *owner) {
  char path[64];
  set members = {{0}};
  bool has_cpus = false;
  snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", (int)id);
  read_list(root, path, &members);
  for (int32_t i = 0; i < PP_MAX_CPUS; i++) {
    if (!cpus->has[i] || !members.has[i] || owner[i] != NO_NODE) continue;
    owner[i] = id;
    has_cpus = true;
  }
  return has_cpus;
}

/* finds the node of every usable cpu; adds to in_use the ids of nodes that have any */
static void read_owners(const char *root, const set *cpus, int32_t *owner, set *in_use) {
  set online = {{0}};
  int32_t first = NO_NODE, num_nodes = 0;
  for (int32_t i = 0; i < PP_MAX_CPUS; i++) owner[i] = NO_NODE;
  read_list(root, "/sys/devices/system/node/online", &online);
  for (int32_t id = 0; id < PP_MAX_CPUS && num_nodes < PP_MAX_NODES; id++) {
    if (!online.has[id] || !claim_cpus(root, id, cpus, owner)) continue;
    in_use->has[id] = 1;
    num_nodes++;
    if (first == NO_NODE) first = id;
  }

  // containers may hide /sys: cpus without a node belong to the first node
  if (first == NO_NODE) first = 0;
  in_use->has[first] = 1;
  for (int32_t i = 0; i < PP_MAX_CPUS; i++) {
    if (cpus->has[i] && owner[i] == NO_NODE) owner[i] = first;
  }
}

static void add_node(pp_topology *topology, int32_t id, const int32_t *owner) {
  pp_node *node = &topology->nodes[topology->num_nodes++];
  node->id = id;
  node->first_cpu = topology->num_cpus;
  for (int32_t i = 0; i < PP_MAX_CPUS; i++) {
    if (owner[i] == id) topology->cpus[topology->num_cpus++] = i;
  }
  node->num_cpus = topology->num_cpus - node->first_cpu;
}

/* -------------------------------------------------------------------------------- topology -- */

/* Upper limit of the cores of a topology, 0: none. Relaxed: it publishes nothing else. */
static _Atomic int32_t core_limit;

void pp_topology_limit(int32_t cores) {
  atomic_store_explicit(&core_limit, cores, memory_order_relaxed);
}

void pp_topology_read(pp_topology *topology, const char *root) {
  set cpus = {{0}}, in_use = {{0}};
  int32_t owner[PP_MAX_CPUS];
  if (!root || strcmp(root, "/") == 0) {
    root = "";
    read_own_affinity(&cpus);
  } else {
    read_affinity_under(root, &cpus);
  }
  if (count_of(&cpus) == 0) cpus.has[0] = 1;
  read_owners(root, &cpus, owner, &in_use);

  memset(topology, 0, sizeof(*topology));
  for (int32_t id = 0; id < PP_MAX_CPUS; id++) {
    if (in_use.has[id]) add_node(topology, id, owner);
  }
  int64_t quota = pp_cgroup_cores(root);
  topology->cores = quota < topology->num_cpus ? (int32_t)quota : topology->num_cpus;
  int32_t limit = atomic_load_explicit(&core_limit, memory_order_relaxed);
  if (limit > 0 && limit < topology->cores) topology->cores = limit;
}

/* gives one more thread to the node that lost most when its part was rounded down */
static void deal_one(const pp_topology *topology, int64_t *cut, int32_t *threads) {
  int32_t chosen = 0;
  for (int32_t i = 1; i < topology->num_nodes; i++) {
    if (cut[i] > cut[chosen]) chosen = i;
  }
  cut[chosen] = -1;
  threads[chosen]++;
}

int32_t pp_topology_assign(const pp_topology *topology, int32_t num_threads, pp_share *shares) {
  int32_t threads[PP_MAX_NODES], left = num_threads, num_shares = 0;
  int64_t cut[PP_MAX_NODES];
  for (int32_t i = 0; i < topology->num_nodes; i++) {
    int64_t part = (int64_t)num_threads * topology->nodes[i].num_cpus;
    threads[i] = (int32_t)(part / topology->num_cpus);
    cut[i] = part % topology->num_cpus;
    left -= threads[i];
  }
  // fewer threads are left than there are nodes, so no node gets two
  for (; left > 0; left--) deal_one(topology, cut, threads);

  for (int32_t i = 0; i < topology->num_nodes; i++) {
    const pp_node *node = &topology->nodes[i];
    if (threads[i] == 0) continue;
    shares[num_shares++] = (pp_share){.node = node->id,
                                      .num_threads = threads[i],
                                      .num_cpus = node->num_cpus,
                                      .cpus = &topology->cpus[node->first_cpu]};
  }
  return num_shares;
}

const int32_t *pp_topology_pin(const pp_topology *topology, const pp_share *share, int32_t offset,
                               int32_t thread) {
  int64_t first = (int64_t)offset * share->num_cpus / topology->num_cpus;
  return &share->cpus[(first + thread) % share->num_cpus];
}
