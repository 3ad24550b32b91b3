"""Ctrl-C at every place where Python looks for it, in PoolVecEnv over Python environments."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest

from parallel_pool.errors import StateError
from tests.faults.test_interrupt import Interrupter
from tests.faults.test_interrupt_process_pools import WORDS, diaries
from tests.parity.test_process_parity import INFOS, Teller
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


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_in_a_step_loses_nothing(kind: str) -> None:
    actions = np.array([0, 1, 1])
    interrupted = calm = place = 0
    with pair(tellers(3, **KINDS[kind])) as (theirs, ours):
        for env in (theirs, ours):
            env.seed(5)
        compare_reset(ours, theirs, "reset")
        # steps that end episodes, and those that do not, have other places
        while calm < 8:
            place += 1
            for turn in range(2):
                ours.step_async(actions)
                calm += 1
                try:
                    result = Interrupter(place).run(ours.step_wait)
                except KeyboardInterrupt:
                    interrupted, calm = interrupted + 1, 0
                    result = ours.step_wait()
                where = f"place {place}, turn {turn}"
                observations, *others = theirs.step(copy.deepcopy(actions))
                compare(result, (plain(observations), *others), where)
                compare(list(ours.reset_infos), list(theirs.reset_infos), f"{where}: resets")
    assert interrupted > 20


@pytest.mark.slow
def test_ctrl_c_in_a_whole_step_of_actions_that_are_objects_loses_nothing() -> None:
    """Observations are objects, too, which come with the rows."""
    fns = diaries(observed=WORDS, acts="words", has_words=True)
    actions = np.array(["a", "bc", "d"])
    interrupted = calm = place = 0
    with made(fns) as ours, made(fns) as twin:
        for env in (twin, ours):
            env.seed(5)
        compare_reset(ours, twin, "reset")
        while calm < 8:
            place += 1
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
