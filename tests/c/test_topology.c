/* The machine topology, read from made-up machines and from this one. */
#define _GNU_SOURCE
#include <ftw.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "include/pp_pool.h"
#include "os/os.h"
#include "os/topology.h"

/* ------------------------------------------------------------------------ made-up machines -- */

static char root[256];

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *level) {
  (void)info, (void)type, (void)level;
  return remove(path);
}

__attribute__((destructor)) static void end_machine(void) {
  if (root[0]) nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  root[0] = '\0';
}

/* begins an empty machine in a new folder, and removes the one before */
static int begin_machine(void) {
  const char *temp = getenv("TMPDIR");
  end_machine();
  snprintf(root, sizeof(root), "%s/pp-topology-XXXXXX", temp ? temp : "/tmp");
  return mkdtemp(root) != NULL;
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
}

/* writes one line to root/path */
__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...) {
  char full[512];
  va_list arguments;
  snprintf(full, sizeof(full), "%s/%s", root, path);
  make_folders(full);
  FILE *file = fopen(full, "w");
  REQUIRE(file);
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

static void put_affinity(const char *list) {
  put("proc/self/status", "Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t%s\nThreads:\t1",
      list);
}

static void put_node(int id, const char *cpus) {
  char path[64];
  snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", id);
  put(path, "%s", cpus);
}

static void put_nodes(const char *online) {
  put("sys/devices/system/node/online", "%s", online);
}

/* one node, this many cpus, no quota yet */
static int begin_small_machine(int num_cpus) {
  char list[32];
  if (!begin_machine()) return 0;
  snprintf(list, sizeof(list), "0-%d", num_cpus - 1);
  put_affinity(list);
  put_nodes("0");
  put_node(0, list);
  return 1;
}

/* -------------------------------------------------------------------------- what was read -- */

/* the topology as text: "cores; node: cpu cpu, node: cpu" */
static const char *read_machine(void) {
  static char text[8192];
  pp_topology topology;
  pp_topology_read(&topology, root);
  char *at = text + sprintf(text, "%d;", topology.cores);
  for (int32_t n = 0; n < topology.num_nodes; ++n) {
    const pp_node *node = &topology.nodes[n];
    at += sprintf(at, "%s %d:", n ? "," : "", node->id);
    for (int32_t i = 0; i < node->num_cpus; ++i) {
      at += sprintf(at, " %d", topology.cpus[node->first_cpu + i]);
    }
  }
  return text;
}

/* -------------------------------------------------------------------------- nodes and cpus -- */

TEST(one_node) {
  REQUIRE(begin_small_machine(4));
  CHECK_TEXT(read_machine(), "4; 0: 0 1 2 3");
}

TEST(two_nodes_with_interleaved_cpus) {
  REQUIRE(begin_machine());
  put_affinity("0-7");
  put_nodes("0-1");
  put_node(0, "0-1,4-5");
  put_node(1, "2-3,6-7");
  CHECK_TEXT(read_machine(), "8; 0: 0 1 4 5, 1: 2 3 6 7");
}

TEST(eight_nodes) {
  REQUIRE(begin_machine());
  put_affinity("0-15");
  put_nodes("0-7");
  for (int i = 0; i < 8; ++i) {
    char list[32];
    snprintf(list, sizeof(list), "%d,%d", i, i + 8);
    put_node(i, list);
  }
  CHECK_TEXT(read_machine(),
             "16; 0: 0 8, 1: 1 9, 2: 2 10, 3: 3 11, 4: 4 12, 5: 5 13, 6: 6 14, 7: 7 15");
}

TEST(affinity_leaves_part_of_each_node) {
  REQUIRE(begin_machine());
  put_affinity("1,3,5-6");
  put_nodes("0-1");
  put_node(0, "0-3");
  put_node(1, "4-7");
  CHECK_TEXT(read_machine(), "4; 0: 1 3, 1: 5 6");
}

TEST(nodes_without_usable_cpus_are_left_out) {
  REQUIRE(begin_machine());
  put_affinity("4-7");
  put_nodes("0-2");
  put_node(0, "0-3");  // outside the cpuset
  put_node(1, "4-7");
  put_node(2, "");  // memory only
  CHECK_TEXT(read_machine(), "4; 1: 4 5 6 7");
}

TEST(ids_of_nodes_and_cpus_may_have_gaps) {
  REQUIRE(begin_machine());
  put_affinity("0-1023");
  put_nodes("0,8,250-252");
  put_node(0, "0,64");
  put_node(8, "1,65,1023");
  put_node(250, "");
  put_node(252, "512");
  put("sys/devices/system/cpu/online", "0-1,64-65,512,1023");
  CHECK_TEXT(read_machine(), "6; 0: 0 64, 8: 1 65 1023, 252: 512");
}

TEST(offline_cpus_are_not_used) {
  REQUIRE(begin_small_machine(4));
  put("sys/devices/system/cpu/online", "0,2-3");
  CHECK_TEXT(read_machine(), "3; 0: 0 2 3");
}

TEST(without_sys_there_is_one_node) {
  REQUIRE(begin_machine());
  put_affinity("2-3");
  CHECK_TEXT(read_machine(), "2; 0: 2 3");
}

TEST(without_anything_there_is_one_core) {
  REQUIRE(begin_machine());
  CHECK_TEXT(read_machine(), "1; 0: 0");
  put_affinity("");
  CHECK_TEXT(read_machine(), "1; 0: 0");
}

TEST(cpus_that_no_node_claims_go_to_the_first) {
  REQUIRE(begin_machine());
  put_affinity("0-5");
  put_nodes("1-2");
  put_node(1, "0-1");
  put_node(2, "3-4");
  CHECK_TEXT(read_machine(), "6; 1: 0 1 2 5, 2: 3 4");
}

TEST(cpus_that_two_nodes_claim_count_once) {
  REQUIRE(begin_machine());
  put_affinity("0-3");
  put_nodes("0-1");
  put_node(0, "0-2");
  put_node(1, "2-3");
  CHECK_TEXT(read_machine(), "4; 0: 0 1 2, 1: 3");
}

TEST(largest_machine_fits) {
  pp_topology topology;
  REQUIRE(begin_machine());
  put_affinity("0-5000");
  put_nodes("0-99");
  for (int i = 0; i < 100; ++i) {
    char list[32];
    snprintf(list, sizeof(list), "%d-%d", i * 10, i * 10 + 9);
    put_node(i, list);
  }
  pp_topology_read(&topology, root);
  CHECK_EQ(topology.cores, PP_MAX_CPUS);
  CHECK_EQ(topology.num_cpus, PP_MAX_CPUS);
  CHECK_EQ(topology.num_nodes, PP_MAX_NODES);
  CHECK_EQ(topology.nodes[63].num_cpus, 10);
  // the first node also gets the ten cpus of each of 36 nodes too many, and 24 cpus of no node
  CHECK_EQ(topology.nodes[0].num_cpus, 10 + 384);
}

TEST(nonsense_in_files_does_no_harm) {
  static const char *const nonsense[] = {
      "x",    "-",   "-3", "3-1", "0-", ",", "99999999999999999999", "0-99999999999999999999",
      "-5-2", "1--2"};
  for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); ++i) {
    pp_topology topology;
    REQUIRE(begin_machine());
    put_affinity(nonsense[i]);
    put_nodes(nonsense[i]);
    put_node(0, nonsense[i]);
    put("proc/self/cgroup", "%s", nonsense[i]);
    pp_topology_read(&topology, root);
    CHECK(topology.cores >= 1 && topology.cores <= topology.num_cpus);
    CHECK(topology.num_nodes >= 1);
  }
}

