"""Errors for packages that are not installed name the package and the command that installs it."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest
from gymnasium.error import DependencyNotInstalled

from parallel_pool._apis.common import dependencies
from parallel_pool._apis.common.env_fn import EnvFn
from parallel_pool.errors import MissingDependencyError

MAKE = """
import sys
sys.modules[sys.argv[1]] = None
import parallel_pool
try:
    envs = parallel_pool.make_vec(sys.argv[2], 2, **eval(sys.argv[3]))
    envs.reset()
    envs.render()
except parallel_pool.MissingDependencyError as error:
    print(error)
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("module", "id", "options", "extra"),
    [
        ("packaging", "Ant-v5", "{}", "mujoco"),
        ("mujoco", "Ant-v5", "{}", "mujoco"),
        ("pygame", "CartPole-v1", "{'render_mode': 'rgb_array'}", "render"),
    ],
)
def test_error_names_package_and_extra(module: str, id: str, options: str, extra: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAKE, module, id, options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert module in done.stdout
    assert f"pip install 'parallel_pool[{extra}]'" in done.stdout


def test_worker_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes make Gymnasium environments with EnvFn."""

    def make(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'imageio'")

    monkeypatch.setattr(gymnasium, "make", make)
    with pytest.raises(MissingDependencyError, match=r"imageio.*parallel_pool\[mujoco\]"):
        EnvFn(gymnasium.spec("Ant-v5"), {}, ())()


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'x'"), DependencyNotInstalled("x is missing")]
)
def test_errors_of_gymnasiums_own_environments_name_the_extra(error: Exception) -> None:
    words = r"AntEnv needs .*x.*: pip install 'parallel_pool\[mujoco\]'"
    with (
        pytest.raises(MissingDependencyError, match=words) as caught,
        dependencies.explained("gymnasium.envs.mujoco.ant_v5:AntEnv"),
    ):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("entry_point", ["gymnasium.envs.mujoco2:Env", "mine:Env", object])
def test_errors_of_other_environments_are_unchanged(entry_point: object) -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="theirs"),
        dependencies.explained(entry_point),
    ):
        raise ModuleNotFoundError("theirs")


def test_load_creator_returns_the_class() -> None:
    entry_point = gymnasium.spec("CartPole-v1").entry_point
    assert isinstance(entry_point, str)
    assert dependencies.load_creator(entry_point).__name__ == "CartPoleEnv"
