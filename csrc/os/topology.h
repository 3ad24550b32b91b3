/* Machine topology: the cores that this process may use, by NUMA node. */
#ifndef PP_OS_TOPOLOGY_H
#define PP_OS_TOPOLOGY_H

#include <stdint.h>

enum {
  PP_MAX_CPUS = 1024, /* cpus with higher numbers are not used */
  PP_MAX_NODES = 64   /* cpus of further nodes count as the first node's */
};

/* a node with at least one usable cpu */
typedef struct pp_node {
  int32_t id; /* the kernel's; ids may have gaps */
  int32_t num_cpus;
  int32_t first_cpu; /* index into pp_topology.cpus */
} pp_node;

typedef struct pp_topology {
  int32_t cores; /* threads that may run at once: num_cpus, or fewer under a quota or limit */
  int32_t num_cpus;
  int32_t num_nodes;           /* number of nodes, at least one */
  pp_node nodes[PP_MAX_NODES]; /* nodes by ascending id */
  int32_t cpus[PP_MAX_CPUS];   /* cpus node by node, ascending within a node */
} pp_topology;

/* what one lane gets: some threads on one node */
typedef struct pp_share {
  int32_t node; /* the node's id */
  int32_t num_threads;
  int32_t num_cpus;
  const int32_t *cpus; /* the node's cpus, inside the topology */
} pp_share;

/* Reads /proc and /sys of this machine (root null or "/"), or of a made-up machine under the folder
 * root, whose affinity is in proc/self/status. Always succeeds: what can't be read counts as one
 * node, one cpu (on the real machine: all that are online) and no quota. */
void pp_topology_read(pp_topology *topology, const char *root);

/* Limits the cores of topologies that are read from now on, in this process; 0 for no limit. */
void pp_topology_limit(int32_t cores);

/* Distributes num_threads (>= 0) over the nodes in proportion to their cpus; nodes without a thread
 * get no share. Returns the number of shares written, at most PP_MAX_NODES. */
int32_t pp_topology_assign(const pp_topology *topology, int32_t num_threads, pp_share *shares);

/* Returns the cpu, inside the topology, that thread number `thread` of a share is pinned to.
 * Threads get consecutive cpus of the share's node, starting at the node's part of offset: two
 * pools, with offsets 0 and the first pool's num_threads, use different cpus of every node. offset
 * and thread must not be negative. */
const int32_t *pp_topology_pin(const pp_topology *topology, const pp_share *share, int32_t offset,
                               int32_t thread);

#endif
