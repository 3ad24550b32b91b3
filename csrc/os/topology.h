/* Machine topology: the cores this process may use, NUMA node by NUMA node. */
#ifndef PP_OS_TOPOLOGY_H
#define PP_OS_TOPOLOGY_H

#include <stdint.h>

enum {
  PP_MAX_CPUS = 1024, /* cpus numbered higher are not used */
  PP_MAX_NODES = 64   /* cpus of any further node count as the first node's */
};

/* a node with at least one usable cpu */
typedef struct pp_node {
  int32_t id; /* the kernel's; there may be holes */
  int32_t num_cpus;
  int32_t first_cpu; /* index into pp_topology.cpus */
} pp_node;

typedef struct pp_topology {
  int32_t cores; /* threads that can run at once: num_cpus, or fewer under a cgroup quota */
  int32_t num_cpus;
  int32_t num_nodes;           /* at least one */
  pp_node nodes[PP_MAX_NODES]; /* by rising id */
  int32_t cpus[PP_MAX_CPUS];   /* of one node after the other, each rising */
} pp_topology;

/* what one lane gets: some threads on one node */
typedef struct pp_share {
  int32_t node; /* its id */
  int32_t num_threads;
  int32_t num_cpus;
  const int32_t *cpus; /* inside the topology */
} pp_share;

/* reads /proc and /sys of the machine (root null or "/"), or of a made-up one under the folder
 * root, where proc/self/status tells the affinity. Always succeeds: what cannot be read is taken
 * as one node, one cpu (real machine: as many as are online) and no quota */
void pp_topology_read(pp_topology *topology, const char *root);

/* deals threads out over the nodes in proportion to their cpus; nodes that get none are left out.
 * Returns the number of shares written, at most PP_MAX_NODES; their threads add up to num_threads,
 * which must not be negative */
int32_t pp_topology_assign(const pp_topology *topology, int32_t num_threads, pp_share *shares);

/* The cpu, inside the topology, that a share's thread is pinned to, counted from 0: one after the
 * other on the share's own node, from its part of the offset on. So two pools with offsets 0 and
 * the first one's num_threads use different cpus of every node. Neither number may be negative */
const int32_t *pp_topology_pin(const pp_topology *topology, const pp_share *share, int32_t offset,
                               int32_t thread);

#endif
