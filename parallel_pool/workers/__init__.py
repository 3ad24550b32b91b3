"""Python environments in worker processes: the Python side of `csrc/processes`.

In the parent process:

- The pool: `process_pool`, with `pool_arguments`, `native_pool` (its part in C) and `env_calls`.
- Starting workers: `startup` starts those of a pool by `launch`, which uses `bootstrap` and
  `forkserver`; `gymnasium_registry` is what they take along, `deadline` limits the time.
- Workers at work: `supervisor` restarts and ends them; `watch` reports those that die, `timer`
  those that take too long, `wait_warnings` those that are waited for, `failures` raises.
- `orphans` ends processes that dead workers leave behind.

In a worker process: `worker` makes the environments, `env_runner` steps them, with `lane_memory`
(turns and rows in shared memory) and `env_requests` (calls and attributes); `stray_forks` ends
children that return into it.

In both: `connection` and `messages`; `spaces`, `action_records` and `info_columns` say how
observations, actions and infos travel; `address_space`.
"""
