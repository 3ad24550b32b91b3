"""Failures of Procgen's environments: a missing package, another build, wrong options, forks."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parallel_pool
from parallel_pool._engine.pool import Pool
from parallel_pool._families import procgen
from parallel_pool.errors import ForkedError, MissingDependencyError, UnprovenError
from tests.support import forked
from tests.support.reference import procgen_player

pytestmark = pytest.mark.skipif(
    not procgen_player.is_installed(), reason="procgen-mirror is not installed here"
)

COINRUN, EASY = "procgen-coinrun-v0", "CoinrunEasy-v0"
HEADER = Path(__file__).parents[2] / "csrc" / "envs" / "procgen" / "library.h"


@pytest.fixture
def looked_at_again() -> Iterator[None]:
    procgen.link.cache_clear()
    yield
    procgen.link.cache_clear()


def test_names_are_those_of_c() -> None:
    (body,) = re.findall(r"typedef struct procgen_library \{(.*?)\n\}", HEADER.read_text(), re.S)
    members = re.findall(r"\(\*(\w+)\)", body)
    assert [name.removeprefix("libenv_") for name in procgen.NAMES] == members


@pytest.mark.usefixtures("looked_at_again")
def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procgen.importlib.util, "find_spec", lambda name: None)
    for make in (parallel_pool.make_vec, Pool):
        with pytest.raises(MissingDependencyError, match="pip install --no-deps procgen-mirror"):
            make(COINRUN, 1)


@pytest.mark.sanitizers
@pytest.mark.usefixtures("looked_at_again")
@pytest.mark.parametrize("damage", ["library", "picture", "no picture", "no library"])
def test_another_build_is_refused(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the library one byte more, of the pictures one less, or none."""
    folder = tmp_path / "procgen"
    shutil.copytree(procgen.folder(), folder, copy_function=os.symlink)
    library = folder / "data" / "prebuilt" / "libenv.so"
    picture = next((folder / "data" / "assets").rglob("*.png"))
    damaged = library if "library" in damage else picture
    content = damaged.read_bytes()
    damaged.unlink()
    if damage == "library":
        library.write_bytes(content + b"\0")
    elif damage == "picture":
        picture.write_bytes(content[:-1])
    monkeypatch.setattr(procgen, "folder", lambda: folder)
    error = MissingDependencyError if damage == "no library" else UnprovenError
    with pytest.raises(error, match=re.escape(procgen.INSTALL)):
        Pool(COINRUN, 1)


@pytest.mark.parametrize(
    ("task_id", "options", "words"),
    [
        (COINRUN, {"distribution_mode": "memory"}, "coinrun has easy .0., hard .1., exploration"),
        (COINRUN, {"distribution_mode": "Easy"}, "distribution_mode=Easy: coinrun has"),
        (EASY, {"distribution_mode": 2}, "distribution_mode=2: coinrun has"),
        (COINRUN, {"num_levels": -1}, "num_levels=-1"),
        (
            COINRUN,
            {"num_levels": 2, "start_level": 2**31 - 2},
            "choose a sum of at most 2147483647",
        ),
        (
            COINRUN,
            {"distribution_mode": "exploration", "num_levels": 3},
            "the exploration mode has one level, so leave both out",
        ),
        (EASY, {"use_generated_assets": True}, "needs vector_seeds=False"),
    ],
)
def test_wrong_options_are_refused(task_id: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Pool(task_id, 1, options=options)


@pytest.mark.parametrize("name", ["_link", "_assets"])
def test_addresses_cant_be_given(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} can't be given"):
        Pool(COINRUN, 1, options={name: b"\0" * 72 if name == "_link" else "/"})


@pytest.mark.sanitizers
@pytest.mark.parametrize("action", [-1, 15, 2**31])
def test_no_other_action_reaches_the_library(action: int) -> None:
    with Pool(COINRUN, 2, seed=1) as pool:
        before = pool.reset().obs.copy()
        with pytest.raises(ValueError, match="action"):
            pool.step([4, action])
        assert (pool.observe().obs == before).all()


@pytest.mark.sanitizers
def test_a_fork_leaves_both_processes_alone() -> None:
    def child() -> None:
        with pytest.raises(ForkedError):
            pool.step([4])
        with Pool(COINRUN, 1, seed=1) as own:
            own.reset()
            own.step([4])

    with Pool(COINRUN, 1, seed=1) as pool:
        pool.reset()
        assert forked.run(child, timeout=60) == ("fine", 0)
        pool.step([4])


@pytest.mark.sanitizers
def test_pools_close_twice() -> None:
    pool = Pool(COINRUN, 3, seed=1)
    pool.reset()
    pool.close()
    pool.close()
