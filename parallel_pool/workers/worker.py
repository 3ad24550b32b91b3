"""Loop: what a worker process does, from the turns it takes to the rows it hands over."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool import seeds
from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool.actions import described
from parallel_pool.errors import StateError
from parallel_pool.workers import (
    address_space,
    gymnasium_registry,
    info_columns,
    messages,
    spaces,
    stray_forks,
)
from parallel_pool.workers.connection import Fragile
from parallel_pool.workers.messages import (
    FAILURE,
    FINAL_INFO,
    FINAL_OBSERVATION,
    INFO,
    INFOS,
    OBSERVATION,
    TRIES,
    Assignment,
    Description,
    Failure,
    Reply,
    Task,
)

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool.buffers import Array
    from parallel_pool.workers.connection import Connection, Dumps

# no reason to wake but turns, requests and the end
FOREVER = 3600 * 10**9
# blocks whose arrays are kept at hand
BLOCKS = 64

# in place of an observation that was never made
NOTHING = object()

# What an environment's next step is: a step; the first of another episode; a row that says that it
# was made anew; the same, but first it must be made.
RUNNING, ENDED, OWED, LOST = range(4)

# what is in replies, for messages
NAMES = {
    INFO: "info",
    FINAL_INFO: "info",
    OBSERVATION: "observation",
    FINAL_OBSERVATION: "observation",
    FAILURE: "failure",
    INFOS: "info",
}

# looked up once, for the sake of turns
take = lib.pp_worker_take
claim = lib.pp_worker_claim_row
deliver = lib.pp_worker_deliver
ASKED_STEP = lib.PP_COMMAND_STEP
STEPS = (lib.PP_COMMAND_STEP, lib.PP_COMMAND_ACTION)
ndarray = np.ndarray


def serve(connection: Connection, task: Task) -> None:
    """Makes the environments, tells of them, gets a seat, and works until the pool is closed."""
    gymnasium_registry.add(task.specs)
    env_fns = task.env_fns
    envs: list[Any] = []
    sent = 0
    pid = os.getpid()
    try:
        try:
            for make in env_fns:
                envs.append(make())
                stray_forks.end_here(pid, "its constructor")
            for env in envs:
                # what can't be sent is told of the environment that has it
                connection.dumps(spaces_of(env))
                sent += 1
            described = describe(envs, connection.dumps)
            stray_forks.end_here(pid, "an attribute")
            connection.send(("ready", described))
        except BaseException as error:
            stray_forks.end_here(pid, "its constructor")
            at = sent if len(envs) == len(env_fns) else len(envs)
            connection.send(("failed", Failure.of(error, connection.dumps), at % len(env_fns)))
            return
        try:
            (kind, assignment), fds = connection.recv(None)
        except EOFError:  # the creator has thought better of it
            return
        assert kind == "seat"
        Worker(envs, env_fns, assignment, connection.dumps, *fds).run(
            lambda: connection.send(("seated",))
        )
    finally:
        stray_forks.end_here(pid, "a call")
        for env in envs:
            # one that fails at its end, in whatever way, must not keep others from theirs
            with contextlib.suppress(BaseException):
                env.close()
            stray_forks.end_here(pid, "close")


def spaces_of(env: Any) -> tuple[Any, Any]:
    """Returns an environment's spaces; raises TypeError if it is none."""
    for name in ("observation_space", "action_space", "reset", "step"):
        try:
            getattr(env, name)
        except AttributeError as error:
            raise TypeError(
                f"its function returned {described(env)}, which has no {name}: return a"
                " gymnasium.Env"
            ) from error
    return env.observation_space, env.action_space


def describe(envs: Sequence[Any], dumps: Dumps) -> Description:
    """Returns what the creator must know of the environments."""
    first = envs[0]
    return Description(
        [env.observation_space for env in envs],
        [env.action_space for env in envs],
        dict(getattr(first, "metadata", None) or {}),
        getattr(first, "render_mode", None),
        Fragile(getattr(first, "spec", None), dumps),
        address_space.left(),
    )


def reply_of(info: Any) -> Reply:
    """Returns the reply that tells infos; nothing is said of none."""
    return {INFO: info} if info or type(info) is not dict else {}


