"""What a worker of a cluster says names its caller's environments, not its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool._apis.cluster import numbers, worker
from parallel_pool._apis.cluster.worker import Raised, Task
from parallel_pool.errors import SlowWorkerWarning
from tests.apis.cluster.cases import Teller

FIRST = 40


class Here(worker.Worker):
    """A worker in this process, without Ray."""

    def node(self) -> str:
        return "here"


@pytest.fixture(autouse=True)
def this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps this process as it is: a worker has one of its own."""
    monkeypatch.setattr(worker, "limit_cores", lambda cores: None)
    monkeypatch.setattr(worker, "use_numa_node", lambda rank: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


@pytest.fixture
def opened() -> Iterator[Callable[..., tuple[Any, Any]]]:
    """A function that opens a worker; returns it, and what opening returned."""
    made: list[Here] = []

    def open_worker(env: Any, num_envs: int | None, **options: Any) -> tuple[Any, Any]:
        here = Here()
        made.append(here)
        return here, here.do("open", Task(env, num_envs, options=options, first=FIRST))

    yield open_worker
    for each in made:
        if each.envs is not None:
            each.envs.close()


def check(raised: Any, *words: str, own: int = 1) -> None:
    """Checks all that is said of a failure, causes and traceback included."""
    assert isinstance(raised, Raised)
    said = raised.failure.traceback
    for each in words:
        assert each in said, said
    for text in (f"environment {own} ", f"environment {own}:"):
        assert text not in said, said


def raises() -> Any:
    raise ZeroDivisionError("environment 1 of my own")


def wide() -> Any:
    return gymnasium.make("Acrobot-v1")


@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_environments_that_raise(opened: Any, num_workers: int) -> None:
    here, _ = opened([partial(Teller)] * 3, None, num_workers=num_workers)
    here.do("reset", None, None)
    raised = here.do("step", np.array([0, 3, 3]))
    check(raised, f"environment {FIRST + 1} (and 1 more) failed", "asked for")
    # which are translated with the rows
    assert raised.env_ids == (1, 2)


def test_a_worker_process_that_dies(opened: Any) -> None:
    here, _ = opened([Teller] * 2, None, num_workers=2)
    here.do("reset", None, None)
    raised = here.do("step", np.array([0, 4]))
    check(raised, f"environment {FIRST + 1} failed", f"while it stepped environment {FIRST + 1}")


def test_native_environments(opened: Any) -> None:
    here, _ = opened("Pendulum-v1", 2)
    here.do("reset", None, None)
    actions = np.array([[0.0], [np.nan]])
    check(here.do("step", actions), f"the action of environment {FIRST + 1} is")


def test_environments_that_can_not_be_made(opened: Any) -> None:
    for num_workers in (0, 2):
        _, raised = opened([Teller, raises], None, num_workers=num_workers)
        assert f"environment {FIRST + 1} can't be made" in raised.failure.traceback
        # the environment's own words stay
        assert "environment 1 of my own" in raised.failure.text


def test_spaces_that_differ(opened: Any) -> None:
    _, raised = opened([Teller, wide], None, num_workers=1)
    check(raised, f"nvironment {FIRST + 1} has", f"nvironment {FIRST} ")


@pytest.mark.parametrize("num_workers", [0, 1])
def test_one_environment_twice(opened: Any, num_workers: int) -> None:
    env = Teller()
    _, raised = opened([lambda: env] * 2, None, num_workers=num_workers)
    assert f"env_fns[{FIRST}] and env_fns[{FIRST + 1}] return the same" in raised.failure.text


def test_warnings(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda text, *_: said.append(str(text)))
    opened("CartPole-v1", 1)
    text = "environment 1 in step, environments 0 to 2, and environments [0, 2]"
    for kind in (SlowWorkerWarning, UserWarning):
        warnings.showwarning(kind(text), kind, "file.py", 1)
    assert said == [
        "environment 41 in step, environments 40 to 42, and environments [40, 42]",
        text,
    ]


def test_other_numbers_stay() -> None:
    text = "Pong-v5: 3 environments in 2 workers; a step took 1 s; obs[1] of environment 0"
    assert numbers.shifted(text, 5) == text[:-1] + "5"
