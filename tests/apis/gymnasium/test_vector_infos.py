"""Infos of rows have Gymnasium's vector form, whatever agents return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import VectorEnv

from parallel_pool._apis.common import vector_infos
from tests.support.same import assert_same


def merged(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Merges the infos of rows as Gymnasium does."""
    envs: VectorEnv[Any, Any, Any] = VectorEnv()
    envs.num_envs = len(each)
    found: dict[str, Any] = {}
    for i, infos in enumerate(each):
        found = envs._add_info(found, infos, i)
    return found


# of environment 0's agents, then environment 1's
ROWS: list[dict[str, Any]] = [
    {"a": 1, "deep": {"x": np.arange(2.0), "word": "one"}},
    {"b": np.float32(2), "deep": {"x": np.arange(2.0) + 1}},
    {},
    {"a": 3, "b": np.float32(4), "mark": True, "deep": {"word": "two"}},
]


def of_agents(rows: list[dict[str, Any]]) -> dict[Any, Any]:
    parts = [merged(rows[i::2]) for i in range(2)]
    return vector_infos.of_agents(parts, 2)


def test_infos_of_agents_are_those_of_their_rows() -> None:
    assert_same(of_agents(ROWS), merged(ROWS), "infos")
    for found, row in zip(vector_infos.rows_of(merged(ROWS), 4), ROWS, strict=True):
        assert_same(found, row, "a row", ordered=False)


def test_infos_of_environments_are_those_of_all_their_rows() -> None:
    each = [ROWS[0], ROWS[3], {}]
    repeated = [row for row in each for _ in range(3)]
    assert_same(vector_infos.of_envs(merged(each), 3), merged(repeated), "infos")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(2), np.ones(3)),
        ({"x": 1}, 5),
        ({"x": 1}, np.ones(2)),
    ],
    ids=["shapes", "dict and number", "dict and array"],
)
def test_infos_of_different_forms_are_objects(one: Any, other: Any) -> None:
    rows: list[dict[str, Any]] = [{"it": one}, {"it": other}, {"it": one}, {}]
    found = of_agents(rows)
    assert found["it"].dtype == object and found["_it"].tolist() == [True, True, True, False]
    assert_same(found["it"].tolist(), [one, other, one, None], "objects")


def test_infos_of_different_dtypes_have_the_wider_one() -> None:
    found = of_agents([{"it": 1}, {"it": 0.5}, {"it": 2}, {}])
    assert_same(found["it"], np.array([1, 0.5, 2, 0]), "numbers")


@pytest.mark.parametrize("final", [{}, {"a": 7, "deep": {"x": np.arange(2.0)}, "own": 1}], ids=str)
def test_infos_of_some_rows_move(final: dict[str, Any]) -> None:
    mask = np.array([True, False, False, True])
    before: list[dict[str, Any]] = [{}, final, {}, {}]
    kept, target = vector_infos.moved(merged(ROWS), merged(before), mask)
    assert_same(kept, merged([{}, ROWS[1], {}, {}]), "kept", ordered=False)
    assert_same(target, merged([ROWS[0], final, {}, ROWS[3]]), "moved", ordered=False)


@pytest.mark.parametrize(("one", "other"), [({"x": 1}, 5), (5, {"x": 1}), (np.ones(2), 3)], ids=str)
def test_infos_that_move_may_have_another_form(one: Any, other: Any) -> None:
    mask = np.array([True, False, True])
    infos, final = merged([{"it": one}, {}, {}]), merged([{}, {"it": other}, {}])
    kept, target = vector_infos.moved(infos, final, mask)
    assert not kept and target["_it"].tolist() == [True, True, False]
    assert_same(target["it"].tolist(), [one, other, None], "objects")


@pytest.mark.parametrize("mask", [[True, False], True, None, {"x": 1}], ids=str)
def test_a_key_beside_a_key_is_no_mask_by_its_name_alone(mask: Any) -> None:
    """As environments that are not ours may have."""
    infos = {"_a": mask, "a": np.arange(2), "b": np.arange(2), "_b": np.array([False, True])}
    for as_is in (False, True):
        assert vector_infos.rows_of(infos, 2, as_is=as_is) == [{}, {"b": 1}]