def wrong_step(result: Any) -> Exception:
    """Says what is wrong with what an environment's step returned."""
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


def wrong_reset(result: Any) -> TypeError:
    """Says what is wrong with what an environment's reset returned."""
    return TypeError(
        f"reset returned {described(result)}: return (observation, info), of which info is a dict"
    )


def view(pointer: CData, count: int, size: int, code: Any) -> memoryview:
    """Returns `count` numbers of C as Python reads and writes them quickest."""
    numbers: memoryview = memoryview(ffi.buffer(pointer, count * size)).cast("B").cast(code)
    return numbers


class Worker:
    """The environments of one lane at work."""

    def __init__(
        self,
        envs: list[Any],
        env_fns: Sequence[Callable[[], Any]],
        assignment: Assignment,
        dumps: Dumps,
        memory: int,
        spill: int,
    ) -> None:
        self._envs = envs
        self._env_fns = env_fns
        self._seating = assignment
        self._dumps = dumps
        self._error = new_error()
        out = ffi.new("pp_worker **")
        status = lib.pp_worker_open(
            memory, assignment.reserve, spill, assignment.lane, out, self._error
        )
        if status < 0:
            raise_error(status, self._error)
        self._seat = seat = out[0]
        self._first: int = lib.pp_worker_first_env(seat)
        count: int = lib.pp_worker_num_envs(seat)
        self._shift = shift = lib.pp_worker_turns(seat)
        self._env_ids = view(shift.env_ids, count, 4, "i")
        self._asked = view(shift.command, count, 4, "i")
        self._rows = view(shift.rows, count, 4, "i")
        self._blocks = view(shift.blocks, count, 8, "q")
        self._rewards: Any = view(shift.rewards, count, 8, "d")
        self._terminated = view(shift.terminated, count, 1, "B")
        self._truncated = view(shift.truncated, count, 1, "B")
        self._kinds = view(shift.kinds, count, 1, "B")
        self._failed = view(shift.failed, count, 1, "B")
        self._current = view(lib.pp_worker_current_env(seat), 1, 4, "i")
        self._arrays: dict[int, tuple[list[Array], list[Array]]] = {}
        self._row_views: dict[tuple[int, int], list[Array]] = {}

        self._is_ordered = bool(lib.pp_worker_is_ordered(seat))
        self._same_step = assignment.autoreset == "same_step"
        self._is_disabled = assignment.autoreset == "disabled"
        self._writer = (
            spaces.Writer(assignment.observation_space)
            if assignment.observation_space is not None
            else None
        )
        self._leaves = self._writer.leaves if self._writer else ()
        self._actions = None if assignment.action_space is None else self._bind(count)
        # what each environment showed last
        self._last: list[Any] = [NOTHING] * count
        # environments whose failure was shown where this process writes its errors
        self._blamed: set[int] = set()
        # steps that each had brought when it was last made anew, and how often in a row that was
        # for nothing
        self._vain: dict[int, tuple[int, int]] = {}
        restart = assignment.restart
        self._seeds: list[int | None] = list(restart.seeds) if restart else [None] * count
        self._phases = [OWED if owed else ENDED for owed in restart.owed] if restart else []
        self._phases = self._phases or [RUNNING] * count
        self._pid = os.getpid()
        self._is_stray = False
        self._look_up()
        os.register_at_fork(after_in_child=self._notice_fork)

    def _notice_fork(self) -> None:
        """In a child that an environment forks: should it return, nothing more is stepped there."""
        self._is_stray = True
        # the loop over these is about to go on
        self._steps.clear()

    def _end_stray(self) -> None:
        stray_forks.end_here(self._pid, "step or reset")

    def _bind(self, count: int) -> spaces.Indexed:
        size = ffi.new("int64_t *")
        records = lib.pp_worker_actions(self._seat, size)
        buffer = memoryview(ffi.buffer(records, size[0] * count))
        return spaces.ActionUnpacker(self._seating.action_space).bind(buffer, count)

    def _look_up(self) -> None:
        """Keeps what turns call at hand; anew after whatever may have changed it."""
        self._steps = [env.step for env in self._envs]

    # -------------------------------------------------------------------------------- shifts --

    def run(self, tell: Callable[[], None]) -> None:
        """Works until the pool is closed; tells that it begins."""
        tell()
        seat = self._seat
        while (count := take(seat, FOREVER)) >= 0:
            if not count:
                self._answer()
            elif self._shift.is_whole and self._actions is not None and self._writer:
                self._step_all(count)
            else:
                self._take_turns(count)

    def _step_all(self, count: int) -> None:
        """A plain step of every environment, in order, into rows that lie side by side."""
        offset, row = self._blocks[0], self._rows[0]
        arrays, _ = self._block(offset)
        assert self._actions is not None and self._writer is not None
        write, actions, rewards = self._writer.write, self._actions, self._rewards
        (dtype, shape), own_rows = self._writer.plain, self._own_rows(offset, row, count)
        current, first, phases, last = self._current, self._first, self._phases, self._last
        told: list[tuple[int, Any]] = []
        for i, step in enumerate(self._steps):
            current[0] = first + i
            if phases[i]:
                self._take_turn(i)
            else:
                try:
                    result = step(actions[i])
                    try:
                        observation, reward, terminated, truncated, info = result
                        rewards[i] = reward
                        goes_on = not (terminated or truncated)
                    except Exception:
                        raise wrong_step(result) from None
                    if goes_on:
                        # what most environments return; quicker than a call
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
                            told.append((first + i, info))
                    else:
                        at = row + i
                        self._end(i, i, arrays, at, observation, terminated, truncated, info)
                except BaseException as error:
                    self._recover(i, i, error)
        if self._is_stray:
            self._end_stray()
        if told:
            self._tell(told)
        current[0] = -1
        deliver(self._seat, 0, count)

    def _tell(self, told: Sequence[tuple[int, Any]]) -> None:
        """Replies infos of a plain step of all, as few messages as may be."""
        shared, rest = info_columns.gather(told)
        for some in shared:
            try:
                self._reply(some.env_ids[0] - self._first, {INFOS: some})
            except Exception:
                # there is no room; smaller ones may find some
                rest += some.dicts()
        for env_id, info in rest:
            i = env_id - self._first
            self._current[0] = env_id
            try:
                self._reply(i, {INFO: info})
            except BaseException as error:
                self._recover(i, i, error)

    def _take_turns(self, count: int) -> None:
        """Whatever each environment is asked."""
        for turn in range(count):
            self._current[0] = self._env_ids[turn]
            self._take_turn(turn)
            if self._is_stray:
                self._end_stray()
            if not self._is_ordered:
                deliver(self._seat, turn, 1)
        self._current[0] = -1
        if self._is_ordered:
            deliver(self._seat, 0, count)

    def _take_turn(self, turn: int) -> None:
        """One environment's turn, up to its row being written."""
        i = self._env_ids[turn] - self._first
        phase = self._phases[i]
        order = action = None
        asked = self._asked[turn]
        try:
            if asked in STEPS:
                if phase == RUNNING:
                    if asked == ASKED_STEP and self._actions is not None:
                        action = self._actions[i]
                    else:
                        action = self._order(turn)
                elif phase == ENDED and self._is_disabled:
                    raise AssertionError(
                        f"environment {self._env_ids[turn]} has ended its episode or failed, and"
                        " autoreset is disabled: reset it first"
                    )
            elif asked != lib.PP_COMMAND_RESTART:
                given = self._order(turn) or {}
                if given == messages.KEEP:
                    self._keep(turn, i)
                    return
                order = {**self._seating.reset_arguments, **given}
        except BaseException as error:
            # not the environment's doing
            self._fail(turn, i, error, phase or ENDED)
            return
        try:
            if phase == LOST:
                self._begin_anew(turn, i, order)
            elif order is not None:
                # who asks for a reset must hear of a restart too
                more = messages.restarted(self._seed(i, order)) if phase == OWED else None
                self._begin(turn, i, order, more)
            elif phase == OWED or asked == lib.PP_COMMAND_RESTART:
                self._tell_restart(turn, i)
            elif phase == ENDED:
                self._begin(turn, i, {})
            else:
                self._step(turn, i, action)
        except BaseException as error:
            if phase == LOST:
                # one attempt in a turn
                self._fail(turn, i, error, LOST)
            else:
                self._recover(turn, i, error, order)

    def _step(self, turn: int, i: int, action: Any) -> None:
        result = self._steps[i](action)
        try:
            observation, reward, terminated, truncated, info = result
            self._rewards[turn] = reward
            goes_on = not (terminated or truncated)
        except Exception:
            raise wrong_step(result) from None
        arrays, row = self._place(turn)
        if goes_on:
            self._show(turn, arrays, row, observation, reply_of(info))
        else:
            self._end(turn, i, arrays, row, observation, terminated, truncated, info)

    def _end(
        self,
        turn: int,
        i: int,
        arrays: list[Array],
        row: int,
        observation: Any,
        terminated: Any,
        truncated: Any,
        info: Any,
    ) -> None:
        """The step that ended an episode; with SAME_STEP it shows the next one's beginning."""
        self._terminated[turn] = bool(terminated)
        self._truncated[turn] = bool(truncated)
        if not self._same_step:
            self._phases[i] = ENDED
            self._show(turn, arrays, row, observation, reply_of(info))
            return
        reply: Reply = {FINAL_INFO: info}
        writer = self._writer
        if writer is not None:
            writer.write(self._block(self._blocks[turn])[1], row, observation)
        if writer is None or not writer.is_exact(observation):
            reply[FINAL_OBSERVATION] = observation
        observation, reset_info = self._reset(i, {})
        if reset_info:
            reply[INFO] = reset_info
        self._kinds[turn] = lib.PP_TURN_END
        self._show(turn, arrays, row, observation, reply)

    def _begin(
        self, turn: int, i: int, arguments: dict[str, Any], more: Mapping[str, Any] | None = None
    ) -> None:
        """A reset that fills the turn; more: infos of ours."""
        observation, info = self._reset(i, arguments)
        if more:
            info = {**info, **more}
        arrays, row = self._place(turn)
        self._show(turn, arrays, row, observation, reply_of(info))
        self._rewards[turn] = 0.0
        self._kinds[turn] = lib.PP_TURN_RESET

    def _keep(self, turn: int, i: int) -> None:
        """A row that shows what was shown last, of an environment that is left as it is."""
        arrays, row = self._place(turn)
        if self._last[i] is not NOTHING:
            self._show(turn, arrays, row, self._last[i], {})
        elif self._has_shown(i):
            lib.pp_worker_repeat_last(self._seat, turn, 0)
        else:
            raise StateError(
                f"environment {self._env_ids[turn]} has shown nothing yet: reset it first"
            )
        self._rewards[turn] = 0.0
        self._kinds[turn] = lib.PP_TURN_REPEAT

    def _reset(self, i: int, arguments: dict[str, Any]) -> Any:
        # should it fail, the environment is reset again
        self._phases[i] = ENDED
        seed, self._seeds[i] = self._seed(i, arguments), None
        if seed is not None:
            arguments = {**arguments, "seed": seed}
        result = self._envs[i].reset(**arguments)
        try:
            observation, info = result
        except (TypeError, ValueError):
            raise wrong_reset(result) from None
        if not isinstance(info, Mapping):
            raise wrong_reset(result)
        self._phases[i] = RUNNING
        return observation, info

    def _seed(self, i: int, arguments: Mapping[str, Any]) -> int | None:
        """Returns what a reset with these arguments seeds an environment with, None for nothing."""
        seed: int | None = arguments.get("seed")
        return self._seeds[i] if seed is None else seed

    # ------------------------------------------------------------------------------ restarts --

    def _recover(
        self, turn: int, i: int, error: BaseException, order: dict[str, Any] | None = None
    ) -> None:
        """After an environment has failed its turn: another takes its place, or it is told.

        Args:
            order: arguments of the reset that it was asked for; None for a step.
        """
        if self._is_stray:
            self._end_stray()
        if not self._seating.remakes or (order is None and not self._has_shown(i)):
            self._fail(turn, i, error)
            return
        if order is None and self._is_in_vain(turn, i):
            self._fail(turn, i, error, LOST)
            return
        if i not in self._blamed:
            self._blamed.add(i)
            with contextlib.suppress(Exception):
                sys.stderr.write(
                    f"environment {self._env_ids[turn]} is made anew, for it failed:\n"
                )
                traceback.print_exception(error)
        try:
            self._begin_anew(turn, i, order)
        except BaseException as error:
            self._fail(turn, i, error, LOST)

    def _is_in_vain(self, turn: int, i: int) -> bool:
        """Whether an environment that fails was made anew too often without a step between."""
        steps = lib.pp_worker_delivered_steps(self._seat, turn)
        before, tries = self._vain.get(i, (0, 0))
        tries = tries + 1 if steps == before else 1
        self._vain[i] = steps, tries
        return tries > TRIES

    def _has_shown(self, i: int) -> bool:
        """Whether there is a last observation of an environment's."""
        return self._last[i] is not NOTHING or self._seating.restart is not None

    def _begin_anew(self, turn: int, i: int, order: dict[str, Any] | None) -> None:
        """A turn of an environment that is made anew, freshly seeded, for it."""
        self._phases[i] = LOST
        with contextlib.suppress(BaseException):
            self._envs[i].close()
        self._envs[i] = env = self._env_fns[i]()
        self._steps[i] = env.step
        self._seeds[i] = seeds.entropy(messages.SEED_BITS)
        if order is None:
            self._tell_restart(turn, i)
        else:
            self._begin(turn, i, order, messages.restarted(self._seed(i, order)))

    def _tell_restart(self, turn: int, i: int) -> None:
        """A row that repeats what was shown last, for an environment made anew."""
        info = messages.restarted(self._seeds[i])
        arrays, row = self._place(turn)
        self._terminated[turn], self._truncated[turn] = 0, 1
        self._rewards[turn] = 0.0
        if not self._same_step:
            lib.pp_worker_repeat_last(self._seat, turn, 0)
            self._phases[i] = ENDED
            self._kinds[turn] = lib.PP_TURN_REPEAT
            self._reply(turn, {INFO: info})
            return
        lib.pp_worker_repeat_last(self._seat, turn, 1)
        observation, reset_info = self._reset(i, {})
        self._kinds[turn] = lib.PP_TURN_CUT
        self._show(turn, arrays, row, observation, {INFO: {**reset_info, **info}, FINAL_INFO: {}})

    # ---------------------------------------------------------------------------------- rows --

    def _block(self, offset: int) -> tuple[list[Array], list[Array]]:
        """The leaves' arrays in a block, and those of final observations."""
        known = self._arrays.get(offset)
        if known is not None:
            return known
        assignment = self._seating
        raw = ffi.buffer(lib.pp_worker_block(self._seat, offset), assignment.size)
        memory = np.frombuffer(memoryview(raw), np.uint8)

        def arrays(places: list[tuple[int, int]]) -> list[Array]:
            return [
                memory[at : at + size * assignment.rows]
                .view(leaf.dtype)
                .reshape(assignment.rows, *leaf.shape)
                for (at, size), leaf in zip(places, self._leaves, strict=bool(places))
            ]

        if len(self._arrays) >= BLOCKS:
            self._arrays.clear()
        made = self._arrays[offset] = arrays(assignment.fields), arrays(assignment.finals)
        return made

    def _own_rows(self, offset: int, row: int, count: int) -> list[Array]:
        """These rows of a block, a view of each; none unless the space is one array.

        No others are kept: all rows of all blocks would be many in each of many workers.
        """
        assert self._writer is not None
        if self._writer.plain[0] is None:
            return []
        known = self._row_views.get((offset, row))
        if known is not None:
            return known
        if len(self._row_views) >= BLOCKS:
            self._row_views.clear()
        array = self._block(offset)[0][0]
        made = self._row_views[offset, row] = list(array[row : row + count])
        return made

    def _place(self, turn: int) -> tuple[list[Array], int]:
        """Claims a turn's row, if it has none; returns the arrays and the row's index."""
        claim(self._seat, turn)
        return self._block(self._blocks[turn])[0], self._rows[turn]

    def _show(
        self, turn: int, arrays: list[Array], row: int, observation: Any, reply: Reply
    ) -> None:
        if self._writer is not None:
            self._writer.write(arrays, row, observation)
        else:
            reply[OBSERVATION] = observation
        self._last[self._env_ids[turn] - self._first] = observation
        if reply:
            self._reply(turn, reply)

    def _reply(self, turn: int, reply: Reply) -> None:
        for key in (INFO, FINAL_INFO):
            if key in reply and not isinstance(reply[key], Mapping):
                raise TypeError(f"step returned {described(reply[key])} as info: give a dict")
        data = self._pickle(reply, NAMES)
        status = lib.pp_worker_reply(self._seat, turn, data, len(data), self._error)
        if status < 0:
            raise_error(status, self._error)

    def _pickle(self, value: Any, names: Mapping[int, str]) -> bytes:
        """Pickles a reply or an answer, whose parts have these names if they can't be pickled."""
        try:
            return self._dumps(value)
        except Exception:
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                messages.check_portable(part, names.get(key, ""), self._dumps)
            raise

    def _order(self, turn: int) -> Any:
        size = ffi.new("int64_t *")
        data = lib.pp_worker_payload(self._seat, turn, size)
        return pickle.loads(ffi.buffer(data, size[0])) if data else None

    def _fail(self, turn: int, i: int, error: BaseException, phase: int = ENDED) -> None:
        """The row is left to the engine; the reply says why, and the phase what comes next."""
        self._phases[i] = phase
        failure = Failure.of(error, self._dumps)
        self._terminated[turn] = self._truncated[turn] = 0
        # Without memory the row alone must do. What the turn has said before is no longer so
        lib.pp_worker_reply(self._seat, turn, ffi.NULL, 0, self._error)
        for words in (failure, failure.shortened()):
            with contextlib.suppress(Exception):
                self._reply(turn, {FAILURE: words})
                break
        claim(self._seat, turn)
        self._failed[turn] = 1

    # ------------------------------------------------------------------------------ requests --

    def _answer(self) -> None:
        size = ffi.new("int64_t *")
        data = lib.pp_worker_request(self._seat, size)
        if not data:
            return
        try:
            kind, *arguments = pickle.loads(ffi.buffer(data, size[0]))
            answer = self._pickle((True, getattr(self, f"_do_{kind}")(*arguments)), {1: "result"})
        except BaseException as error:
            answer = self._dumps((False, Failure.of(error, self._dumps)))
        stray_forks.end_here(self._pid, "a method that was called")
        self._look_up()
        if lib.pp_worker_answer(self._seat, answer, len(answer), self._error) >= 0:
            return
        refusal = MemoryError(f"there is no shared memory for an answer of {len(answer)} bytes")
        answer = self._dumps((False, Failure.of(refusal, self._dumps)))
        if lib.pp_worker_answer(self._seat, answer, len(answer), self._error) < 0:
            # nothing at all says the same
            lib.pp_worker_answer(self._seat, ffi.NULL, 0, self._error)

    def _do_call(
        self, env_ids: Sequence[int], name: str, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[Any]:
        """Calls a method of environments, or gets an attribute."""
        results = []
        for env_id in env_ids:
            env = self._envs[env_id - self._first]
            found = (
                env.get_wrapper_attr(name)
                if hasattr(env, "get_wrapper_attr")
                else getattr(env, name)
            )
            results.append(found(*args, **kwargs) if callable(found) else found)
        return results

    def _do_get(self, env_ids: Sequence[int], name: str) -> list[Any]:
        """Gets an attribute, callable or not."""
        results = []
        for env_id in env_ids:
            env = self._envs[env_id - self._first]
            results.append(
                env.get_wrapper_attr(name)
                if hasattr(env, "get_wrapper_attr")
                else getattr(env, name)
            )
        return results

    def _do_set(self, env_ids: Sequence[int], name: str, values: Sequence[Any]) -> None:
        """Sets an attribute of environments, each to its value."""
        for env_id, value in zip(env_ids, values, strict=True):
            env = self._envs[env_id - self._first]
            if hasattr(env, "set_wrapper_attr"):
                env.set_wrapper_attr(name, value)
            else:
                setattr(env, name, value)

    def _do_apply(self, env_ids: Sequence[int], function: Callable[[Any], Any]) -> list[Any]:
        """Calls a function with each environment."""
        return [function(self._envs[env_id - self._first]) for env_id in env_ids]