/* ----------------------------------------------------------------------------------- quota -- */

TEST(v2_quota_rounds_up) {
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "0::/user/job");
  put("sys/fs/cgroup/user/job/cpu.max", "150000 100000");
  CHECK_EQ(pp_usable_cores(root), 2);
  put("sys/fs/cgroup/user/job/cpu.max", "300000 100000");
  CHECK_EQ(pp_usable_cores(root), 3);
  put("sys/fs/cgroup/user/job/cpu.max", "1000 100000");
  CHECK_EQ(pp_usable_cores(root), 1);
  put("sys/fs/cgroup/user/job/cpu.max", "max 100000");
  CHECK_EQ(pp_usable_cores(root), 8);
  put("sys/fs/cgroup/user/job/cpu.max", "9900000 100000");
  CHECK_EQ(pp_usable_cores(root), 8);
}

TEST(quota_leaves_the_cpus_as_they_are) {
  REQUIRE(begin_small_machine(4));
  put("proc/self/cgroup", "0::/job");
  put("sys/fs/cgroup/job/cpu.max", "200000 100000");
  CHECK_TEXT(read_machine(), "2; 0: 0 1 2 3");
}

TEST(limit_leaves_the_cpus_as_they_are) {
  REQUIRE(begin_small_machine(4));
  pp_limit_cores(3);
  CHECK_TEXT(read_machine(), "3; 0: 0 1 2 3");
  put("proc/self/cgroup", "0::/job");
  put("sys/fs/cgroup/job/cpu.max", "200000 100000");
  CHECK_EQ(pp_usable_cores(root), 2);
  pp_limit_cores(1);
  CHECK_EQ(pp_usable_cores(root), 1);
  pp_limit_cores(0);
  CHECK_EQ(pp_usable_cores(root), 2);
}

