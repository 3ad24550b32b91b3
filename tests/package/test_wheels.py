"""Wheels of a release: what is wrong with one is found, and nothing is with ours."""

from __future__ import annotations

import dataclasses
import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns .ci/wheel_contents.py."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("wheel_contents")


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns .ci/wheels.py."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("wheels")


# a module that takes from the system what ours must take
GOOD = """
#include <math.h>
#include <string.h>
__attribute__((visibility("default"))) double PyInit__core(double x, char *to, size_t n) {
  memcpy(to, to + n, n);
  memset(to, (int)x, n);
  return acos(x) + atan2(x, x) + cos(x) + exp(x) + fmod(x, 3) + log(x) + pow(x, x) + sin(x);
}
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("more", "flags", "fault"),
    [
        ("", "-s", None),
        # as a linker with functions of its own leaves it
        ("double exp(double x) { return x; }", "-s", "own and not the system's: exp"),
        (
            '__attribute__((visibility("default"))) int random_uniform;',
            "-s",
            "exports PyInit__core, random_uniform, not only PyInit__core",
        ),
        ("", "-s -Wl,--no-as-needed -lresolv", "needs libresolv.so.2"),
        ("", "", "not stripped"),
        ("", "-g", "not stripped"),
    ],
)
def test_faults_of_modules_are_found(
    more: str, flags: str, fault: str | None, contents: Any, tmp_path: Path
) -> None:
    source, module = tmp_path / "module.c", tmp_path / "module.so"
    source.write_text(f"{GOOD}{more}\n")
    compile = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-fvisibility=hidden"]
    subprocess.run([*compile, *flags.split(), source, "-lm", "-o", module], check=True)
    found = list(contents.faults_of_module(contents.read_elf(module)))
    assert len(found) == (fault is not None), found
    assert fault is None or fault in found[0]


def test_targets_are_known(wheels: Any) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "wheels.py", "windows"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "windows: choose from x86_64, aarch64, macos-arm64" in done.stderr


def test_a_missing_compiler_is_named(wheels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", "/no/such/folder")
    words = "aarch64-linux-gnu-gcc was not found.*apt-get install gcc-aarch64-linux-gnu"
    with pytest.raises(wheels.CannotBuild, match=words):
        wheels.compiler(wheels.TARGETS["aarch64"])


def test_the_others_are_built_where_a_compiler_is_missing(
    wheels: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(wheels.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(wheels.shutil, "which", lambda name: None if "aarch64" in name else name)
    asked = []

    def build(names: list[str], folder: Path, *, twice: bool) -> list[Path]:
        asked.extend(names)
        return [folder / f"{name}.whl" for name in names]

    monkeypatch.setattr(wheels, "build", build)
    assert wheels.main(["--out", str(tmp_path)]) == 1
    assert asked == ["x86_64", "macos-arm64"]
    out, err = capsys.readouterr()
    assert out.split() == ["x86_64.whl", "macos-arm64.whl"]
    assert err.startswith("error: aarch64-linux-gnu-gcc was not found") and err.count("error") == 1
    assert wheels.main(["x86_64", "--out", str(tmp_path)]) == 0


def test_a_module_for_macos_must_be_signed(contents: Any) -> None:
    good = contents.Module(
        libraries={"/usr/lib/libSystem.B.dylib"},
        exported={contents.EXPORTED},
        imported=contents.FROM_SYSTEM,
        is_stripped=True,
        is_signed=True,
    )
    assert list(contents.faults_of_module(good)) == []
    unsigned = dataclasses.replace(good, is_signed=False)
    assert list(contents.faults_of_module(unsigned)) == ["the module is not signed"]


@pytest.mark.package
def test_our_wheel_has_no_faults(
    packages: tuple[Path, Path], contents: Any, tmp_path: Path
) -> None:
    wheel = packages[1]
    assert "manylinux_2_17" in wheel.name
    assert list(contents.faults(wheel)) == []
    # the same for an older system
    name = wheel.name.replace("manylinux_2_17", "manylinux_2_5").replace("2014", "1")
    older = tmp_path / name
    shutil.copyfile(wheel, older)
    assert [fault.partition(" need ")[0] for fault in contents.faults(older)] == ["its symbols"]
