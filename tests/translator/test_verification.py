"""A translation that does not return what its class returns is refused before anybody uses it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool._translator import translation


class Counter(gymnasium.Env[Any, Any]):
    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.count = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.array([0.5], dtype=np.float32), {"count": 0}

    def step(self, action: Any) -> Any:
        self.count += 1
        done = self.count == 37
        return np.array([0.5], dtype=np.float32), 1.25, done, False, {"count": self.count}


MISTAKES = {
    "(float)0.5": ("(float)0.75", "the observation obs"),
    "r->reward[0] = 1.25": ("r->reward[0] = 1.5", "the reward"),
    "== 37": ("== 36", "step 35 .*the terminated"),
    "rows[1], s->i_count": ("rows[1], &s->a_count + 1", "the info 'count'"),
    "s->a_count = 0;": ("s->a_count = 1;", "the info 'count'|the terminated"),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_of_the_translator_is_found(monkeypatch: Any, right: str) -> None:
    wrong, where = MISTAKES[right]
    translate = translation.translate

    def spoilt(*args: Any) -> Any:
        made = translate(*args)
        assert right in made.text
        made.text = made.text.replace(right, wrong)
        return made

    monkeypatch.setattr(translation, "translate", spoilt)
    before = parallel_pool.list_all_envs()
    with pytest.raises(parallel_pool.SourceError, match=where) as found:
        parallel_pool.compile(Counter, "Spoilt-v0")
    assert "please report it" in str(found.value)
    assert parallel_pool.list_all_envs() == before


def test_a_translation_is_verified_once(monkeypatch: Any) -> None:
    made = []
    init = Counter.__init__

    def counted(self: Counter) -> None:
        made.append(self)
        init(self)

    parallel_pool.compile(Counter, "Verified-v0")
    monkeypatch.setattr(Counter, "__init__", counted)
    parallel_pool.compile(Counter, "Verified-v0")
    # those that the translator looks at
    assert len(made) <= 4
