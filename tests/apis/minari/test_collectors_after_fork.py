"""A forked child writes nothing into the datasets of its parent, in every collector."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import SyncVectorEnv

from parallel_pool.compat.minari import VectorDataCollector
from parallel_pool.errors import ForkedError
from tests.contract.api_cases import CASES, Case
from tests.contract.small_envs import Gate
from tests.support.forked import in_child
from tests.support.minari_files import assert_same_episodes, contents

pytestmark = [pytest.mark.usefixtures("alarm"), pytest.mark.filterwarnings("ignore::UserWarning")]

COLLECTORS = [case for case in CASES if case.name.endswith("DataCollector")]


def recorded(case: Case, folder: Path, between: Callable[[Any], None]) -> list[Any]:
    """Plays two episodes, of which the first is written before `between`; returns all datasets."""
    folder.mkdir()
    with closing(case.make(Gate(folder))) as env:
        for call in (between, lambda _: None):
            case.kind.start(env)
            case.kind.play(env)
            case.kind.start(env)
            call(env)
            case.kind.play(env)
    found = sorted(path.parents[1] for path in folder.rglob("main_data.hdf5"))
    return [contents(path) for path in found]


@pytest.mark.parametrize("case", COLLECTORS, ids=lambda case: case.name)
def test_a_forked_child_writes_nothing(case: Case, tmp_path: Path) -> None:
    def end_in_child(env: Any) -> None:
        def end() -> None:
            with pytest.raises(ForkedError, match="belongs to process"):
                env.finish()
            env.close()

        in_child(end)

    expected = recorded(case, tmp_path / "alone", lambda _: None)
    found = recorded(case, tmp_path / "forked", end_in_child)
    assert len(found) == len(expected) > 0
    for own, other in zip(found, expected, strict=True):
        assert len(own) > 3
        assert_same_episodes(own, other)


def test_a_forked_child_records_no_step_of_gymnasiums_environments(tmp_path: Path) -> None:
    """They can be stepped there."""
    envs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)

    def play() -> None:
        for call in (lambda: env.step([0, 1]), env.reset):
            with pytest.raises(ForkedError, match="belongs to process"):
                call()
        env.close()

    with closing(VectorDataCollector(envs, "test/foreign-v0", write_every=1)) as env:
        env.reset(seed=1)
        in_child(play)
        env.step([0, 1])
        assert env.finish().total_steps == 2
