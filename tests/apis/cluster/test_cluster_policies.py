"""Wrong arguments of `Rollouts`, and policies that return something wrong: one message each."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parallel_pool._apis.cluster import policies, worker
from parallel_pool._apis.cluster.collector import Collector, CollectorTask
from parallel_pool._apis.cluster.worker import Raised
from parallel_pool.cluster import Adaptive, Every, Rollouts
from tests.apis.cluster.cases import Linear


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"sync": 3}, TypeError, r"sync=3 is no rule: give Every\(n\), Adaptive"),
        ({"sync": Every}, TypeError, "is no rule"),
        ({"sync": SimpleNamespace(wants=print)}, TypeError, r"sync\.sample=None"),
        ({"overlap": "x"}, TypeError, "overlap='x' is a str: give True or False"),
        ({"ordered": 1}, TypeError, "ordered=1 is a"),
        ({"steps": 10**9}, ValueError, "steps=1000000000"),
        ({"steps": 0}, ValueError, "steps=0"),
        ({"policy_fn": Linear()}, TypeError, "policy_fn="),
        ({"resources": ["gpu"]}, TypeError, r"resources=\['gpu'\]: give a dict"),
        ({"resources": {"nope": 0}}, ValueError, "a number above 0 for 'nope'"),
        ({"resources": {"nope": "1"}}, ValueError, "a number above 0 for 'nope'"),
        ({"resources": {"CPU": 1}}, ValueError, "give cpus_per_worker instead"),
        ({"resources": {1: 1}}, TypeError, "give names as texts"),
    ],
)
def test_arguments_are_checked_before_ray_starts(
    arguments: dict[str, Any], error: type[Exception], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> Any:
        raise AssertionError("Ray was used")

    monkeypatch.setattr("parallel_pool._apis.cluster.runtime.connect", never)
    with pytest.raises(error, match=match):
        Rollouts(**{"env": "CartPole-v1", "policy_fn": Linear, "num_envs": 2, **arguments})


def with_result(change: Callable[..., Any]) -> Callable[[], Any]:
    """Returns a function that makes a policy whose results a function changes."""

    class Changed(Linear):
        def act(self, observations: Any) -> Any:
            return change(*super().act(observations))

    return Changed


WRONG_ACTS: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda *_: None, TypeError, "act() of the policy returned a NoneType, None: return actions"),
    (lambda a, p, _: (a, p), ValueError, "act() of the policy returned 2 values"),
    (lambda a, p, more: (None, p, more), TypeError, "returned None as actions"),
    (lambda a, p, more: (a, None, more), ValueError, "of dtype object and shape () as log prob"),
    (lambda a, p, more: (a, p[:1], more), ValueError, "and shape (1,) as log probabilities of 2"),
    (lambda a, p, more: (a, p[:, None], more), ValueError, "and shape (2, 1) as log prob"),
    (lambda a, p, more: (a, p, None), TypeError, "returned a NoneType, None as extras"),
    (lambda a, p, more: (a, p, {"value": p[:1]}), ValueError, "'value' of shape (1,) for 2"),
    (lambda a, p, more: (a, p, {"value": 1.0}), ValueError, "'value' of shape () for 2"),
    (lambda a, p, more: (a, p, {"value": None}), ValueError, "'value' of shape () for 2"),
]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Collector, Any]]:
    """A function that opens a collector of two environments in this process, without Ray."""
    monkeypatch.setattr(worker, "limit_cores", lambda cores: None)
    monkeypatch.setattr(worker, "use_numa_node", lambda rank: None)
    monkeypatch.setattr(worker.numbers, "shift_warnings", lambda first: None)
    monkeypatch.setattr(Collector, "node", lambda self: "here")

    def opened(policy_fn: Any, steps: int = 3) -> tuple[Collector, Any]:
        made = Collector()
        task = CollectorTask("CartPole-v1", 2, policy_fn=policy_fn, steps=steps)
        return made, made.do("open", task)

    return opened


@pytest.mark.parametrize(("change", "error", "match"), WRONG_ACTS)
def test_what_act_returns(
    change: Callable[..., Any], error: type[Exception], match: str, collector: Any
) -> None:
    made, _ = collector(with_result(change))
    raised = made.do("collect", 0, [])
    assert isinstance(raised, Raised)
    assert raised.failure.kind == error.__name__ and match in raised.failure.text


def test_extras_may_change_from_batch_to_batch_only(collector: Any) -> None:
    class Changing(Linear):
        calls = 0

        def act(self, observations: Any) -> Any:
            actions, logs, _ = super().act(observations)
            self.calls += 1
            # batches of 3 steps: another name from the second on, and within the third
            name = "first" if self.calls <= 3 or self.calls == 8 else "second"
            return actions, logs, {name: np.full(2, self.calls)}

    made, _ = collector(Changing)
    assert made.do("collect", 0, []).extras["first"].tolist() == [[1] * 2, [2] * 2, [3] * 2]
    second = made.do("collect", 0, []).extras
    assert list(second) == ["second"] and second["second"].tolist() == [[4] * 2, [5] * 2, [6] * 2]
    raised = made.do("collect", 0, [])
    assert raised.failure.kind == "ValueError" and "the same names" in raised.failure.text


def test_what_makes_no_policy(collector: Any) -> None:
    for policy_fn, name in ((object, "act"), (dict, "act"), (lambda: None, "act")):
        _, raised = collector(policy_fn)
        assert raised.failure.kind == "TypeError"
        assert f"which has no {name}()" in raised.failure.text


def test_batches_that_no_machine_can_hold(collector: Any) -> None:
    _, raised = collector(Linear, steps=10**12)
    assert raised.failure.kind == "ValueError"
    assert "steps=1000000000000: the observations of one worker's batch" in raised.failure.text
    assert isinstance(collector(Linear)[1], worker.Description)


@pytest.mark.parametrize(
    ("state", "match"),
    [
        (None, r"state\(\) of the policy returned a NoneType, None: return a dict of arrays"),
        ([1.0], r"state\(\) of the policy returned a list"),
        ({"w": None}, r"state\(\)\['w'\] of the policy is a NoneType, None"),
    ],
)
def test_what_state_returns(state: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        policies.weights(SimpleNamespace(state=lambda: state))


def test_weights_are_copies() -> None:
    policy = Linear(1.0)
    found = policies.weights(policy)
    assert found["weights"] is not policy.weights
    np.testing.assert_array_equal(found["weights"], policy.weights)


def test_what_is_published() -> None:
    with pytest.raises(TypeError, match=r"policy is a NoneType, None, which has no state\(\)"):
        policies.check_policy("policy", None, ("state",))


@pytest.mark.parametrize("found", [None, np.zeros(3), np.zeros((2, 1))])
def test_what_log_prob_returns(found: Any) -> None:
    policy = SimpleNamespace(log_prob=lambda observations, actions: found)
    with pytest.raises(ValueError, match=r"log_prob\(\) of the policy returned .* for 2 obs"):
        policies.log_probs(policy, np.zeros((2, 4)), np.zeros(2), 2)


def test_a_policy_whose_distance_is_no_number_is_fetched() -> None:
    assert Adaptive(0.1).wants(1, lambda: float("nan"))
    assert not Adaptive(0.1).wants(1, lambda: 0.05)


def test_rules() -> None:
    for rule in (Every(2), Adaptive(0.1)):
        with pytest.raises(AssertionError, match="used"):
            _without_ray(rule)


def _without_ray(rule: Any) -> None:
    """Makes rollouts, which fail where they would connect to Ray."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parallel_pool._apis.cluster.runtime.connect", lambda: _fail())
        Rollouts("CartPole-v1", Linear, 2, sync=rule, overlap=True, ordered=False)


def _fail() -> None:
    raise AssertionError("Ray was used")