TEST(v2_tightest_ancestor_counts) {
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "0::/a/b/c");
  put("sys/fs/cgroup/a/b/c/cpu.max", "600000 100000");
  CHECK_EQ(pp_usable_cores(root), 6);
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  put("sys/fs/cgroup/a/cpu.max", "250000 100000");
  CHECK_EQ(pp_usable_cores(root), 3);
  put("sys/fs/cgroup/cpu.max", "100000 100000");
  CHECK_EQ(pp_usable_cores(root), 1);
  // not an ancestor
  put("sys/fs/cgroup/cpu.max", "max 100000");
  put("sys/fs/cgroup/a/bb/cpu.max", "100000 100000");
  CHECK_EQ(pp_usable_cores(root), 3);
}

TEST(v2_container_sees_its_group_as_the_root) {
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "0::/");
  put("sys/fs/cgroup/cpu.max", "400000 100000");
  CHECK_EQ(pp_usable_cores(root), 4);
  // a group outside the namespace: its path must not lead out of the mount
  put("proc/self/cgroup", "0::/../other");
  put("sys/fs/other/cpu.max", "100000 100000");
  CHECK_EQ(pp_usable_cores(root), 4);
}

TEST(v2_beside_v1) {
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "4:memory:/job\n0::/job");
  put("sys/fs/cgroup/unified/job/cpu.max", "500000 100000");
  CHECK_EQ(pp_usable_cores(root), 5);
}

TEST(v1_quota) {
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "11:memory:/job\n2:cpu,cpuacct:/job/step\n1:name=systemd:/job");
  put("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1");
  put("sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000");
  CHECK_EQ(pp_usable_cores(root), 8);
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "75000");
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000");
  CHECK_EQ(pp_usable_cores(root), 2);
}

TEST(v1_container_without_a_namespace) {
  REQUIRE(begin_small_machine(8));
  // the path is the host's, what is mounted is the container's own group
  put("proc/self/cgroup", "3:cpuacct,cpu:/docker/0123456789ab");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  CHECK_EQ(pp_usable_cores(root), 4);
}

TEST(v1_other_controllers_do_not_count) {
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "3:cpuset:/job\n2:cpuacct:/job");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "100000");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  CHECK_EQ(pp_usable_cores(root), 8);
}

