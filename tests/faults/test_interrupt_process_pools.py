"""Ctrl-C at every place where Python looks for it, in calls of pools of worker processes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dis import opname
from functools import partial
from types import CodeType, FrameType
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from parallel_pool import ProcessPool
from parallel_pool._workers.run import step_waits
from parallel_pool._workers.run.local_lane import LocalLane
from parallel_pool.compat.gymnasium import ProcessVectorEnv
from parallel_pool.errors import EnvError, SlowWorkerWarning, StateError
from tests.support.interrupts import Interrupter
from tests.support.same import assert_same

pytestmark = [
    pytest.mark.usefixtures("alarm"),
    # `Interrupter` also raises where a generator is closed: no Ctrl-C arrives there
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

BOX, WORDS = spaces.Box(-np.inf, np.inf, (2,), np.float64), spaces.Text(30)
ACTIONS: dict[str, Any] = {"numbers": np.array([0, 1, 1]), "words": ("a", "bc", "d")}
# episodes of the three environments
LENGTHS = 2, 3, 5


class Diary(gymnasium.Env[Any, Any]):
    """Observes how many episodes it has begun and how many steps it has done since.

    Infos have these, too, and the last action: numbers, or with `has_words` also texts, for which
    there is no table. With `fails` a step of each second episode raises.
    """

    def __init__(
        self,
        length: int = 3,
        observed: Any = BOX,
        acts: str = "numbers",
        has_words: bool = False,
        fails: bool = False,
    ) -> None:
        self.observation_space = observed
        self.action_space = spaces.Discrete(2) if acts == "numbers" else WORDS
        self.length, self.has_words, self.fails = length, has_words, fails
        self.episodes = self.steps = self.notes = 0

    def note(self, what: Any) -> tuple[Any, int]:
        """Counts its calls; raises what is an exception."""
        self.notes += 1
        if isinstance(what, Exception):
            raise what
        return what, self.notes

    def _seen(self, action: Any) -> tuple[Any, dict[str, Any]]:
        numbers = self.episodes, self.steps
        infos: dict[str, Any] = {"steps": self.steps, "draw": self.np_random.random()}
        if self.has_words:
            infos["action"] = f"{action} in {numbers}"
        if self.observation_space is BOX:
            return np.array(numbers, np.float64), infos
        return f"{numbers}", infos

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.episodes, self.steps = self.episodes + 1, 0
        return self._seen(options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.fails and self.steps == 3:
            raise ArithmeticError("an environment that fails")
        observation, infos = self._seen(action)
        ends = self.steps == self.length
        is_cut = self.episodes % 2 == 0
        return observation, float(self.steps), ends and not is_cut, ends and is_cut, infos


def diaries(**options: Any) -> list[Callable[[], Diary]]:
    return [partial(Diary, length, **options) for length in LENGTHS]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets pools look at each call whether environments wait, as they do now and then.

    None is found to wait, as pools look no more then.
    """
    monkeypatch.setattr(step_waits, "FIRST", 0)
    monkeypatch.setattr(step_waits, "GROWTH", 1)
    monkeypatch.setattr(step_waits, "MIN_CALL_NS", 0)
    monkeypatch.setattr(step_waits, "WAITING_SHARE", 2.0)


# ---------------------------------------------------------------------------------- ProcessPool --

POOLS: dict[str, dict[str, Any]] = {
    "rows": {},
    "infos": {"has_words": True},
    "objects": {"observed": WORDS, "acts": "words", "has_words": True},
}


def replied(pool: ProcessPool, batch: Any) -> list[Any]:
    """Returns a batch, and what came with it; of last observations those of ended episodes."""
    ended = batch.terminated | batch.truncated
    arrays = [
        array[ended] if column.is_final else array
        for column, array in zip(pool.columns, batch, strict=True)
    ]
    return [arrays, pool.replies()]


