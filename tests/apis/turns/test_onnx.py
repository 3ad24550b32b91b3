"""A session of ONNX Runtime as the policy of a PolicyLoop: the page's program, and its bits."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool.turns import PolicyLoop
from tests.support.same import assert_same

onnx: Any = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "policy-loop.md"
N, STEPS = 5, 60


def write_policy(path: Path) -> None:
    """Writes a network that pushes the cart to the side to which its pole falls.

    Its sums have two terms at most, so they are the same for any number of rows.
    """
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    numbers = {
        "first": [[0, 0], [0, 0], [1, -1], [1, -1]],
        "second": [[-1, 1], [1, -1]],
    }
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["observations", "first"], ["sums"]),
            helper.make_node("Relu", ["sums"], ["hidden"]),
            helper.make_node("MatMul", ["hidden", "second"], ["logits"]),
        ],
        "policy",
        [helper.make_tensor_value_info("observations", kind, ["rows", 4])],
        [helper.make_tensor_value_info("logits", kind, ["rows", 2])],
        [
            onnx.numpy_helper.from_array(np.array(each, np.float32), name)
            for name, each in numbers.items()
        ],
    )
    # old enough for any ONNX Runtime of today
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


@pytest.fixture
def page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Runs the program of docs/policy-loop.md; returns its names, and what it has printed."""
    (program,) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write_policy(Path("policy.onnx"))
    names: dict[str, Any] = {}
    exec(compile(program, str(PAGE), "exec"), names)
    return names | {"printed": capsys.readouterr().out}


def test_the_pages_program_plays(page: dict[str, Any]) -> None:
    assert page["printed"] == "160.0\n"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "process"])
@pytest.mark.parametrize("depth", [1, 2])
def test_turns_have_the_bits_of_a_plain_loop(
    page: dict[str, Any], backend: str, depth: int
) -> None:
    decide = page["decide"]

    def make(rows: range) -> Any:
        return parallel_pool.make_vec("CartPole-v1", len(rows), backend=backend)

    plain = make(range(N))
    with PolicyLoop(make, N, decide, depth=depth) as loop:
        loop.reset(seed=7)
        observations, _ = plain.reset(seed=7)
        turns = loop.play(STEPS)
        for step in range(STEPS):
            actions, extras = decide(observations)
            received, *others, _ = plain.step(actions)
            expected = (observations, actions, extras["logits"], *others, received)
            for turn in itertools.islice(turns, depth):
                own = (
                    *(turn.observations, turn.actions, turn.extras["logits"], turn.rewards),
                    *(turn.terminations, turn.truncations, turn.next_observations),
                )
                rows = tuple(each[turn.rows] for each in expected)
                assert_same(own, rows, f"step {step}, {turn.rows}")
            observations = received
        assert next(turns, None) is None
    plain.close()


def test_what_a_session_raises_loses_nothing(page: dict[str, Any]) -> None:
    """Turns in flight stay there, and the policy is asked again for the same observations."""
    session, decide, calls = page["session"], page["decide"], itertools.count(1)

    def wrong_once(observations: Any) -> Any:
        if next(calls) == 6:
            session.run(None, {"observations": observations.astype(np.float64)})
        return decide(observations)

    found = []
    with PolicyLoop(page["make"], N, decide, depth=2) as loop:
        loop.reset(seed=3)
        expected = list(loop.play(5))
        loop.reset(seed=3)
        loop.policy = wrong_once
        with pytest.raises(Exception, match="Unexpected input data type"):
            for turn in loop.play(5):
                found.append(turn)
        while len(found) < len(expected):
            found += loop.play(1)
    for i, (turn, other) in enumerate(zip(found, expected, strict=False)):
        assert_same(tuple(turn), tuple(other), f"turn {i}")