TEST(broken_quota_is_ignored) {
  static const char *const broken[] = {"", "0 100000", "100000 0", "-5 100000", "100000", "x y"};
  REQUIRE(begin_small_machine(8));
  put("proc/self/cgroup", "0::/job");
  for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); ++i) {
    put("sys/fs/cgroup/job/cpu.max", "%s", broken[i]);
    CHECK_EQ(pp_usable_cores(root), 8);
  }
}

/* ---------------------------------------------------------------------------------- memory -- */

TEST(memory_is_the_machines_with_its_swap) {
  REQUIRE(begin_small_machine(2));
  CHECK_EQ(pp_usable_memory(root), INT64_MAX);
  put("proc/meminfo", "MemTotal:       1000 kB");
  CHECK_EQ(pp_usable_memory(root), 1024000);
  put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 5 kB\nSwapTotal:    24 kB");
  CHECK_EQ(pp_usable_memory(root), 1048576);
}

TEST(memory_is_no_more_than_the_groups) {
  REQUIRE(begin_small_machine(2));
  put("proc/meminfo", "MemTotal:       1000 kB");
  put("proc/self/cgroup", "0::/job/step");
  put("sys/fs/cgroup/job/step/memory.max", "max");
  CHECK_EQ(pp_usable_memory(root), 1024000);
  put("sys/fs/cgroup/job/memory.max", "5000");
  CHECK_EQ(pp_usable_memory(root), 5000);
  put("proc/self/cgroup", "4:memory:/job\n2:cpu:/job");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712");
  CHECK_EQ(pp_usable_memory(root), 1024000);
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "7000");
  CHECK_EQ(pp_usable_memory(root), 7000);
  // the limit of memory does not change the cores
  CHECK_EQ(pp_usable_cores(root), 2);
}

TEST(memory_of_the_real_machine) {
  CHECK(pp_usable_memory(NULL) > 1 << 26);
  CHECK_EQ(pp_usable_memory(NULL), pp_usable_memory("/"));
}

/* ----------------------------------------------------------------- dealing threads to nodes -- */

/* a topology whose nodes 0, 10, 20, ... have these many cpus */
static void build(pp_topology *topology, const int32_t *num_cpus, int32_t num_nodes) {
  memset(topology, 0, sizeof(*topology));
  for (int32_t n = 0; n < num_nodes; ++n) {
    topology->nodes[n] = (pp_node){10 * n, num_cpus[n], topology->num_cpus};
    for (int32_t i = 0; i < num_cpus[n]; ++i) {
      topology->cpus[topology->num_cpus] = topology->num_cpus;
      ++topology->num_cpus;
    }
  }
  topology->num_nodes = num_nodes;
  topology->cores = topology->num_cpus;
}

/* the threads of each node as text: "node: threads, node: threads" */
static const char *deal(const int32_t *num_cpus, int32_t num_nodes, int32_t num_threads) {
  static char text[1024];
  pp_topology topology;
  pp_share shares[PP_MAX_NODES];
  build(&topology, num_cpus, num_nodes);
  char *at = text;
  int32_t count = pp_topology_assign(&topology, num_threads, shares);
  *at = '\0';
  for (int32_t i = 0; i < count; ++i) {
    at += sprintf(at, "%s%d: %d", i ? ", " : "", shares[i].node, shares[i].num_threads);
    CHECK_EQ(shares[i].num_cpus, num_cpus[shares[i].node / 10]);
    CHECK_EQ(shares[i].cpus[0], topology.nodes[shares[i].node / 10].first_cpu);
  }
  return text;
}

#define DEAL(num_threads, ...)                                                             \
  deal((const int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), \
       num_threads)

