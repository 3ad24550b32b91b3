"""Python environments in worker processes: the Python side of `csrc/processes`.

In the parent process:

- The pool: `process_pool`, with `pool_arguments`, `native_pool` (its part in C) and `env_calls`.
- Starting workers: `startup` starts those of a pool with `launch`, which uses `bootstrap` and
  `forkserver`. `gymnasium_registry` copies the registered environments to them. `deadline` limits
  the time.
- Running workers: `supervisor` restarts and ends them. `watch` reports those that die, `timer`
  checks for steps that take too long, `wait_warnings` warns of long waits, and `failures` raises
  the exceptions.
- `branches` has workers fork, and gives their copies spare lanes.
- `orphans` ends processes that dead workers leave behind.

In a worker process: `worker` makes the environments, `env_runner` steps them, with `lane_memory`
(turns and rows in shared memory) and `env_requests` (calls and attributes). `branching` forks it
into branches, unless `holdings` finds what can't be copied. `stray_forks` ends children that an
environment forks and that return into the worker's loop.

Without worker processes, `local_lane` takes the place of `supervisor` and `worker`.

In both: `connection` and `messages`. `spaces`, `action_records` and `info_records` define how
observations, actions and infos travel, and `info_columns` reads the latter in the parent process.
`address_space` returns how much of it is left.
"""
