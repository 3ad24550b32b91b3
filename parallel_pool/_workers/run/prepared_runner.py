"""PreparedRunner: serves a lane in turn with another process, so that resets cost no time.

Each of the two has an environment of its own, made by the same function. One plays: it takes the
lane's turns. The other stands by: it resets its environment for the next episode, whose seed is
known (`EpisodeSeeds`). When the episode of the one that plays has ended, it delivers what the
other's reset has returned, and the other takes over the lane.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from parallel_pool._native import lib
from parallel_pool._workers.data.messages import Assignment, Failure
from parallel_pool._workers.run import env_requests
from parallel_pool._workers.run.env_runner import FOREVER, NOTHING, RUNNING, EnvRunner, take
from parallel_pool._workers.run.episode_seeds import EpisodeSeeds
from parallel_pool._workers.run.make_env import make_env

if TYPE_CHECKING:
    from parallel_pool._workers.start.connection import Connection

# Orders for the other process: none; one that it has not answered; answered. Only the last two can
# become useless, when an episode begins otherwise.
IDLE, ORDERED, ANSWERED = range(3)


class PreparedRunner(EnvRunner):
    """The environment of a lane in one of the two processes that serve it."""

    def __init__(
        self,
        envs: list[Any],
        env_fns: Sequence[Callable[[], Any]],
        assignment: Assignment,
        other: Connection,
        memory: Sequence[int],
        *,
        plays: bool,
    ) -> None:
        """
        Args:
            envs, env_fns: the environment, and the function that made it.
            assignment: the lane, which has one environment.
            other: to the other process.
            memory: descriptors of the pool's memory and of the lane's reply file.
            plays: this process begins.
        """
        super().__init__(envs, env_fns, assignment, other.dumps, *memory)
        assert self._episodes is not None
        self._own_episodes = self._episodes
        self._other = other
        self._plays = plays
        # what the other process was asked for, the seed, and its answer
        self._order, self._ordered_seed = IDLE, 0
        self._answer: Any = NOTHING
        # attributes that were set since the last order
        self._unsent: list[tuple[Any, ...]] = []
        # of the present turn: an episode has begun; the other process has begun it
        self._has_begun = self._is_relieved = False
        # the observation of the reset that this process has prepared
        self._observation: Any = NOTHING

    def _serve_lane(self) -> None:
        while self._plays or self._stand_by():
            if not self._play():
                return

    # --------------------------------------------------------------------------- that plays --

    def _play(self) -> bool:
        """Serves the lane until the other process takes over; False: until the pool was closed."""
        worker = self._worker
        while (count := take(worker, FOREVER)) >= 0:
            self.work(count)
            if not self._has_begun:
                continue
            is_over = self._is_relieved and self._phases[0] == RUNNING
            self._has_begun = self._is_relieved = False
            if is_over:
                self._send("play", self._own_episodes[0], self._failures)
                self._plays = False
                return True
            self._order_next()
        self._send("end")
        return False

    def _order_next(self) -> None:
        """Asks for the next episode, unless the other process is busy or it is not known yet."""
        seed = self._own_episodes[0].following()
        if self._order == ORDERED:
            # of an episode that was not played
            with contextlib.suppress(TimeoutError):
                self._receive(0.0)
        if seed is None or self._order == ORDERED or self._is_prepared(seed):
            return
        self._send("prepare", seed, self._unsent)
        self._unsent = []
        self._order, self._ordered_seed = ORDERED, seed

    def _is_prepared(self, seed: Any) -> bool:
        """Returns whether the other process begins, or has begun, the episode with this seed."""
        return self._order != IDLE and self._ordered_seed == seed and not self._unsent

    def _receive(self, timeout: float | None) -> None:
        try:
            self._answer, _ = self._other.recv(timeout)
        except EOFError:
            _wait_for_end()
        self._order = ANSWERED

    def _send(self, *message: Any) -> None:
        try:
            self._other.send(message)
        except EOFError:
            _wait_for_end()

    def _call_reset(self, i: int, arguments: dict[str, Any]) -> tuple[Any, Any]:
        self._has_begun = True
        others = [name for name, value in arguments.items() if value is not None and name != "seed"]
        if others or not self._is_prepared(arguments["seed"]):
            return super()._call_reset(i, arguments)
        if self._order == ORDERED:
            self._receive(None)
        answer, self._answer, self._order = self._answer, NOTHING, IDLE
        if isinstance(answer, Failure):
            _raise(answer)
        self._is_relieved = True
        observation, info = answer
        return observation, info

    def _ask(self, envs: list[Any], kind: str, *arguments: Any) -> Any:
        answer = super()._ask(envs, kind, *arguments)
        if kind == "set":
            self._unsent.append(arguments)
            self._order_next()
        return answer

    # ------------------------------------------------------------------------ that stands by --

    def _stand_by(self) -> bool:
        """Prepares episodes until this process takes over; False: until the pool was closed."""
        while True:
            try:
                (kind, *arguments), _ = self._other.recv(None)
            except EOFError:
                _wait_for_end()
            if kind == "end":
                return False
            if kind == "play":
                self._take_over(*arguments)
                return True
            self._prepare(*arguments)

    def _prepare(self, seed: int, changes: Sequence[tuple[Any, ...]]) -> None:
        """Begins an episode and sends what its reset returns, or why it failed."""
        try:
            for arguments in changes:
                env_requests.answer(self._envs, "set", *arguments)
            begun = super()._call_reset(0, {"seed": seed})
            self._observation = begun[0]
            self._reply_to_other(begun)
        except BaseException as error:
            self._exit_stray()
            self._reply_to_other(Failure.of(error, self._dumps))
            if self._assignment.recreates:
                self._make_again()

    def _reply_to_other(self, answer: Any) -> None:
        # if the other process ends at the end of the pool, its message is there
        with contextlib.suppress(EOFError):
            self._other.send(answer)

    def _make_again(self) -> None:
        """Makes the environment again, whose reset has failed; keeps it if that fails."""
        with contextlib.suppress(BaseException):
            self._envs[0].close()
        with contextlib.suppress(BaseException):
            self._envs[0] = make_env(self._env_fns[0])
            self._cache_steps()

    def _take_over(self, episodes: EpisodeSeeds, failures: dict[int, tuple[int, int]]) -> None:
        """Goes on with the episode that this process has begun."""
        self._own_episodes[0], self._failures = episodes, failures
        self._phases[0], self._last[0] = RUNNING, self._observation
        self._seeds[0], self._observation = None, NOTHING
        if lib.pp_worker_resume(self._worker) < 0:
            raise MemoryError("no shared memory for the replies of a worker process")
        self._plays = True
        self._order_next()


def _wait_for_end() -> NoReturn:
    """Waits, as the other process has ended: `Standby` or the system ends this one, too."""
    while True:
        time.sleep(60.0)


def _raise(failure: Failure) -> NoReturn:
    """Raises what another process's reset has raised."""
    cause = RuntimeError(f"raised by the process that prepared the reset:\n{failure.traceback}")
    raise (failure.exception() or RuntimeError(f"{failure.kind}: {failure.text}")) from cause