TEST(deal_in_proportion_to_cpus) {
  CHECK_TEXT(DEAL(6, 8), "0: 6");
  CHECK_TEXT(DEAL(16, 8, 8), "0: 8, 10: 8");
  CHECK_TEXT(DEAL(6, 8, 4), "0: 4, 10: 2");
  CHECK_TEXT(DEAL(12, 2, 3, 1), "0: 4, 10: 6, 20: 2");
}

TEST(remainders_go_to_the_nodes_that_rounding_cut_most) {
  CHECK_TEXT(DEAL(7, 8, 8), "0: 4, 10: 3");
  CHECK_TEXT(DEAL(5, 4, 6), "0: 2, 10: 3");
  CHECK_TEXT(DEAL(4, 3, 3, 4), "0: 1, 10: 1, 20: 2");
}

TEST(deal_fewer_threads_than_nodes) {
  CHECK_TEXT(DEAL(1, 4, 4, 4, 4), "0: 1");
  CHECK_TEXT(DEAL(3, 4, 4, 4, 4), "0: 1, 10: 1, 20: 1");
  CHECK_TEXT(DEAL(2, 1, 9, 1, 9), "10: 1, 30: 1");
}

TEST(deal_more_threads_than_cpus) {
  CHECK_TEXT(DEAL(100, 1, 1), "0: 50, 10: 50");
  CHECK_TEXT(DEAL(INT32_MAX, 2, 2), "0: 1073741824, 10: 1073741823");
}

/* the cpus that the threads of a made-up machine are pinned to, as text: "node: cpu cpu, ..." */
static const char *pins(int32_t num_threads, int32_t offset) {
  static char text[1024];
  pp_topology topology;
  pp_share shares[PP_MAX_NODES];
  char *at = text;
  pp_topology_read(&topology, root);
  int32_t count = pp_topology_assign(&topology, num_threads, shares);
  for (int32_t i = 0; i < count; ++i) {
    at += sprintf(at, "%s%d:", i ? ", " : "", shares[i].node);
    for (int32_t t = 0; t < shares[i].num_threads; ++t) {
      at += sprintf(at, " %d", *pp_topology_pin(&topology, &shares[i], offset, t));
    }
  }
  return text;
}

/* a machine of nodes with these lists of cpus */
static void begin_nodes(const char *affinity, const char *first, const char *second) {
  REQUIRE(begin_machine());
  put_affinity(affinity);
  put_nodes("0-1");
  put_node(0, first);
  put_node(1, second);
}

TEST(pins_stay_on_the_node_of_their_lane) {
  begin_nodes("0-3", "0-1", "2-3");
  CHECK_TEXT(pins(4, 0), "0: 0 1, 1: 2 3");
  CHECK_TEXT(pins(2, 0), "0: 0, 1: 2");
  CHECK_TEXT(pins(2, 2), "0: 1, 1: 3");
  CHECK_TEXT(pins(8, 0), "0: 0 1 0 1, 1: 2 3 2 3");
  CHECK_TEXT(pins(4, INT32_MAX), "0: 1 0, 1: 3 2");

  begin_nodes("0-7", "0-3", "4-7");
  CHECK_TEXT(pins(4, 0), "0: 0 1, 1: 4 5");
  CHECK_TEXT(pins(4, 4), "0: 2 3, 1: 6 7");
  CHECK_TEXT(pins(8, 3), "0: 1 2 3 0, 1: 5 6 7 4");

  // the cores of a node and their second threads
  begin_nodes("0-7", "0-1,4-5", "2-3,6-7");
  CHECK_TEXT(pins(4, 0), "0: 0 1, 1: 2 3");
  CHECK_TEXT(pins(8, 0), "0: 0 1 4 5, 1: 2 3 6 7");

  // nodes of different sizes, and a cpuset that leaves three cpus of one and one of the other
  begin_nodes("0-7", "0-1", "2-7");
  CHECK_TEXT(pins(4, 0), "0: 0, 1: 2 3 4");
  CHECK_TEXT(pins(4, 4), "0: 1, 1: 5 6 7");
  begin_nodes("1,5-7", "0-3", "4-7");
  CHECK_TEXT(pins(4, 0), "0: 1, 1: 5 6 7");
  CHECK_TEXT(pins(4, 2), "0: 1, 1: 6 7 5");

  REQUIRE(begin_machine());
  put_affinity("0-7");
  put_nodes("0-3");
  for (int n = 0; n < 4; ++n) {
    char list[8];
    snprintf(list, sizeof(list), "%d-%d", 2 * n, 2 * n + 1);
    put_node(n, list);
  }
  CHECK_TEXT(pins(8, 0), "0: 0 1, 1: 2 3, 2: 4 5, 3: 6 7");
  CHECK_TEXT(pins(4, 0), "0: 0, 1: 2, 2: 4, 3: 6");
  CHECK_TEXT(pins(4, 4), "0: 1, 1: 3, 2: 5, 3: 7");

  // one node: one to one, from the offset on
  REQUIRE(begin_small_machine(4));
  CHECK_TEXT(pins(4, 1), "0: 1 2 3 0");
}

