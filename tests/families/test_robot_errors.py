"""What is wrong with a robot's file, its model or the installed MuJoCo is said in a sentence."""

from __future__ import annotations

import ctypes
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import mujoco
import pytest

import parallel_pool
from parallel_pool import Pool
from parallel_pool import __main__ as cli
from parallel_pool._engine import registry
from parallel_pool._families import mujoco as family
from parallel_pool.errors import MissingDependencyError, SourceError

HERE = Path(__file__).parent / "robots"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test loads is known to that test alone."""
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_model_that_is_missing(folder: Path) -> None:
    (folder / "quadruped.xml").unlink()
    with pytest.raises(SourceError, match=r"quadruped.c: PP_ROBOT_MODEL 'quadruped.xml': there is"):
        parallel_pool.load_source(folder / "quadruped.c")


def test_an_error_in_the_model_is_mujocos_with_its_line(folder: Path) -> None:
    edit(folder / "quadruped.xml", 'name="imu"', 'name="imu" colour="red"')
    with pytest.raises(SourceError, match=r"(?s)quadruped.xml: MuJoCo refuses it.*colour.*line 11"):
        parallel_pool.load_source(folder / "quadruped.c")


def test_a_name_that_is_not_in_the_model(folder: Path) -> None:
    edit(folder / "quadruped.c", "SENSOR_TOUCH_FL", "SENSOR_TOUCH_FOREPAW")
    with pytest.raises(SourceError, match="SENSOR_TOUCH_FOREPAW"):
        parallel_pool.load_source(folder / "quadruped.c")


@pytest.mark.quick(0, sanitizers=2)
@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('joint name="hip fl"', 'joint name="hip"', "has no joint named .hip fl.: load"),
        ('name="gyro"', 'name="rate"', "has no sensor named .gyro."),
        (
            '<position name="hip fl" joint="hip fl"',
            '<position name="hip f" joint="hip fl"',
            "has no actuator",
        ),
        ('<touch name="touch fl" site="foot fl"/>', "", "has no sensor named .touch fl."),
        (
            '<touch name="touch fl" site="foot fl"/>',
            '<clock name="t"/><touch name="touch fl" site="foot fl"/>',
            "has the sensor .touch fl. at another place than quadruped.xml had",
        ),
        ('<freejoint name="root"/>', '<joint name="root"/>', "has nq=9, nv=9, nu=8, and the file"),
    ],
)
def test_another_model_must_have_the_same_names(
    folder: Path, old: str, new: str, text: str
) -> None:
    (task_id,) = parallel_pool.load_source(folder / "quadruped.c")
    other = folder / "other.xml"
    shutil.copy(folder / "quadruped.xml", other)
    edit(other, old, new)
    if 'joint name="hip fl"' in old:
        edit(other, 'joint="hip fl"', 'joint="hip"')
    with pytest.raises(ValueError, match=text):
        Pool(task_id, 1, options={"xml_file": "other.xml"})
    with pytest.raises(OSError, match=r"xml_file='none.xml': there is no file"):
        Pool(task_id, 1, options={"xml_file": "none.xml"})


@pytest.mark.sanitizers
def test_another_model_with_the_same_names_is_simulated(folder: Path) -> None:
    (task_id,) = parallel_pool.load_source(folder / "quadruped.c")
    shutil.copy(folder / "quadruped.xml", folder / "heavy.xml")
    edit(folder / "heavy.xml", 'mass="4"', 'mass="9"')
    with Pool(task_id, 1) as pool, Pool(task_id, 1, options={"xml_file": "heavy.xml"}) as other:
        assert pool.reset().obs.tobytes() != other.reset().obs.tobytes()


@pytest.mark.sanitizers
def test_internal_options_cant_be_given(folder: Path) -> None:
    (task_id,) = parallel_pool.load_source(folder / "quadruped.c")
    with pytest.raises(TypeError, match="_link can't be given"):
        Pool(task_id, 1, options={"_link": "mj_step=1"})


def test_without_mujoco(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    family.headers.cache_clear()
    with pytest.raises(MissingDependencyError, match="pip install 'parallel_pool"):
        parallel_pool.load_source(folder / "quadruped.c")


def test_an_older_mujoco(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def address_of(name: str) -> int | None:
        return None if name == "mj_getState" else ctypes.sizeof(ctypes.c_void_p)

    monkeypatch.setattr(family, "address_of", address_of)
    for cached in (family.function_addresses, family.library_path):
        cached.cache_clear()
    with pytest.raises(MissingDependencyError, match=r"has no mj_getState: install a version from"):
        parallel_pool.load_source(folder / "quadruped.c")


@pytest.mark.sanitizers
def test_headers_of_another_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a library that was made elsewhere is, or before an upgrade."""
    (task_id,) = parallel_pool.load_source(folder / "quadruped.c")
    monkeypatch.setattr(mujoco, "mj_version", lambda: 299)
    with pytest.raises(ValueError, match=r"with the headers of MuJoCo .*, and MuJoCo 299 is"):
        Pool(task_id, 1)


def test_without_a_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(MissingDependencyError, match="needs a C compiler"):
        parallel_pool.load_source(folder / "quadruped.c")


@pytest.mark.parametrize(
    ("file", "model", "text"),
    [
        ("my.cpp", "quadruped.xml", "my.cpp: a robot is written in C or Python"),
        ("my.c", "none.xml", "none.xml: there is no such file"),
        ("my.c", "parts/leg_defaults.xml", "leg_defaults.xml: the model has no actuators"),
        ("quadruped.c", "quadruped.xml", "exists, and stays as it is"),
    ],
)
def test_new(
    folder: Path, file: str, model: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["new", str(folder / file), "--mujoco", str(folder / model)]) == 1
    assert text in capsys.readouterr().err


@pytest.mark.sanitizers
def test_a_forged_own_state_is_refused(folder: Path) -> None:
    (task_id,) = parallel_pool.load_source(folder / "quadruped.c")
    testing = pytest.importorskip("parallel_pool.testing")
    for check in testing.NATIVE_CHECKS:
        if "forged" in str(check):
            check(task_id)