@pytest.mark.usefixtures("watched")
@pytest.mark.quick(0)
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
@pytest.mark.parametrize("kind", POOLS)
def test_ctrl_c_in_a_step_of_a_pool_loses_nothing(kind: str, mode: str) -> None:
    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork", "autoreset": mode}
    fns = diaries(**POOLS[kind])
    actions = ACTIONS[POOLS[kind].get("acts", "numbers")]
    interrupted = pending = calm = place = 0
    with ProcessPool(fns, timeout=600, **options) as pool, ProcessPool(fns, **options) as twin:
        assert_same(*(replied(each, each.reset(seed=1)) for each in (pool, twin)), "reset")
        while calm < 6:
            place += 1
            for turn in range(2):
                calm += 1
                try:
                    batch = Interrupter(place).run(pool.step, actions)
                except KeyboardInterrupt:
                    interrupted, calm = interrupted + 1, 0
                    if pool.in_flight:
                        pending += 1
                        with pytest.raises(StateError):
                            pool.step(actions)
                        batch = pool.recv()
                    else:
                        batch = pool.step(actions)
                expected = replied(twin, twin.step(actions))
                assert_same(replied(pool, batch), expected, f"place {place}, turn {turn}")
    assert interrupted > 10 and pending > 3


@pytest.mark.sanitizers
@pytest.mark.parametrize("is_masked", [False, True])
def test_ctrl_c_in_a_reset_of_a_pool_loses_nothing(is_masked: bool) -> None:
    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork"}
    mask = np.array([True, False, True]) if is_masked else None
    fns = diaries(has_words=True)
    pending = calm = place = 0
    with ProcessPool(fns, **options) as pool, ProcessPool(fns, **options) as twin:
        assert_same(*(replied(each, each.reset(seed=1)) for each in (pool, twin)), "reset")
        while calm < 4:
            place += 1
            # without seeds: a second reset would be seen
            reset = partial(pool.reset, options={"place": place}, mask=mask)
            try:
                batch, is_cut = Interrupter(place).run(reset), False
            except KeyboardInterrupt:
                pending += pool.in_flight > 0
                batch, is_cut = pool.recv() if pool.in_flight else reset(), True
            calm = 0 if is_cut else calm + 1
            expected = replied(twin, twin.reset(options={"place": place}, mask=mask))
            assert_same(replied(pool, batch), expected, f"place {place}")
            actions = ACTIONS["numbers"]
            expected = replied(twin, twin.step(actions))
            assert_same(replied(pool, pool.step(actions)), expected, f"place {place}, step")
    assert place > 20 and pending > 3


@pytest.mark.quick(1)
@pytest.mark.parametrize("timeout", [None, 600])
@pytest.mark.parametrize("kind", ["rows", "objects"])
def test_ctrl_c_in_a_step_of_an_asynchronous_pool_loses_nothing(
    kind: str, timeout: float | None
) -> None:
    """Each environment counts its own steps, so none is lost, done twice or delivered twice."""
    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork", "timeout": timeout}
    fns = [partial(Diary, 10**6, **POOLS[kind])] * 4
    words = POOLS[kind].get("acts") == "words"
    seen = dict.fromkeys(range(4), -1)
    interrupted = pending = calm = place = 0

    def note(batch: Any) -> Any:
        replies = pool.replies()
        assert sorted(replies) == sorted(batch.env_id.tolist())
        for row, env_id in enumerate(batch.env_id.tolist()):
            seen[env_id] += 1
            assert batch.elapsed_step[row] == replies[env_id][0]["steps"] == seen[env_id]
            if words:
                assert replies[env_id][2] == f"{(1, seen[env_id])}"
        return batch.env_id

    def actions() -> Any:
        return [f"of {i}" for i in ready.tolist()] if words else np.zeros(len(ready), np.int64)

    with ProcessPool(fns, batch_size=2, **options) as pool:
        pool.send_reset(seed=1)
        ready = note(pool.recv())
        while calm < 6:
            place += 1
            for _ in range(2):
                calm += 1
                try:
                    batch = Interrupter(place).run(pool.step, actions(), ready)
                except KeyboardInterrupt:
                    interrupted, calm = interrupted + 1, 0
                    if pool.in_flight > 2:
                        pending += 1
                        with pytest.raises(StateError):
                            pool.send(actions(), ready)
                        batch = pool.recv()
                    else:
                        batch = pool.step(actions(), ready)
                ready = note(batch)
    assert interrupted > 10 and pending > 3