TEST(deal_nothing) {
  CHECK_EQ(DEAL(0, 4, 4)[0], 0);
}

TEST(deal_loses_no_thread) {
  for (int32_t threads = 0; threads < 300; ++threads) {
    const int32_t num_cpus[] = {7, 1, 13, 24, 3};
    pp_topology topology;
    pp_share shares[PP_MAX_NODES];
    build(&topology, num_cpus, 5);
    int32_t count = pp_topology_assign(&topology, threads, shares), sum = 0;
    for (int32_t i = 0; i < count; ++i) {
      // no share is a whole thread away from its exact part
      double part = (double)threads * shares[i].num_cpus / topology.num_cpus;
      CHECK(shares[i].num_threads >= 1);
      CHECK(shares[i].num_threads > part - 1 && shares[i].num_threads < part + 1);
      sum += shares[i].num_threads;
    }
    CHECK_EQ(sum, threads);
  }
}

/* ---------------------------------------------------------------------------- this machine -- */

TEST(real_machine_agrees_with_the_system) {
  pp_topology topology, same;
  pp_topology_read(&topology, NULL);
  pp_topology_read(&same, "/");
  CHECK(memcmp(&topology, &same, sizeof(topology)) == 0);
  CHECK_EQ(pp_usable_cores(NULL), topology.cores);
  CHECK(topology.cores >= 1 && topology.cores <= topology.num_cpus);

#if defined(__linux__)
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  CHECK_EQ(topology.num_cpus, CPU_COUNT(&allowed));
  for (int32_t i = 0; i < topology.num_cpus; ++i) CHECK(CPU_ISSET(topology.cpus[i], &allowed));
#else
  CHECK_EQ(topology.num_cpus, sysconf(_SC_NPROCESSORS_ONLN));
#endif
}

#if defined(__linux__)
static void *read_on_one_core(void *arg) {
  const int32_t *cpu = arg;
  pp_topology topology;
  CHECK_EQ(pp_os_thread_bind(cpu, 1), PP_OK);
  pp_topology_read(&topology, NULL);
  CHECK_EQ(topology.num_cpus, 1);
  CHECK_EQ(topology.cpus[0], *cpu);
  CHECK_EQ(pp_usable_cores(NULL), 1);
  CHECK_EQ(pp_usable_cores("/"), 1);
  return NULL;
}

TEST(real_machine_is_what_the_calling_thread_may_use) {
  pp_topology topology;
  pthread_t thread;
  pp_topology_read(&topology, NULL);
  int32_t last = topology.cpus[topology.num_cpus - 1];
  REQUIRE(pp_os_thread_start(&thread, read_on_one_core, &last, "one core") == PP_OK);
  pthread_join(thread, NULL);
  CHECK_EQ(pp_usable_cores(NULL), topology.cores);
}
#endif
