"""Loop: what a worker process does, from the turns it takes to the rows it hands over."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._native import ffi, lib, new_error, raise_error
from parallel_pool.errors import StateError
from parallel_pool.workers import messages, spaces
from parallel_pool.workers.messages import (
    FAILURE,
    FINAL_INFO,
    FINAL_OBSERVATION,
    INFO,
    OBSERVATION,
    Description,
    Failure,
    Reply,
    Seating,
)

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool.buffers import Array
    from parallel_pool.workers.wire import Wire

# no reason to wake but turns, requests and the end
FOREVER = 3600 * 10**9
# blocks whose arrays are kept at hand
BLOCKS = 64

# in place of an observation that was never made
NOTHING = object()

# looked up once, for the sake of turns
take = lib.pp_seat_take
claim = lib.pp_seat_claim
deliver = lib.pp_seat_deliver


def serve(wire: Wire, env_fns: Sequence[Callable[[], Any]]) -> None:
    """Makes the environments, tells of them, gets a seat, and works until the pool is closed."""
    envs = []
    try:
        try:
            for make in env_fns:
                envs.append(make())
            wire.send(("ready", describe(envs)))
        except BaseException as error:
            wire.send(("failed", Failure.of(error), len(envs)))
            return
        try:
            (kind, seating), fds = wire.recv(None)
        except EOFError:  # the creator has thought better of it
            return
        assert kind == "seat"
        Worker(envs, env_fns, seating, *fds).run(lambda: wire.send(("seated",)))
    finally:
        for env in envs:
            # one that fails at its end must not keep others from theirs
            with contextlib.suppress(Exception):
                env.close()


def describe(envs: Sequence[Any]) -> Description:
    """Returns what the creator must know of the environments."""
    first = envs[0]
    spec = getattr(first, "spec", None)
    try:
        pickle.loads(messages.dumps(spec))
    except Exception:
        spec = None
    return Description(
        [env.observation_space for env in envs],
        [env.action_space for env in envs],
        dict(getattr(first, "metadata", None) or {}),
        getattr(first, "render_mode", None),
        spec,
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
        seating: Seating,
        memory: int,
        spill: int,
    ) -> None:
        self._envs = envs
        self._env_fns = env_fns
        self._seating = seating
        self._error = new_error()
        out = ffi.new("pp_seat **")
        status = lib.pp_seat_open(memory, seating.reserve, spill, seating.lane, out, self._error)
        if status < 0:
            raise_error(status, self._error)
        self._seat = seat = out[0]
        if lib.pp_seat_follow(seating.creator) < 0:
            raise ProcessLookupError("the pool's process has ended")
        self._first: int = lib.pp_seat_first(seat)
        count: int = lib.pp_seat_count(seat)
        self._shift = shift = lib.pp_seat_shift(seat)
        self._env_ids = view(shift.env_ids, count, 4, "i")
        self._asked = view(shift.asked, count, 4, "i")
        self._rows = view(shift.rows, count, 4, "i")
        self._blocks = view(shift.blocks, count, 8, "q")
        self._rewards: Any = view(shift.rewards, count, 8, "d")
        self._terminated = view(shift.terminated, count, 1, "B")
        self._truncated = view(shift.truncated, count, 1, "B")
        self._is_reset = view(shift.is_reset, count, 1, "B")
        self._failed = view(shift.failed, count, 1, "B")
        self._current = view(lib.pp_seat_current(seat), 1, 4, "i")
        self._arrays: dict[int, tuple[list[Array], list[Array]]] = {}

        self._is_ordered = bool(lib.pp_seat_is_ordered(seat))
        self._same_step = seating.autoreset == "same_step"
        self._is_disabled = seating.autoreset == "disabled"
        self._writer = (
            spaces.Writer(seating.observation_space)
            if seating.observation_space is not None
            else None
        )
        self._leaves = self._writer.leaves if self._writer else ()
        self._actions = None if seating.action_space is None else self._bind(count)
        # what each environment showed last
        self._last: list[Any] = [NOTHING] * count
        # episodes that have ended: the next turn begins another
        self._ended = [False] * count
        restart = seating.restart
        self._seeds: list[int | None] = list(restart.seeds) if restart else [None] * count
        self._owed = list(restart.owed) if restart else [False] * count
        if restart:
            self._ended = [not owed for owed in self._owed]
        self._look_up()

    def _bind(self, count: int) -> spaces.Indexed:
        size = ffi.new("int64_t *")
        records = lib.pp_seat_actions(self._seat, size)
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
        arrays, _ = self._block(self._blocks[0])
        row = self._rows[0]
        assert self._actions is not None and self._writer is not None
        write, actions, rewards = self._writer.write, self._actions, self._rewards
        current, first, ended, owed = self._current, self._first, self._ended, self._owed
        last = self._last
        for i, step in enumerate(self._steps):
            current[0] = first + i
            if ended[i] or owed[i]:
                self._take_turn(i)
            else:
                try:
                    observation, reward, terminated, truncated, info = step(actions[i])
                    if terminated or truncated:
                        self._end(i, i, arrays, row, observation, terminated, truncated, info)
                    else:
                        write(arrays, row, observation)
                        last[i] = observation
                        if info:
                            self._reply(i, {INFO: info})
                    rewards[i] = reward
                except BaseException as error:
                    self._fail(i, i, error)
            row += 1
        current[0] = -1
        deliver(self._seat, 0, count)

    def _take_turns(self, count: int) -> None:
        """Whatever each environment is asked."""
        for turn in range(count):
            self._current[0] = self._env_ids[turn]
            self._take_turn(turn)
            if not self._is_ordered:
                deliver(self._seat, turn, 1)
        self._current[0] = -1
        if self._is_ordered:
            deliver(self._seat, 0, count)

    def _take_turn(self, turn: int) -> None:
        """One environment's turn, up to its row being written."""
        i = self._env_ids[turn] - self._first
        asked = self._asked[turn]
        try:
            if asked == lib.PP_ASKED_RESTART:
                self._tell_restart(turn, i)
            elif asked != lib.PP_ASKED_STEP:
                order = self._order(turn) or {}
                if order == messages.KEEP:
                    self._keep(turn, i)
                else:
                    self._owed[i] = False
                    self._begin(turn, i, order)
            elif self._owed[i]:
                self._owed[i] = False
                self._tell_restart(turn, i)
            elif self._ended[i]:
                if self._is_disabled:
                    raise AssertionError(
                        f"environment {self._env_ids[turn]} has ended its episode or failed, and"
                        " autoreset is disabled: reset it first"
                    )
                self._begin(turn, i, {})
            else:
                self._step(turn, i)
        except BaseException as error:
            self._fail(turn, i, error)

    def _step(self, turn: int, i: int) -> None:
        action = self._actions[i] if self._actions is not None else self._order(turn)
        observation, reward, terminated, truncated, info = self._steps[i](action)
        arrays, row = self._place(turn)
        if terminated or truncated:
            self._end(turn, i, arrays, row, observation, terminated, truncated, info)
        else:
            self._show(turn, arrays, row, observation, {INFO: info} if info else {})
        self._rewards[turn] = reward

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
            self._ended[i] = True
            self._show(turn, arrays, row, observation, {INFO: info} if info else {})
            return
        reply: Reply = {FINAL_INFO: info}
        writer = self._writer
        if writer is not None:
            writer.write(self._block(self._blocks[turn])[1], row, observation)
        if writer is None or not writer.is_exact(observation):
            reply[FINAL_OBSERVATION] = observation
        # should the reset fail, the environment is reset again
        self._ended[i] = True
        observation, reset_info = self._reset(i, {})
        if reset_info:
            reply[INFO] = reset_info
        self._show(turn, arrays, row, observation, reply)

    def _begin(self, turn: int, i: int, arguments: dict[str, Any]) -> None:
        """A reset that fills the turn."""
        observation, info = self._reset(i, arguments)
        arrays, row = self._place(turn)
        self._show(turn, arrays, row, observation, {INFO: info} if info else {})
        self._rewards[turn] = 0.0
        self._is_reset[turn] = 1

    def _keep(self, turn: int, i: int) -> None:
        """A row that shows what was shown last, of an environment that is left as it is."""
        arrays, row = self._place(turn)
        if self._last[i] is not NOTHING:
            self._show(turn, arrays, row, self._last[i], {})
        elif self._seating.restart is not None:
            lib.pp_seat_recall(self._seat, turn, 0)
        else:
            raise StateError(
                f"environment {self._env_ids[turn]} has shown nothing yet: reset it first"
            )
        self._rewards[turn] = 0.0

    def _reset(self, i: int, arguments: dict[str, Any]) -> Any:
        self._ended[i] = True
        seed, self._seeds[i] = self._seeds[i], None
        if seed is not None:
            arguments = {"seed": seed, **arguments}
        result = self._envs[i].reset(**arguments)
        observation, info = result
        self._ended[i] = False
        return observation, info

    def _tell_restart(self, turn: int, i: int) -> None:
        """A row that repeats what was shown last, for an environment made anew."""
        info = {"worker_restarted": True, "restart_seed": self._seeds[i]}
        arrays, row = self._place(turn)
        self._truncated[turn] = 1
        self._rewards[turn] = 0.0
        if not self._same_step:
            lib.pp_seat_recall(self._seat, turn, 0)
            self._ended[i] = True
            self._reply(turn, {INFO: info})
            return
        lib.pp_seat_recall(self._seat, turn, 1)
        observation, reset_info = self._reset(i, {})
        self._show(turn, arrays, row, observation, {INFO: {**reset_info, **info}, FINAL_INFO: {}})

    # ---------------------------------------------------------------------------------- rows --

    def _block(self, offset: int) -> tuple[list[Array], list[Array]]:
        """The leaves' arrays in a block, and those of final observations."""
        known = self._arrays.get(offset)
        if known is not None:
            return known
        seating = self._seating
        raw = ffi.buffer(lib.pp_seat_block(self._seat, offset), seating.size)
        memory = np.frombuffer(memoryview(raw), np.uint8)

        def arrays(places: list[tuple[int, int]]) -> list[Array]:
            return [
                memory[at : at + size * seating.rows]
                .view(leaf.dtype)
                .reshape(seating.rows, *leaf.shape)
                for (at, size), leaf in zip(places, self._leaves, strict=bool(places))
            ]

        if len(self._arrays) >= BLOCKS:
            self._arrays.clear()
        made = self._arrays[offset] = arrays(seating.fields), arrays(seating.finals)
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
        data = messages.dumps(reply)
        status = lib.pp_seat_reply(self._seat, turn, data, len(data), self._error)
        if status < 0:
            raise_error(status, self._error)

    def _order(self, turn: int) -> Any:
        size = ffi.new("int64_t *")
        data = lib.pp_seat_order(self._seat, turn, size)
        return pickle.loads(ffi.buffer(data, size[0])) if data else None

    def _fail(self, turn: int, i: int, error: BaseException) -> None:
        """The row is left to the engine; the reply says why."""
        self._ended[i] = True
        failure = Failure.of(error)
        self._terminated[turn] = self._truncated[turn] = 0
        # without memory the row alone must do
        with contextlib.suppress(Exception):
            self._reply(turn, {FAILURE: failure})
        claim(self._seat, turn)
        self._failed[turn] = 1

    # ------------------------------------------------------------------------------ requests --

    def _answer(self) -> None:
        size = ffi.new("int64_t *")
        data = lib.pp_seat_request(self._seat, size)
        if not data:
            return
        try:
            kind, *arguments = pickle.loads(ffi.buffer(data, size[0]))
            answer = messages.dumps((True, getattr(self, f"_do_{kind}")(*arguments)))
        except BaseException as error:
            answer = messages.dumps((False, Failure.of(error)))
        self._look_up()
        status = lib.pp_seat_answer(self._seat, answer, len(answer), self._error)
        if status < 0:
            answer = messages.dumps((False, Failure.of(MemoryError("the answer is too large"))))
            lib.pp_seat_answer(self._seat, answer, len(answer), self._error)

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

    def _do_apply(self, env_ids: Sequence[int], function: bytes) -> list[Any]:
        """Calls a function with each environment."""
        apply = pickle.loads(function)
        return [apply(self._envs[env_id - self._first]) for env_id in env_ids]
