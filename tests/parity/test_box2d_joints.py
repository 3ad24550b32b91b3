"""The joints that C solves have the bits of those that Box2D solves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import Box2D
import numpy as np
import pytest

from parallel_pool._engine.pool import Pool
from parallel_pool._families import box2d, box2d_joints
from parallel_pool.errors import UnprovenError
from tests.support.sampling import sampled

pytestmark = pytest.mark.proven("csrc/envs/box2d")

COUNT = 16

# Motors that are at their most and others, joints at both limits and between them, with contacts
# and in flight; forces that nothing else here reaches, up to those whose numbers become NaN.
CASES: list[tuple[str, Mapping[str, Any], int]] = [
    ("LunarLander-v3", {}, 250),
    ("BipedalWalker-v3", {}, 150),
    ("LunarLanderContinuous-v3", {"gravity": -0.5}, 250),
    ("LunarLander-v3", {"gravity": -11.9, "enable_wind": True, "turbulence_power": 40.0}, 250),
    *(
        ("LunarLander-v3", {"enable_wind": True, "wind_power": power}, steps)
        for power, steps in ((300.0, 150), (1e5, 60), (1e10, 20), (1e30, 10), (math.nan, 2))
    ),
    *(
        ("LunarLander-v3", {"enable_wind": True, "turbulence_power": power}, steps)
        for power, steps in ((300.0, 150), (1e5, 60), (1e10, 20), (1e30, 10), (math.inf, 2))
    ),
    ("BipedalWalkerHardcore-v3", {}, 400),
]


@pytest.fixture
def links() -> Iterator[tuple[bytes, bytes]]:
    """The link to Box2D with C's joints, and without them."""
    link = box2d.probe(Box2D)
    assert box2d.unpack(link)["solves_joints"] == 1
    both = (link, box2d.without_joints(link))
    assert box2d.unpack(both[1])["solves_joints"] == 0
    box2d.accepted_links.update(both)
    yield both
    box2d.accepted_links.difference_update(both)


@pytest.mark.quick(1)
@pytest.mark.parametrize("case", sampled(range(len(CASES)), {0, 1, 10}))
def test_joints_have_the_bits_of_box2d(case: int, links: tuple[bytes, bytes]) -> None:
    id, options, steps = CASES[case]
    rng = np.random.default_rng(case)
    ours, theirs = (
        Pool(id, COUNT, num_threads=2, seed=case, options={**options, "_link": link})
        for link in links
    )
    with ours, theirs:
        same(ours.reset(), theirs.reset(), "reset")
        for step in range(steps):
            if ours.spec.action.space_kind == "box":
                action: Any = rng.uniform(-1.2, 1.2, (COUNT, *ours.spec.action.shape))
            else:
                action = rng.integers(0, 4, COUNT)
            same(ours.step(action), theirs.step(action), f"step {step}")


def same(ours: Any, theirs: Any, what: str) -> None:
    """Compares bits, except for the sign of NaN."""
    for name in ("obs", "reward", "terminated"):
        arrays = [np.array(getattr(each, name)) for each in (ours, theirs)]
        for array in arrays:
            array[np.isnan(array)] = math.nan
        assert arrays[0].tobytes() == arrays[1].tobytes(), (what, name)


@pytest.fixture
def unproven() -> Iterator[None]:
    """The library is looked at again, in this test and afterwards."""
    box2d.link_or_reason.cache_clear()
    yield
    box2d.link_or_reason.cache_clear()


@pytest.mark.parametrize("name", ["joint_matrix", "joint_impulse", "joint_masses"])
def test_a_wrong_place_is_noticed(name: str, links: tuple[bytes, bytes]) -> None:
    numbers = box2d.unpack(links[0])
    numbers[name] += 4
    with pytest.raises(UnprovenError, match="does not step LunarLander-v3 as Gymnasium does"):
        box2d.prove(box2d.pack(numbers))


def test_box2d_solves_joints_whose_places_are_not_found(
    unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> dict[str, int]:
        raise UnprovenError("has no joints")

    monkeypatch.setattr(box2d_joints, "find_places", refuse)
    check_fallback()


def test_box2d_solves_joints_whose_places_are_wrong(
    unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = box2d_joints.find_places

    def shifted(*args: Any) -> dict[str, int]:
        return {**(found := find(*args)), "joint_motor_mass": found["joint_motor_mass"] - 4}

    monkeypatch.setattr(box2d_joints, "find_places", shifted)
    check_fallback()


def check_fallback() -> None:
    """Pools run, and Box2D solves their joints."""
    with Pool("BipedalWalker-v3", 2, seed=1) as pool:
        pool.step(np.ones((2, 4), np.float32))
        assert box2d.unpack(pool.spec.options["_link"])["solves_joints"] == 0


def test_joints_with_another_table_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box2d_joints, "TABLE", "_ZTV16b2PrismaticJoint")
    bodies = box2d.unpack(box2d.probe(Box2D))
    assert bodies["solves_joints"] == 0
    with pytest.raises(UnprovenError, match="another table of virtual functions"):
        box2d_joints.find_places(Box2D, bodies)
