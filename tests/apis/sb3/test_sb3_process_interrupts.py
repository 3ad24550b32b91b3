"""Ctrl-C at every place where Python looks for it, in Stable-Baselines3's form."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest

from parallel_pool.compat.sb3 import AgentVecEnv
from parallel_pool.errors import StateError
from tests.faults.test_interrupt_process_pools import WORDS, diaries
from tests.parity.test_process_parity import INFOS, Teller
from tests.support.interrupts import Interrupter, interrupt_every_step_wait
from tests.support.row_loop import Herd
from tests.support.sb3_process_cases import (
    SPACES,
    compare,
    compare_reset,
    made,
    pair,
    plain,
    tellers,
)

pytestmark = [
    pytest.mark.usefixtures("alarm"),
    # `Interrupter` also raises where a generator is closed: no Ctrl-C arrives there
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KINDS: dict[str, dict[str, Any]] = {
    "box": {},
    "flat dict": {"of": SPACES["flat dict"]},
    "numbers": {"tell": INFOS["numbers"]},
    "objects": {"tell": INFOS["objects"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_in_a_step_loses_nothing(kind: str) -> None:
    actions = np.array([0, 1, 1])
    with pair(tellers(3, **KINDS[kind])) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(5)
        compare_reset(ours, theirs, "reset")

        def expect() -> Any:
            observations, *others = theirs.step(copy.deepcopy(actions))
            return plain(observations), *others

        interrupt_every_step_wait(ours, actions, expect, theirs, turns=3, same=compare)


def legs(seen: dict[str, Any]) -> dict[str, Any]:
    """Chooses actions that say what was seen."""
    return {
        agent: (np.abs(part).sum(1) * 1000).astype(np.int64) % 3 for agent, part in seen.items()
    }


WORKERS: dict[str, Any] = {"num_workers": 2, "context": "fork"}
# with the actions of a step; observations that are objects come with the rows
WHOLE: dict[str, tuple[Callable[[], Any], Any]] = {
    "objects": (
        partial(made, diaries(observed=WORDS, acts="words", has_words=True)),
        np.array(["a", "bc", "d"]),
    ),
    "agents": (lambda: closing(AgentVecEnv([Herd] * 3, **WORKERS)), np.arange(9) % 3),
    "some agents": (
        lambda: closing(AgentVecEnv([Herd] * 3, agents=["cow_1"], others=legs, **WORKERS)),
        np.arange(3),
    ),
    "native agents": (
        lambda: closing(AgentVecEnv("test/Elimination-v0", 3, num_threads=1)),
        np.arange(9) % 2,
    ),
}


def stride(envs: Any) -> int:
    """Returns from how many places one is tried: steps of Herd have some two thousand."""
    return 23 if isinstance(envs, AgentVecEnv) and envs.backend == "process" else 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", WHOLE)
def test_ctrl_c_in_a_whole_step_loses_nothing(kind: str) -> None:
    make, actions = WHOLE[kind]
    interrupted = calm = place = 0
    with make() as ours, make() as twin:
        actions = actions[: ours.num_envs]
        for env in (twin, ours):
            env.seed(5)
        compare_reset(ours, twin, "reset")
        while calm < 8:
            place += stride(ours)
            for turn in range(2):
                calm += 1
                try:
                    result = Interrupter(place).run(ours.step, actions)
                except KeyboardInterrupt:
                    interrupted, calm = interrupted + 1, 0
                    try:
                        result = ours.step_wait()
                    except StateError:
                        # it was not sent
                        result = ours.step(actions)
                where = f"place {place}, turn {turn}"
                compare(result, twin.step(actions), where)
                compare(list(ours.reset_infos), list(twin.reset_infos), f"{where}: resets")
    assert interrupted > 20


class Stumbling(Herd):
    """Each third step fails."""

    taken = 0

    def step(self, actions: dict[str, Any]) -> Any:
        self.taken += 1
        if self.taken % 3 == 0:
            raise ArithmeticError("stumbles")
        return super().step(actions)


def has_stumbled(error: BaseException | None) -> bool:
    return error is not None and (
        isinstance(error, ArithmeticError) or has_stumbled(error.__cause__ or error.__context__)
    )


def stumbled_or_not(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ArithmeticError:
        return "stumbled"


@pytest.mark.slow
def test_ctrl_c_as_an_environment_of_agents_fails_does_no_step_twice() -> None:
    """It may take the place of the exception, which is then its context."""
    actions = np.arange(9) % 3
    stumbled = replaced = calm = place = 0
    with (
        closing(AgentVecEnv([Stumbling] * 3, **WORKERS)) as ours,
        closing(AgentVecEnv([Stumbling] * 3, **WORKERS)) as twin,
    ):
        for env in (ours, twin):
            env.seed(1)
        compare_reset(ours, twin, "reset")
        while calm < 8:
            place += stride(ours)
            for turn in range(4):
                calm += 1
                where = f"place {place}, turn {turn}"
                try:
                    result = stumbled_or_not(partial(Interrupter(place).run, ours.step, actions))
                except KeyboardInterrupt as error:
                    calm = 0
                    try:
                        result = stumbled_or_not(ours.step_wait)
                    except StateError:
                        result = "stumbled"
                        if not has_stumbled(error):
                            # it was not sent
                            result = stumbled_or_not(partial(ours.step, actions))
                        else:
                            replaced += 1
                stumbled += result == "stumbled"
                compare(result, stumbled_or_not(partial(twin.step, actions)), where)
                assert ours.get_attr("taken") == twin.get_attr("taken"), where
    assert stumbled > 10 and replaced > 3


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", [kind for kind in WHOLE if kind != "objects"])
def test_ctrl_c_in_a_reset_of_agents_keeps_seeds_and_mixes_up_no_results(kind: str) -> None:
    """The reset drops a step that Ctrl-C has left in flight, or was not begun."""
    make, actions = WHOLE[kind]
    calm = place = kept = dropped = 0
    with make() as ours, make() as twin:
        actions = actions[: ours.num_envs]
        for env in (ours, twin):
            env.seed(1)
        compare_reset(ours, twin, "reset")
        while calm < 4:
            # the first are before the reset drops the step
            place += 1 if place < 30 else stride(ours)
            calm += 1
            where = f"place {place}"
            for env in (ours, twin):
                env.seed(place)
            expected = twin.step(actions)
            ours.step_async(actions)
            with pytest.raises(KeyboardInterrupt):
                Interrupter(25).run(ours.step_wait)
            try:
                result = Interrupter(place).run(ours.reset)
            except KeyboardInterrupt:
                calm = 0
                try:
                    compare(ours.step_wait(), expected, where)
                    kept += 1
                except StateError:
                    dropped += 1
                result = ours.reset()
            compare(result, twin.reset(), where)
            compare(list(ours.reset_infos), list(twin.reset_infos), f"{where}: infos")
            compare(ours.step(actions), twin.step(actions), f"{where}: step")
    assert kept > 3 and dropped > 20


def options_of(teller: Teller) -> dict[str, Any]:
    return {"options": teller.options}


@pytest.mark.slow
@pytest.mark.parametrize("each", [False, True])
def test_ctrl_c_in_a_reset_keeps_seeds_and_options_for_the_next(each: bool) -> None:
    """With `each`, environments have options of their own, and a reset sends them one by one."""
    calm = place = 0
    # no episode ends: a reset that is done again begins one more
    with pair([partial(Teller, length=10**6, tell=options_of)] * 3) as (theirs, ours):
        while calm < 4:
            place += 1
            for env in (theirs, ours):
                env.seed(place)
                same = {"place": place}
                env.set_options([same, {"other": 1}, same] if each else same)
            try:
                result, is_cut = Interrupter(place).run(ours.reset), False
            except KeyboardInterrupt:
                result, is_cut = ours.reset(), True
            calm = 0 if is_cut else calm + 1
            compare(result, theirs.reset(), f"place {place}")
            compare(list(ours.reset_infos), list(theirs.reset_infos), f"place {place}: infos")
            for turn in range(2):
                step = partial(compare, where=f"place {place}, step {turn}")
                step(ours.step([0, 1, 1]), theirs.step([0, 1, 1]))
    assert place > 20
