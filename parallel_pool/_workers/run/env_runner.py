"""EnvRunner: takes the turns of one lane, steps its environments, and delivers their rows."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine import seeds
from parallel_pool._engine.actions import described
from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib
from parallel_pool._workers.data import messages
from parallel_pool._workers.data.info_copies import copied
from parallel_pool._workers.data.messages import (
    ANSWER,
    BRANCH,
    FAILURE,
    FINAL_INFO,
    FINAL_OBSERVATION,
    INFO,
    MAX_RESTARTS,
    OBSERVATION,
    Assignment,
    Failure,
    LostEpisodeError,
    Reply,
)
from parallel_pool._workers.run import env_requests
from parallel_pool._workers.run.episode_seeds import EpisodeSeeds
from parallel_pool._workers.run.lane_memory import LaneMemory
from parallel_pool._workers.run.make_env import make_env
from parallel_pool._workers.start import stray_forks
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._workers.data.info_records import Single
    from parallel_pool._workers.run.branching import Birth, Brancher
    from parallel_pool._workers.start.connection import Dumps

# nanoseconds; only turns, requests and the pool's end wake a worker
FOREVER = 3600 * 10**9

# in place of the last observation of an environment that has none yet
NOTHING = object()

# Phases of an environment. Its next step
# - RUNNING: steps it;
# - ENDED: resets it;
# - RESTARTED: reports that a new worker has made it again;
# - BROKEN: makes it again, and reports that.
RUNNING, ENDED, RESTARTED, BROKEN = range(4)

# looked up once: every turn uses them
take = lib.pp_worker_take
deliver = lib.pp_worker_deliver
mark = lib.pp_worker_mark
COMMAND_STEP = lib.PP_COMMAND_STEP
STEPS = (lib.PP_COMMAND_STEP, lib.PP_COMMAND_STEP_PAYLOAD)
ndarray = np.ndarray


class EnvRunner(LaneMemory):
    """The environments of one lane, in the worker process that serves it.

    Attributes:
        brancher: forks this process if a turn asks for it; None if none may.
        born: in a process that was forked for a branch, what that is made of; else None.
    """

    brancher: Brancher | None = None
    born: Birth | None = None

    def __init__(
        self,
        envs: list[Any],
        env_fns: Sequence[Callable[[], Any]],
        assignment: Assignment,
        dumps: Dumps,
        memory: int,
        reply_fd: int,
    ) -> None:
        """Opens the pool's memory.

        Args:
            envs, env_fns: the environments, and the functions that made them.
            assignment, dumps, memory, reply_fd: as for `LaneMemory`.
        """
        super().__init__(assignment, dumps, memory, reply_fd)
        self._envs = envs
        self._env_fns = env_fns
        self._same_step = assignment.autoreset == "same_step"
        self._is_disabled = assignment.autoreset == "disabled"
        self._keeps_types = assignment.keeps_types
        # whether `_step_all` can do plain steps of all environments
        self._takes_all = bool(self._actions is not None and self._writer and not self._keeps_types)
        # the only row of an unordered pool's turns if `_step_one` can do steps; else None
        self._staged: Array | None = None
        if self._actions is not None and self._writer is not None and not self._is_ordered:
            own = self._own_rows(lib.PP_STAGED, 0, 1)
            self._staged = own[0] if own else None
        count = len(envs)
        # the last observation of each environment
        self._last: list[Any] = [NOTHING] * count
        # the last observation of an episode, during the reset that follows in the same step
        self._final = [np.zeros((1, *leaf.shape), leaf.dtype) for leaf in self._leaves]
        # environments whose first failure was written to stderr
        self._logged: set[int] = set()
        # by environment: steps it had delivered when it last failed, and failures since then
        self._failures: dict[int, tuple[int, int]] = {}
        restart = assignment.restart
        self._seeds: list[int | None] = list(restart.seeds) if restart else [None] * count
        # by environment; None if its generator goes on from one episode to the next
        self._episodes: list[EpisodeSeeds] | None = None
        if assignment.seeds_episodes:
            self._episodes = [EpisodeSeeds() for _ in envs]
        unreported = restart.unreported if restart else []
        self._phases = [RESTARTED if own else ENDED for own in unreported] or [RUNNING] * count
        self._pid = os.getpid()
        self._is_stray = False
        self._cache_steps()

    def _notice_fork(self) -> None:
        """Prevents a child that an environment forks from stepping, if it returns into the loop."""
        self._is_stray = True
        # `_step_all` iterates over this list, so the child leaves that loop
        self._steps.clear()

    def branch(self, env_id: int, lane: int, memory: int, reply_fd: int) -> tuple[EnvRunner, Any]:
        """Returns what steps one of the environments alone, on another lane; and the environment.

        To be called in a forked process, in which this object is not used any more.

        Args:
            env_id: the environment.
            lane, memory, reply_fd: as for `LaneMemory`.
        """
        i = env_id - self._first
        assignment = replace(self._assignment, lane=lane, restart=None)
        envs, env_fns = [self._envs[i]], [self._env_fns[i]]
        # first, as both need much address space
        lib.pp_worker_close(self._worker)
        made = EnvRunner(envs, env_fns, assignment, self._dumps, memory, reply_fd)
        made._last, made._phases, made._seeds = [self._last[i]], [self._phases[i]], [self._seeds[i]]
        return made, envs[0]

    def _exit_stray(self) -> None:
        stray_forks.exit_if_forked(self._pid, "step or reset")

    def _cache_steps(self) -> None:
        """Looks up the environments' step methods, which every turn calls."""
        self._steps = [env.step for env in self._envs]

    # --------------------------------------------------------------------------------- turns --

    def run(self, report_ready: Callable[[], None]) -> None:
        """Reports that it is ready, and works until the pool is closed."""
        # which keeps what it is given for ever, but the environments must be freed at the end
        notice = weakref.WeakMethod(self._notice_fork)
        os.register_at_fork(after_in_child=lambda: (own := notice()) and own())
        report_ready()
        self._serve_lane()

    def _serve_lane(self) -> None:
        """Works until the pool is closed."""
        worker = self._worker
        while (count := take(worker, FOREVER)) >= 0:
            self.work(count)

    def work(self, count: int) -> None:
        """Does the turns that were taken; answers a request if there are none."""
        if not count:
            self._answer_request()
        elif self._takes_all and self._turns.is_plain_step:
            self._step_all(count)
        elif count == 1 and self._staged is not None and self._commands[0] in STEPS:
            self._step_one(self._staged)
        else:
            self._take_turns(count)

    def _step_all(self, count: int) -> None:
        """Steps every environment, in order, into rows that lie one after another."""
        offset, row = self._blocks[0], self._rows[0]
        arrays, _ = self._block(offset)
        assert self._actions is not None and self._writer is not None
        write, actions, rewards = self._writer.write, self._actions, self._rewards
        (dtype, shape), own_rows = self._writer.plain, self._own_rows(offset, row, count)
        current, first, phases, last = self._current, self._first, self._phases, self._last
        is_traced = self._turns.is_traced
        infos: list[tuple[int, Any]] = []
        for i, step in enumerate(self._steps):
            current[0] = first + i
            phase = phases[i]
            if phase > ENDED or (phase and self._is_disabled):
                self._take_turn(i)
            else:
                try:
                    if phase:
                        observation, info = self._begin_episode(i)
                        is_written = False
                    else:
                        result = step(actions[i])
                        try:
                            observation, reward, terminated, truncated, info = result
                            rewards[i] = reward
                            ends = bool(terminated or truncated)
                        except Exception:
                            raise _wrong_step(result) from None
                        is_written = ends and self._end_episode(
                            i, i, observation, terminated, truncated, info
                        )
                    if not is_written:
                        # what most environments return; faster than calling `write`
                        if (
                            type(observation) is ndarray
                            and observation.dtype is dtype
                            and observation.shape == shape
                        ):
                            own_rows[i][...] = observation
                        else:
                            write(arrays, row + i, observation)
                        last[i] = observation
                        if info or type(info) is not dict:
                            infos.append((first + i, info))
                except BaseException as error:
                    self._recover(i, i, error)
            if is_traced:
                mark(self._worker, i, 1)
        if self._is_stray:
            self._exit_stray()
        if infos:
            self._reply_infos(infos)
        current[0] = -1
        deliver(self._worker, 0, count)

    def _step_one(self, staged: Array) -> None:
        """Does the only turn that was taken, a step of an unordered pool.

        It does what `_take_turns` does, with fewer calls: with one environment in each of many
        processes, little of their code stays in a core's cache from one step to the next.
        """
        env_id = self._env_ids[0]
        i = env_id - self._first
        if self._phases[i]:
            self._take_turns(1)
            return
        self._current[0] = env_id
        try:
            assert self._actions is not None and self._writer is not None
            is_record = self._commands[0] == COMMAND_STEP
            result = self._steps[i](self._actions[i] if is_record else self._payload(0))
            try:
                observation, reward, terminated, truncated, info = result
                self._rewards[0] = reward
                ends = bool(terminated or truncated)
            except Exception:
                raise _wrong_step(result) from None
            if not ends or not self._end_episode(0, i, observation, terminated, truncated, info):
                dtype, shape = self._writer.plain
                if (
                    type(observation) is ndarray
                    and observation.dtype is dtype
                    and observation.shape == shape
                ):
                    staged[...] = observation
                    self._last[i] = observation
                    if info or type(info) is not dict:
                        self._reply(0, {INFO: info})
                else:
                    self._write_row(0, *self._row_of(0), observation, _info_reply(info))
        except BaseException as error:
            self._recover(0, i, error)
        if self._is_stray:
            self._exit_stray()
        mark(self._worker, 0, 1)
        # first, as one that dies after it has delivered the turn dies in no environment
        self._current[0] = -1
        deliver(self._worker, 0, 1)

    def _reply_infos(self, infos: Sequence[tuple[int, Any]]) -> None:
        """Replies with the infos of `_step_all`, in as few replies as possible."""
        try:
            packed, singles = self._info_packer.pack(infos)
        except Exception:
            # keys of an odd class, for example: taken singly, they fail their own environment
            packed, singles = [], infos
        unsent: list[Single] = []
        for members, message in packed:
            try:
                self._reply_bytes(members[0][0] - self._first, message)
            except Exception:
                # the message does not fit into the free memory; single infos may
                unsent += members
        self._reply_singly((*singles, *unsent))

    def _reply_singly(self, infos: Sequence[Single]) -> None:
        """Replies with the infos of each environment."""
        for env_id, info in infos:
            i = env_id - self._first
            self._current[0] = env_id
            try:
                self._reply(i, {INFO: info})
            except BaseException as error:
                self._recover(i, i, error)

    def _take_turns(self, count: int) -> None:
        """Does any number of turns: steps, resets, or both."""
        for turn in range(count):
            self._current[0] = self._env_ids[turn]
            self._take_turn(turn)
            if self._is_stray:
                self._exit_stray()
            mark(self._worker, turn, 1)
            if not self._is_ordered:
                # first, as one that dies after it has delivered the turn dies in no environment
                self._current[0] = -1
                deliver(self._worker, turn, 1)
        self._current[0] = -1
        if self._is_ordered:
            deliver(self._worker, 0, count)

    def _take_turn(self, turn: int) -> None:
        """Does one environment's turn and writes its row."""
        i = self._env_ids[turn] - self._first
        phase = self._phases[i]
        arguments = action = None
        command = self._commands[turn]
        try:
            if command in STEPS:
                if phase == RUNNING:
                    if command == COMMAND_STEP and self._actions is not None:
                        action = self._actions[i]
                    else:
                        action = self._payload(turn)
                elif phase == ENDED and self._is_disabled:
                    raise AssertionError(
                        f"environment {self._env_ids[turn]} has ended its episode or failed, and"
                        " autoreset is disabled: reset it first"
                    )
            elif command != lib.PP_COMMAND_RESTART:
                given = self._payload(turn) or {}
                if type(given) is messages.TurnCall:
                    self._call_turn(turn, i, given)
                    return
                if given == messages.NO_RESET:
                    self._repeat_observation(turn, i)
                    return
                arguments = {**self._assignment.reset_arguments, **given}
        except BaseException as error:
            # not raised by the environment's step or reset, so it is not made again
            self._fail_turn(turn, i, error, phase or ENDED)
            return
        try:
            if phase == BROKEN:
                self._recreate(turn, i, arguments)
            elif arguments is not None:
                # the infos of a reset report a restart too
                restart = phase == RESTARTED and self._assignment.recreates
                more = messages.restart_info(self._seed(i, arguments)) if restart else None
                self._reset_turn(turn, i, arguments, more)
            elif phase == RESTARTED and not self._assignment.recreates:
                raise self._replaced(turn)
            elif phase == RESTARTED or command == lib.PP_COMMAND_RESTART:
                self._report_restart(turn, i)
            elif phase == ENDED:
                self._reset_turn(turn, i, {})
            else:
                self._step(turn, i, action)
        except BaseException as error:
            if phase == BROKEN:
                # only one attempt in a turn
                self._fail_turn(turn, i, error, BROKEN)
            else:
                self._recover(turn, i, error, arguments)

    def _step(self, turn: int, i: int, action: Any) -> None:
        result = self._steps[i](action)
        try:
            observation, reward, terminated, truncated, info = result
            self._rewards[turn] = reward
            ends = bool(terminated or truncated)
        except Exception:
            raise _wrong_step(result) from None
        if not ends or not self._end_episode(turn, i, observation, terminated, truncated, info):
            arrays, row = self._row_of(turn)
            self._write_row(turn, arrays, row, observation, _info_reply(info))

    def _end_episode(
        self, turn: int, i: int, observation: Any, terminated: Any, truncated: Any, info: Any
    ) -> bool:
        """Ends an episode after its last step.

        Returns whether it has written the row: with SAME_STEP, after a reset.
        """
        self._terminated[turn] = bool(terminated)
        self._truncated[turn] = bool(truncated)
        if not self._same_step:
            self._phases[i] = ENDED
            return False
        # the reset may change what the step returned, or return the same objects
        reply: Reply = {FINAL_INFO: copied(info)}
        writer = self._writer
        if writer is not None:
            writer.write(self._final, 0, observation)
        if writer is None or not writer.is_exact(observation):
            reply[FINAL_OBSERVATION] = copied(observation, "observation")
        observation, reset_info = self._reset(i, {})
        if reset_info:
            reply[INFO] = reset_info
        self._kinds[turn] = lib.PP_TURN_END
        arrays, row = self._row_of(turn)
        for held, final in zip(self._final, self._block(self._blocks[turn])[1], strict=True):
            final[row] = held[0]
        self._write_row(turn, arrays, row, observation, reply)
        return True

    def _begin_episode(self, i: int) -> Any:
        """Resets an environment whose episode has ended, for its row of `_step_all`."""
        begun = self._reset(i, {})
        self._rewards[i] = 0.0
        self._kinds[i] = lib.PP_TURN_RESET
        return begun

    def _reset_turn(
        self, turn: int, i: int, arguments: dict[str, Any], more: Mapping[str, Any] | None = None
    ) -> None:
        """Resets an environment and writes its row; `more` is added to the infos."""
        observation, info = self._reset(i, arguments)
        if more:
            info = {**info, **more}
        arrays, row = self._row_of(turn)
        self._write_row(turn, arrays, row, observation, _info_reply(info))
        self._rewards[turn] = 0.0
        self._kinds[turn] = lib.PP_TURN_RESET

    def _call_turn(self, turn: int, i: int, call: messages.TurnCall) -> None:
        """Answers a call in its environment's turn; the row shows nothing."""
        if self._phases[i] == RESTARTED and call.needs_episode:
            raise self._replaced(turn)
        try:
            if call.kind == BRANCH:
                answers = None
                self._branch(turn, call)
                if self.born is not None:
                    return
            else:
                answers = env_requests.answer([self._envs[i]], call.kind, *call.arguments)
                # the call may have replaced it
                self._steps[i] = self._envs[i].step
            self._reply(turn, {ANSWER: answers and answers[0]})
        except BaseException as error:
            # the turn has not failed: the episode goes on
            self._exit_stray()
            self._reply_failure(turn, error)
        self._rewards[turn] = 0.0
        self._kinds[turn] = lib.PP_TURN_REPEAT

    def _branch(self, turn: int, call: messages.TurnCall) -> None:
        """Forks branches. In these, all calls of C fail from now on, so that `run` returns."""
        assert self.brancher is not None
        self.born = self.brancher.fork(self._env_ids[turn], *call.arguments)
        if self.born is not None:
            self._is_stray = False

    def _replaced(self, turn: int) -> LostEpisodeError:
        """Returns the error for an environment that the worker before this one took with it."""
        return LostEpisodeError(
            f"the worker process of environment {self._env_ids[turn]} has died and was replaced:"
            " reset it"
        )

    def _repeat_observation(self, turn: int, i: int) -> None:
        """Writes a row that repeats the last observation; the environment is not called."""
        arrays, row = self._row_of(turn)
        if self._last[i] is not NOTHING:
            self._write_row(turn, arrays, row, self._last[i], {})
        elif self._has_observation(i):
            lib.pp_worker_repeat_last(self._worker, turn, False)
        else:
            raise StateError(
                f"environment {self._env_ids[turn]} has no observation yet: reset it first"
            )
        self._rewards[turn] = 0.0
        self._kinds[turn] = lib.PP_TURN_REPEAT

    def _reset(self, i: int, arguments: dict[str, Any]) -> Any:
        # if it fails, the next step resets the environment again
        self._phases[i] = ENDED
        seed, self._seeds[i] = self._seed(i, arguments), None
        if self._episodes is not None:
            seed = self._episodes[i].begin(seed)
        if seed is not None:
            arguments = {**arguments, "seed": seed}
        begun = self._call_reset(i, arguments)
        self._phases[i] = RUNNING
        return begun

    def _call_reset(self, i: int, arguments: dict[str, Any]) -> tuple[Any, Any]:
        """Calls an environment's reset; returns the observation and the infos."""
        result = self._envs[i].reset(**arguments)
        try:
            observation, info = result
        except (TypeError, ValueError):
            raise _wrong_reset(result) from None
        if not isinstance(info, Mapping):
            raise _wrong_reset(result)
        return observation, info

    def _seed(self, i: int, arguments: Mapping[str, Any]) -> int | None:
        """Returns the seed of a reset with these arguments; None for no seed."""
        seed: int | None = arguments.get("seed")
        return self._seeds[i] if seed is None else seed

    # ------------------------------------------------------------------------------ restarts --

    def _recover(
        self, turn: int, i: int, error: BaseException, arguments: dict[str, Any] | None = None
    ) -> None:
        """Recreates an environment that failed its turn, or reports the failure.

        Args:
            arguments: of the reset that failed; None for a step.
        """
        if self._is_stray:
            self._exit_stray()
        is_step = arguments is None
        if not self._assignment.recreates or (is_step and not self._has_observation(i)):
            self._fail_turn(turn, i, error)
            return
        if is_step and self._has_failed_too_often(turn, i):
            self._fail_turn(turn, i, error, BROKEN)
            return
        if i not in self._logged:
            self._logged.add(i)
            with contextlib.suppress(Exception):
                sys.stderr.write(
                    f"environment {self._env_ids[turn]} failed and is made again; it raised:\n"
                )
                traceback.print_exception(type(error), error, error.__traceback__)
        try:
            self._recreate(turn, i, arguments)
        except BaseException as error:
            self._fail_turn(turn, i, error, BROKEN)

    def _has_failed_too_often(self, turn: int, i: int) -> bool:
        """Counts a failure; returns whether too many came in a row, without a step in between."""
        steps = lib.pp_worker_delivered_steps(self._worker, turn)
        before, failures = self._failures.get(i, (0, 0))
        failures = failures + 1 if steps == before else 1
        self._failures[i] = steps, failures
        return failures > MAX_RESTARTS

    def _has_observation(self, i: int) -> bool:
        """Returns whether an environment has a last observation, maybe from a former worker."""
        return self._last[i] is not NOTHING or self._assignment.restart is not None

    def _recreate(self, turn: int, i: int, arguments: dict[str, Any] | None) -> None:
        """Recreates an environment with a fresh seed, and completes its turn.

        Args:
            arguments: of a reset; None for a step.
        """
        self._phases[i] = BROKEN
        with contextlib.suppress(BaseException):
            self._envs[i].close()
        self._envs[i] = env = make_env(self._env_fns[i])
        self._steps[i] = env.step
        self._seeds[i] = seeds.entropy(messages.SEED_BITS)
        if arguments is None:
            self._report_restart(turn, i)
        else:
            more = messages.restart_info(self._seed(i, arguments))
            self._reset_turn(turn, i, arguments, more)

    def _report_restart(self, turn: int, i: int) -> None:
        """Writes a row that repeats the last observation and reports the restart."""
        info = messages.restart_info(self._seeds[i])
        self._terminated[turn], self._truncated[turn] = 0, 1
        self._rewards[turn] = 0.0
        if not self._same_step:
            lib.pp_worker_repeat_last(self._worker, turn, False)
            self._phases[i] = ENDED
            self._kinds[turn] = lib.PP_TURN_REPEAT
            self._reply(turn, {INFO: info})
            return
        observation, reset_info = self._reset(i, {})
        arrays, row = self._row_of(turn)
        lib.pp_worker_repeat_last(self._worker, turn, True)
        self._kinds[turn] = lib.PP_TURN_CUT
        reply = {INFO: {**reset_info, **info}, FINAL_INFO: {}}
        self._write_row(turn, arrays, row, observation, reply)

    def _write_row(
        self, turn: int, arrays: list[Array], row: int, observation: Any, reply: Reply
    ) -> None:
        if self._writer is not None:
            self._writer.write(arrays, row, observation)
        if self._writer is None or (self._keeps_types and not self._writer.is_exact(observation)):
            reply[OBSERVATION] = observation
        self._last[self._env_ids[turn] - self._first] = observation
        if reply:
            self._reply(turn, reply)

    def _fail_turn(self, turn: int, i: int, error: BaseException, phase: int = ENDED) -> None:
        """Marks a turn as failed: C zeroes its row, and the reply has the exception.

        Args:
            phase: what the environment's next step does.
        """
        self._phases[i] = phase
        self._terminated[turn] = self._truncated[turn] = 0
        self._reply_failure(turn, error)
        self._failed[turn] = 1

    def _reply_failure(self, turn: int, error: BaseException) -> None:
        failure = Failure.of(error, self._dumps)
        # removes a reply of this turn: if there is no memory for a new one, there must be none
        lib.pp_worker_reply(self._worker, turn, ffi.NULL, 0, self._error)
        for form in (failure, failure.shortened()):
            with contextlib.suppress(Exception):
                self._reply(turn, {FAILURE: form})
                break

    # ------------------------------------------------------------------------------ requests --

    def _answer_request(self) -> None:
        size = ffi.new("int64_t *")
        data = lib.pp_worker_request(self._worker, size)
        if not data:
            return
        try:
            kind, env_ids, *arguments = pickle.loads(ffi.buffer(data, size[0]))
            envs = [self._envs[env_id - self._first] for env_id in env_ids]
            answer = self._ask(envs, kind, *arguments)
            raw = self._pickle((True, answer), {1: "result"})
        except BaseException as error:
            raw = self._failed_answer(error)
        stray_forks.exit_if_forked(self._pid, "a method that was called")
        # the request may have replaced a step method
        self._cache_steps()
        if lib.pp_worker_answer(self._worker, raw, len(raw), self._error) >= 0:
            return
        refusal = MemoryError(f"there is no shared memory for an answer of {len(raw)} bytes")
        raw = self._failed_answer(refusal)
        if lib.pp_worker_answer(self._worker, raw, len(raw), self._error) < 0:
            # an empty answer means the same
            lib.pp_worker_answer(self._worker, ffi.NULL, 0, self._error)

    def _ask(self, envs: list[Any], kind: str, *arguments: Any) -> Any:
        return env_requests.answer(envs, kind, *arguments)

    def _failed_answer(self, error: BaseException) -> bytes:
        return self._dumps((False, Failure.of(error, self._dumps)))


def _info_reply(info: Any) -> Reply:
    """Returns the reply for infos; an empty one for an empty dict."""
    return {INFO: info} if info or type(info) is not dict else {}


def _wrong_step(result: Any) -> Exception:
    """Returns an exception that says what is wrong with the result of an environment's step."""
    wanted = "return (observation, reward, terminated, truncated, info)"
    try:
        count = len(result)
    except TypeError:
        return TypeError(f"step returned {described(result)}: {wanted}")
    if count != 5:
        return ValueError(f"step returned {count} values, {described(result)}: {wanted}")
    _, reward, terminated, truncated, _ = result
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        try:
            bool(flag)
        except Exception:
            return ValueError(f"step returned {described(flag)} as {name}: give a bool")
    return TypeError(f"step returned {described(reward)} as reward: give one number")


def _wrong_reset(result: Any) -> TypeError:
    """Returns an exception that says what is wrong with the result of an environment's reset."""
    return TypeError(
        f"reset returned {described(result)}: return (observation, info), where info is a dict"
    )
