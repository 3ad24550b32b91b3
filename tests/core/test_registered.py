"""Gymnasium's registry in worker processes has the program's entries, without warnings."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import parallel_pool
from parallel_pool._workers.process_pool import ProcessPool
from tests.support.worker_processes import SPAWN

# a package that registers its ids when it is imported, as ale_py, minigrid and many others do
PACKAGE = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

class Cart(CartPoleEnv):
    def __init__(self, mark="package", **kwargs):
        super().__init__(**kwargs)
        self.mark = mark

def register_all():
    gymnasium.register("Shop/Cart-v0", entry_point="{name}:Cart", max_episode_steps=9)
    gymnasium.register("Shop/Wagon-v0", entry_point="{name}:Cart", max_episode_steps=9)

register_all()
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes and imports such a package."""
    name = f"shop_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(PACKAGE.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    known = dict(gymnasium.registry)
    yield importlib.import_module(name)
    del sys.modules[name]
    gymnasium.registry.clear()
    gymnasium.registry.update(known)


def make_cart() -> Any:
    return gymnasium.make("Shop/Cart-v0", disable_env_checker=True)


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["forkserver", SPAWN, "fork"])
def test_an_import_that_registers_again_shows_no_warning(
    shop: Any, capfd: pytest.CaptureFixture[str], method: str
) -> None:
    with ProcessPool([make_cart] * 2, num_workers=2, start_method=method) as pool:
        assert pool.call("mark") == ["package"] * 2
    assert capfd.readouterr().err == ""


def test_workers_use_the_programs_entry(shop: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Also if the worker imports the package later."""
    gymnasium.registry["Shop/Cart-v0"].kwargs["mark"] = "program"
    with ProcessPool([make_cart], num_workers=1) as pool:
        assert pool.call("mark") == ["program"]
    assert capfd.readouterr().err == ""


def test_a_class_as_entry_point_may_register_ids_when_imported(
    shop: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its import registers ids while the worker reads the registry."""
    gymnasium.registry["Shop/Wagon-v0"].entry_point = shop.Cart
    with ProcessPool([make_cart], num_workers=1) as pool:
        assert pool.call("mark") == ["package"]
    assert capfd.readouterr().err == ""


def test_an_environment_that_registers_an_id_again_shows_a_warning(
    shop: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in the program's own process. Its entry stays."""

    def make_own() -> Any:
        gymnasium.register("Shop/Cart-v0", entry_point=shop.Cart, kwargs={"mark": "own"})
        return make_cart()

    with ProcessPool([make_own], num_workers=1) as pool:
        assert pool.call("mark") == ["own"]
    assert capfd.readouterr().err.count("Overriding environment Shop/Cart-v0") == 1


def test_an_import_that_the_program_has_not_made_shows_warnings(
    shop: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = f"other_{tmp_path.name}"
    source = PACKAGE.format(name=other).replace('"package"', '"other"')
    (tmp_path / f"{other}.py").write_text(source)

    def make_other() -> Any:
        importlib.import_module(other)
        return make_cart()

    with ProcessPool([make_other], num_workers=1) as pool:
        assert pool.call("mark") == ["other"]
    assert capfd.readouterr().err.count("UserWarning: ") == 2


@pytest.mark.slow
def test_ale_py_registers_again_without_warnings(capfd: pytest.CaptureFixture[str]) -> None:
    """Each worker once showed 352 warnings."""
    importlib.import_module("ale_py")
    envs = parallel_pool.make_vec("ALE/Pong-v5", 1, backend="process")
    envs.close()
    assert "Overriding" not in capfd.readouterr().err
