"""Worker: the function that a worker process runs, from making its environments to closing them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import registry
from parallel_pool._engine.actions import described
from parallel_pool._workers.data.messages import Description, Failure, Task
from parallel_pool._workers.run import branching
from parallel_pool._workers.run.close_envs import close_envs
from parallel_pool._workers.run.env_runner import EnvRunner
from parallel_pool._workers.run.holdings import Holdings
from parallel_pool._workers.run.make_env import Distinct, make_env
from parallel_pool._workers.run.prepared_runner import PreparedRunner
from parallel_pool._workers.run.standby import Standby
from parallel_pool._workers.start import address_space, gymnasium_registry, stray_forks
from parallel_pool._workers.start.connection import PickledOrNone

if TYPE_CHECKING:
    from parallel_pool._workers.start.connection import Connection, Dumps


def serve(connection: Connection, task: Task) -> None:
    """Makes the environments, describes them, and steps them until the pool is closed.

    `messages` lists those that it exchanges with the parent process.
    """
    gymnasium_registry.add(task.specs)
    registry.remember(task.origins)
    found = Holdings() if task.may_branch else None
    # first, as a forked process must share nothing that an environment holds
    standby = None if task.standby is None else Standby(task, connection)
    env_fns = task.env_fns
    envs: list[Any] = []
    pickled = 0
    distinct = Distinct(task.first)
    pid = os.getpid()
    try:
        try:
            for make in env_fns:
                env = make_env(make)
                stray_forks.exit_if_forked(pid, "its constructor")
                distinct.add(env)
                envs.append(env)
            for env in envs:
                # one at a time, so that an error names the environment whose spaces can't be sent
                connection.dumps(get_spaces(env))
                pickled += 1
            description = describe(envs, connection.dumps)
            stray_forks.exit_if_forked(pid, "an attribute")
            failure = None if standby is None else standby.wait_until_made()
            if failure is not None:
                connection.send(("failed", failure, 0))
                return
            connection.send(("made", description))
        except BaseException as error:
            stray_forks.exit_if_forked(pid, "its constructor")
            at = pickled if len(envs) == len(env_fns) else len(envs)
            connection.send(("failed", Failure.of(error, connection.dumps), at % len(env_fns)))
            return
        try:
            (kind, assignment), fds = connection.recv(None)
        except EOFError:  # the parent has given up the start
            return
        assert kind == "assignment"
        if standby is None:
            runner = EnvRunner(envs, env_fns, assignment, connection.dumps, *fds)
        else:
            other = standby.connection
            runner = PreparedRunner(envs, env_fns, assignment, other, fds, plays=True)
            standby.assign(assignment, fds)
        if found is not None:
            runner.brancher = branching.Brancher(runner, connection, found)
        runner.run(lambda: connection.send(("ready",)))
        if runner.born is not None:
            branching.serve(runner.born)
    finally:
        stray_forks.exit_if_forked(pid, "a call")
        env = None  # or it would not be freed
        close_envs(envs, pid)
        if standby is not None:
            standby.join()


def get_spaces(env: Any) -> tuple[Any, Any]:
    """Returns an environment's spaces; raises TypeError if the object is not an environment."""
    for name in ("observation_space", "action_space", "reset", "step"):
        try:
            getattr(env, name)
        except AttributeError as error:
            raise TypeError(
                f"its function returned {described(env)}, which has no {name}: return a"
                " gymnasium.Env or a dm_env.Environment"
            ) from error
    return env.observation_space, env.action_space


def describe(envs: Sequence[Any], dumps: Dumps) -> Description:
    """Returns what the parent process needs to know of the environments."""
    first = envs[0]
    return Description(
        [env.observation_space for env in envs],
        [env.action_space for env in envs],
        dict(getattr(first, "metadata", None) or {}),
        getattr(first, "render_mode", None),
        PickledOrNone(getattr(first, "spec", None), dumps),
        address_space.remaining(),
    )