def failed_or_not(pool: ProcessPool, call: Callable[[], Any]) -> list[Any]:
    """Returns a batch, or the exception of an environment and the batch that it has."""
    try:
        return ["batch", *replied(pool, call())]
    except ArithmeticError as error:
        failure = error.__cause__
        assert isinstance(failure, EnvError)
        return [str(error), failure.env_ids, [*failure.batch]]


@pytest.mark.quick(0)
@pytest.mark.parametrize("kind", ["rows", "objects"])
def test_ctrl_c_in_a_step_in_which_an_environment_fails_loses_nothing(kind: str) -> None:
    """Neither its exception, nor the results of the others."""
    options: dict[str, Any] = {"num_workers": 2, "start_method": "fork"}
    fns = diaries(**POOLS[kind], fails=True)
    actions = ACTIONS[POOLS[kind].get("acts", "numbers")]
    failures = pending = calm = place = 0
    with ProcessPool(fns, **options) as pool, ProcessPool(fns, **options) as twin:
        assert_same(*(replied(each, each.reset(seed=1)) for each in (pool, twin)), "reset")
        while calm < 12:
            place += 1
            # one of four fails
            for turn in range(4):
                calm += 1
                step = partial(Interrupter(place).run, pool.step, actions)
                try:
                    found = failed_or_not(pool, step)
                except KeyboardInterrupt:
                    calm = 0
                    pending += pool.in_flight > 0
                    again = pool.recv if pool.in_flight else partial(pool.step, actions)
                    found = failed_or_not(pool, again)
                expected = failed_or_not(twin, partial(twin.step, actions))
                failures += expected[0] != "batch"
                assert_same(found, expected, f"place {place}, turn {turn}")
    assert failures > 10 and pending > 3


