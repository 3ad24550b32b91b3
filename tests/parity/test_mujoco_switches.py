"""The MuJoCo options that are set for speed change no bit, and only proven options are set."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._families import mujoco as family
from tests.parity.mujoco_switches import ASSETS, islands_differ, known, play, sha256
from tests.support.sampling import MUJOCO_TASKS, sampled, thinned

pytestmark = [pytest.mark.proven("csrc/envs/mujoco"), pytest.mark.usefixtures("own_folder")]

IDS = [task.id for task in registry.builtin().values() if task.family == "mujoco"]
MODELS = {path.name: path for path in ASSETS.glob("*.xml") if sha256(path) in family.SWITCHES}


def flags_of(options: dict[str, object]) -> int:
    link = options["_link"]
    assert isinstance(link, family.Link)
    return int(link.model.opt.disableflags)


def bits(flags: tuple[str, ...]) -> int:
    return sum(int(getattr(mujoco.mjtDisableBit, flag)) for flag in known(flags))


def prove(name: str, steps: int) -> None:
    path = MODELS[name]
    flags = known(family.SWITCHES[sha256(path)])
    plain, switched = play(path, (), steps, seed=1), play(path, flags, steps, seed=1)
    assert switched.digest == plain.digest
    # in models without contacts, the solver has only limits of joints
    assert plain.contacts > 0 or name in {
        *("inverted_double_pendulum.xml", "inverted_pendulum.xml", "reacher.xml", "swimmer.xml")
    }


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", thinned(sorted(MODELS), 2))
def test_switches_change_nothing_for_a_while(name: str) -> None:
    prove(name, 250)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MODELS))
def test_switches_change_nothing(name: str) -> None:
    prove(name, 2500)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["pusher_v5.xml", "reacher.xml"])
def test_islands_give_other_bits_with_several_trees(name: str) -> None:
    path = ASSETS / name
    plain, switched = play(path, (), 250), play(path, ("mjDSBL_ISLAND",), 250)
    assert plain.islands > 1
    assert switched.digest != plain.digest


@pytest.mark.slow
def test_the_midphase_orders_contacts_of_bodies_with_several_geometries() -> None:
    path = ASSETS / "humanoidstandup.xml"
    plain, switched = play(path, (), 1500), play(path, ("mjDSBL_MIDPHASE",), 1500)
    assert plain.contacts > 20
    assert switched.digest != plain.digest


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_midphase_is_disabled_only_where_it_has_nothing_to_order(name: str) -> None:
    model = mujoco.MjModel.from_xml_path(str(MODELS[name]))
    if "mjDSBL_MIDPHASE" in family.SWITCHES[sha256(MODELS[name])]:
        assert max(geometry_pairs(model).values(), default=0) <= 1
    else:
        assert max(geometry_pairs(model).values()) > 1


def geometry_pairs(model: Any) -> Counter[tuple[int, int]]:
    """Returns for each two bodies how many pairs of their geometries MuJoCo tests for contacts.

    Bodies without a joint between them, and a body and its parent that is not the world, never
    touch.
    """
    of = model.body_weldid
    parents = of[model.body_parentid[of]]
    found: Counter[tuple[int, int]] = Counter()
    for one, other in itertools.combinations(range(model.ngeom), 2):
        bodies = model.geom_bodyid[one], model.geom_bodyid[other]
        a, b = of[bodies[0]], of[bodies[1]]
        is_parent = a and b and (a == parents[bodies[1]] or b == parents[bodies[0]])
        touches = (
            model.geom_contype[one] & model.geom_conaffinity[other]
            or model.geom_contype[other] & model.geom_conaffinity[one]
        )
        if a != b and not is_parent and touches:
            found[bodies] += 1
    return found


def test_the_installed_version_is_proven() -> None:
    """To add a version to the table, first run tests/parity/mujoco_switches.py with it."""
    assert mujoco.__version__ in family.PROVEN_VERSIONS


@pytest.mark.quick(2)
@pytest.mark.parametrize("env", thinned(IDS, 3))
def test_each_default_model_is_switched(env: str) -> None:
    definition = registry.find(env)
    default = str(definition.options["xml_file"].default)
    flags = family.SWITCHES.get(sha256(ASSETS / default), ())
    plain = flags_of(family.fill_options(definition, {"speed_switches": False}))
    assert flags_of(family.fill_options(definition, {})) == plain | bits(flags)


def test_other_files_and_other_versions_keep_their_options(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = registry.find("Ant-v5")
    copy = own_folder / "ant.xml"
    copy.write_bytes((ASSETS / "ant.xml").read_bytes())
    # the same bytes in another folder are the same model
    assert flags_of(family.fill_options(definition, {"xml_file": str(copy)})) != 0
    copy.write_bytes(copy.read_bytes() + b"\n")
    assert flags_of(family.fill_options(definition, {"xml_file": str(copy)})) == 0
    monkeypatch.setattr(family, "PROVEN_VERSIONS", frozenset())
    assert flags_of(family.fill_options(definition, {})) == 0


@pytest.mark.parametrize("version", sorted(family.ISLANDS_DIFFER))
def test_islands_stay_where_they_change_bits(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mujoco, "__version__", version)
    flags = flags_of(family.fill_options(registry.find("Walker2d-v4"), {}))
    assert flags == bits(family.ONE_PAIR)


@pytest.mark.slow
def test_islands_change_bits_of_one_tree_in_some_versions() -> None:
    """Shown with MuJoCo 3.11.0, which is the reference of Gymnasium-Robotics."""
    folder = Path(sys.prefix) / "gymnasium-robotics-1.4.2"
    if not (folder / "mujoco").exists():
        pytest.skip(f"{folder} has no MuJoCo 3.11.0: make installs it")
    command = [sys.executable, "-m", "tests.parity.mujoco_switches", "--islands", "walker2d.xml"]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[2])]),
    }
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("3.11.0 walker2d.xml: islands change bits"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["walker2d.xml", "hopper.xml", "ant.xml", "humanoid.xml"])
def test_islands_change_nothing_in_long_episodes(name: str) -> None:
    assert not islands_differ(ASSETS / name, episodes=3)


@pytest.mark.quick(1)
@pytest.mark.parametrize("env", sampled(IDS, MUJOCO_TASKS))
def test_environments_are_the_same_with_and_without_switches(env: str) -> None:
    switched, plain = (
        Pool(env, 3, seed=4, options={"speed_switches": switches}) for switches in (True, False)
    )
    rng = np.random.default_rng(2)
    for _ in range(60):
        action = rng.uniform(-1, 1, (3, *switched.spec.action.shape)).astype(np.float32)
        for ours, theirs in zip(switched.step(action), plain.step(action), strict=True):
            assert ours.tobytes() == theirs.tobytes()