@pytest.mark.usefixtures("watched")
def test_a_warning_that_is_an_exception_loses_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(step_waits, "WAITING_SHARE", -1e6)
    monkeypatch.setattr(step_waits, "MIN_GAIN", 0.0)
    actions = ACTIONS["numbers"]
    with (
        ProcessPool(diaries(), num_workers=2, start_method="fork") as pool,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error", SlowWorkerWarning)
        pool.reset(seed=1)
        raised = 0
        for step in range(1, 40):
            try:
                batch = pool.step(actions)
            except SlowWorkerWarning:
                raised += 1
                batch = pool.recv()
            assert batch.elapsed_step[2] == step % (LENGTHS[2] + 1)
    assert raised == 1


# ---------------------------------------------------------------------------- the Gymnasium form --

FORMS: dict[str, dict[str, Any]] = {
    "numbers": {},
    "texts": {"has_words": True},
    "objects": {"observed": WORDS, "acts": "words", "has_words": True},
}


@contextmanager
def pair(
    kind: str, mode: AutoresetMode, **options: Any
) -> Iterator[tuple[SyncVectorEnv, ProcessVectorEnv]]:
    fns = diaries(**FORMS[kind])
    theirs = SyncVectorEnv(fns, autoreset_mode=mode)
    options = {"num_workers": 2, "context": "fork", **options}
    with closing(ProcessVectorEnv(fns, autoreset_mode=mode, **options)) as ours:
        yield theirs, ours


def step_by_halves(env: Any, place: int, actions: Any) -> tuple[Any, bool]:
    try:
        Interrupter(place).run(env.step_async, actions)
    except KeyboardInterrupt:
        try:
            return env.step_wait(), True
        except NoAsyncCallError:
            env.step_async(actions)
            return env.step_wait(), True
    try:
        return Interrupter(place).run(env.step_wait), False
    except KeyboardInterrupt:
        return env.step_wait(), True


def step(env: Any, place: int, actions: Any) -> tuple[Any, bool]:
    try:
        return Interrupter(place).run(env.step, actions), False
    except KeyboardInterrupt:
        pass
    try:
        return env.step_wait(), True
    except NoAsyncCallError:
        # it was not sent
        return env.step(actions), True


def reset_by_halves(env: Any, place: int, options: Any) -> tuple[Any, bool]:
    env.reset_async(options=options)
    try:
        return Interrupter(place).run(env.reset_wait), False
    except KeyboardInterrupt:
        return env.reset_wait(), True


def reset(env: Any, place: int, options: Any) -> tuple[Any, bool]:
    try:
        return Interrupter(place).run(partial(env.reset, options=options)), False
    except KeyboardInterrupt:
        pass
    try:
        return env.reset_wait(), True
    except NoAsyncCallError:
        return env.reset(options=options), True


CASES = [
    pytest.param(kind, mode, call, id=f"{kind}-{mode.name}-{call.__name__}")
    for kind in FORMS
    for mode in AutoresetMode
    for call in (step, step_by_halves)
]


@pytest.mark.sanitizers
@pytest.mark.parametrize(("kind", "mode", "call"), CASES)
def test_ctrl_c_in_a_step_of_a_vector_env_loses_nothing(
    kind: str, mode: AutoresetMode, call: Any
) -> None:
    actions = ACTIONS[FORMS[kind].get("acts", "numbers")]
    interrupted = calm = place = 0
    with pair(kind, mode, timeout=600) as (theirs, ours):
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        # steps that end episodes, and those that do not, have other places
        while calm < 8:
            place += 1
            for turn in range(2):
                result, is_cut = call(ours, place, actions)
                interrupted += is_cut
                calm = 0 if is_cut else calm + 1
                expected = theirs.step(actions)
                assert_same(result, expected, f"place {place}, turn {turn}")
                ended = expected[2] | expected[3]
                if mode is AutoresetMode.DISABLED and ended.any():
                    again, _ = reset(ours, place, {"reset_mask": ended.copy()})
                    expected = theirs.reset(options={"reset_mask": ended.copy()})
                    assert_same(again, expected, f"place {place}, turn {turn}, reset")
    assert interrupted > 20


class Everywhere(Interrupter):
    """Raises also after calls of classes, as in tuple(...), which profilers are not told of."""

    # Python checks for signals as these instructions end; as a CALL of a function in Python begins
    CHECKS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD")

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.codes: dict[CodeType, bytes] = {}
        # by frame, the last instruction if it is one of these
        self.checking: dict[FrameType | None, str] = {}

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        is_place = event == "call"
        if is_place and self.checking.get(frame.f_back) in ("CALL", "CALL_KW"):
            del self.checking[frame.f_back]
        if event == "opcode":
            is_place = self.checking.pop(frame, None) is not None
            code = self.codes.setdefault(frame.f_code, frame.f_code.co_code)
            name = opname[code[frame.f_lasti]]
            if name in self.CHECKS:
                self.checking[frame] = name
        if is_place:
            super().__call__(frame, "call", None)
        return self.trace

    def run(self, function: Any, *arguments: Any) -> Any:
        sys.settrace(self.trace)
        try:
            return function(*arguments)
        finally:
            sys.settrace(None)


class Beside(Interrupter):
    """Lets alone what steps the environments in this process: there, Ctrl-C ends their steps."""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        above: FrameType | None = frame
        while above is not None:
            if above.f_code is LocalLane.serve.__code__:
                return
            above = above.f_back
        super().__call__(frame, event, argument)


@pytest.mark.quick(0)
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize("kind", FORMS)
def test_ctrl_c_beside_the_work_of_a_pool_without_workers_loses_nothing(
    kind: str, mode: AutoresetMode
) -> None:
    actions = ACTIONS[FORMS[kind].get("acts", "numbers")]
    interrupted = calm = place = 0
    with pair(kind, mode, num_workers=0, context=None) as (theirs, ours):
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        while calm < 4:
            place += 1
            calm += 1
            try:
                result = Beside(place).run(ours.step, actions)
            except KeyboardInterrupt:
                interrupted, calm = interrupted + 1, 0
                try:
                    result = ours.step_wait()
                except NoAsyncCallError:
                    # it was not sent
                    result = ours.step(actions)
            expected = theirs.step(actions)
            assert_same(result, expected, f"place {place}")
            ended = expected[2] | expected[3]
            if mode is AutoresetMode.DISABLED and ended.any():
                again = ours.reset(options={"reset_mask": ended.copy()})
                expected = theirs.reset(options={"reset_mask": ended.copy()})
                assert_same(again, expected, f"place {place}, reset")
    assert interrupted > 10


@pytest.mark.quick(0)
@pytest.mark.parametrize("call", [reset, reset_by_halves])
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("kind", FORMS)
def test_ctrl_c_in_a_reset_of_a_vector_env_loses_nothing(
    kind: str, is_masked: bool, call: Any
) -> None:
    actions = ACTIONS[FORMS[kind].get("acts", "numbers")]
    mask = np.array([True, False, True])
    calm = place = 0

    def options() -> Any:
        return {"place": place, **({"reset_mask": mask.copy()} if is_masked else {})}

    with pair(kind, AutoresetMode.SAME_STEP) as (theirs, ours):
        assert_same(ours.reset(seed=1), theirs.reset(seed=1), "reset")
        while calm < 4:
            place += 1
            # without seeds: a second reset would be seen
            result, is_cut = call(ours, place, options())
            calm = 0 if is_cut else calm + 1
            assert_same(result, theirs.reset(options=options()), f"place {place}")
            for turn in range(2):
                where = f"place {place}, step {turn}"
                assert_same(ours.step(actions), theirs.step(actions), where)
    assert place > 20


@pytest.mark.sanitizers
def test_ctrl_c_keeps_the_last_observation_of_an_environment_that_is_made_again() -> None:
    """It is an object, which only this process has: it must not be that of the next episode."""
    fns = diaries(observed=WORDS, fails=True)[2:] * 2
    options: dict[str, Any] = {"num_workers": 1, "context": "fork", "on_error": "restart"}
    same: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, **options}
    finals = calm = place = 0
    with (
        closing(ProcessVectorEnv(fns, **same)) as ours,
        closing(ProcessVectorEnv(fns, **same)) as twin,
    ):
        assert_same(ours.reset(seed=1)[0], twin.reset(seed=1)[0], "reset")
        while calm < 6:
            place += 1
            for turn in range(3):
                result, is_cut = step(ours, place, [0, 1])
                calm = 0 if is_cut else calm + 1
                expected = twin.step([0, 1])
                where = f"place {place}, turn {turn}"
                assert_same(result[:-1], expected[:-1], where)
                if "final_obs" in expected[-1]:
                    finals += 1
                    found, wanted = result[-1]["final_obs"], expected[-1]["final_obs"]
                    assert_same(found, wanted, where)
                    assert wanted[0].endswith(", 2)")
    assert finals > 10


def call(env: Any, interrupter: Any, place: int) -> tuple[Any, bool]:
    try:
        return interrupter(place).run(env.call, "note", place), False
    except KeyboardInterrupt:
        pass
    try:
        return env.call_wait(), True
    except NoAsyncCallError:
        # it was not sent
        return env.call("note", place), True


def call_by_halves(env: Any, interrupter: Any, place: int) -> tuple[Any, bool]:
    try:
        interrupter(place).run(env.call_async, "note", place)
    except KeyboardInterrupt:
        try:
            return env.call_wait(), True
        except NoAsyncCallError:
            env.call_async("note", place)
            return env.call_wait(), True
    try:
        return interrupter(place).run(env.call_wait), False
    except KeyboardInterrupt:
        return env.call_wait(), True


@pytest.mark.sanitizers
@pytest.mark.parametrize(
    ("num_workers", "interrupter"), [(2, Interrupter), (2, Everywhere), (0, Beside)]
)
@pytest.mark.parametrize("begin", [call, call_by_halves])
def test_ctrl_c_in_a_call_of_a_vector_env_loses_nothing(
    begin: Any, num_workers: int, interrupter: Any
) -> None:
    """Environments count their calls: none is done twice, or by some of them only."""
    interrupted = calm = place = 0
    options = {"num_workers": num_workers, "context": "fork" if num_workers else None}
    with pair("numbers", AutoresetMode.NEXT_STEP, **options) as (theirs, ours):
        while calm < 4:
            place += 1
            result, is_cut = begin(ours, interrupter, place)
            interrupted, calm = interrupted + is_cut, 0 if is_cut else calm + 1
            assert_same(result, theirs.call("note", place), f"place {place}")
    assert interrupted > 20


@pytest.mark.sanitizers
@pytest.mark.parametrize("interrupter", [Interrupter, Everywhere])
def test_ctrl_c_as_a_method_fails_leaves_no_call_pending_for_ever(interrupter: Any) -> None:
    failed = cut = calm = place = 0
    with closing(ProcessVectorEnv(diaries(), num_workers=2, context="fork")) as envs:
        while calm < 4:
            place += 1
            calm += 1
            try:
                interrupter(place).run(envs.call, "note", ArithmeticError(f"at place {place}"))
            except ArithmeticError:
                failed += 1
            except KeyboardInterrupt:
                cut, calm = cut + 1, 0
                with suppress(NoAsyncCallError), pytest.raises(ArithmeticError, match=f"{place}"):
                    envs.call_wait()
            found = envs.call("note", place)
            assert [what for what, _ in found] == [place] * 3
            # the first of each worker; after it has failed, a worker calls no others
            assert found[0] == found[1]
    assert failed > 3 and cut > 20


class Uneven(Diary):
    """Infos are arrays of this size, but not after action 0."""

    def __init__(self, size: int) -> None:
        super().__init__(100)
        self.size = size

    def _seen(self, action: Any) -> tuple[Any, dict[str, Any]]:
        infos = {} if action == 0 else {"array": np.zeros(self.size)}
        return np.array([self.episodes, self.steps], np.float64), infos


def test_infos_that_can_not_be_combined_leave_the_next_step_possible() -> None:
    """What fails as a result is made is raised once, when the pool has handed over the batch."""
    fns = [partial(Uneven, 2), partial(Uneven, 3)]
    with closing(ProcessVectorEnv(fns, num_workers=2, context="fork")) as envs:
        with pytest.raises(ValueError, match="broadcast"):
            envs.reset(seed=1)
        assert envs.step([0, 0])[0].tolist() == [[1, 1]] * 2
        with pytest.raises(ValueError, match="broadcast"):
            envs.step([1, 1])
        assert envs.step([0, 0])[0].tolist() == [[1, 3]] * 2
        envs.step_async([1, 1])
        with pytest.raises(ValueError, match="broadcast"):
            envs.step_wait()
        assert envs.step([0, 0])[0].tolist() == [[1, 5]] * 2


@pytest.mark.quick(0)
@pytest.mark.parametrize("is_split", [False, True])
def test_ctrl_c_as_an_environment_fails_leaves_no_call_pending_for_ever(is_split: bool) -> None:
    """It may take the place of the exception, which is then its context."""
    actions = ACTIONS["numbers"]
    cut = failed = 0
    fns = diaries(has_words=True, fails=True)
    with closing(ProcessVectorEnv(fns, num_workers=2, context="fork")) as envs:
        for place in range(1, 130):
            envs.reset(seed=1)
            for _ in range(2):
                envs.step(actions)
            # one fails in this step
            if is_split:
                envs.step_async(actions)
            step_or_wait = envs.step_wait if is_split else partial(envs.step, actions)
            try:
                Interrupter(place).run(step_or_wait)
            except ArithmeticError:
                failed += 1
            except KeyboardInterrupt:
                cut += 1
                with suppress(ArithmeticError, StateError, NoAsyncCallError):
                    envs.step_wait()
    assert cut > 20 and failed > 3
