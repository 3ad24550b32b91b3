"""Installations of mujoco that an upgrade has left half done: the right library, or a clear error.

The packages here are made up, with what parallel_pool reads of them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from parallel_pool._families import mujoco as family

MAKE = """
import parallel_pool
for make in (parallel_pool.make_vec, parallel_pool.Pool):
    try:
        make("Ant-v5", 1)
    except parallel_pool.MissingDependencyError as error:
        print(error)
"""


def compile_shared(source: str, library: Path, *arguments: str) -> None:
    file = library.with_suffix(".c")
    file.write_text(source)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, "-shared", "-fPIC", str(file), "-o", str(library), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.quick(1)
@pytest.mark.parametrize("used", ["9.0.0", "10.0.0"])
def test_the_library_of_the_imported_version_is_loaded(
    used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two was left over by an upgrade; either may be the first in sorted order."""
    for version in ("9.0.0", "10.0.0"):
        source = f"int mj_version(void) {{ return {version.partition('.')[0]}; }}"
        name = f"libmujoco.so.{version}"
        compile_shared(source, tmp_path / name, f"-Wl,-soname,{name}")
    bindings = tmp_path / "_functions.so"
    source = "int mj_version(void); int call(void) { return mj_version(); }"
    compile_shared(source, bindings, str(tmp_path / f"libmujoco.so.{used}"), "-Wl,-rpath,$ORIGIN")
    package = SimpleNamespace(
        __file__=str(tmp_path / "__init__.py"), _functions=SimpleNamespace(__file__=str(bindings))
    )
    monkeypatch.setattr(family, "import_mujoco", lambda: package)
    library = family.library.__wrapped__()
    assert library.mj_version() == int(used.partition(".")[0])


def errors_of(folder: Path, versions: dict[str, str], reason: str) -> list[str]:
    """Returns the messages with these packages installed, where importing mujoco fails."""
    for name, version in versions.items():
        metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
    (folder / "mujoco").mkdir()
    (folder / "mujoco" / "__init__.py").write_text(f"raise ImportError({reason!r})\n")
    done = subprocess.run(
        [sys.executable, "-c", MAKE],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_packages_of_two_versions_are_named_with_the_cure(tmp_path: Path) -> None:
    versions = {"mujoco": "4.0.0", "mujoco-core": "4.0.1"}
    sentence = (
        "mujoco 4.0.0 and mujoco-core 4.0.1 are installed, which must have the same version:"
        " pip install 'mujoco==4.0.0' 'mujoco-core==4.0.0'"
    )
    assert errors_of(tmp_path, versions, "a long\ntext of mujoco's") == [sentence, sentence]


@pytest.mark.slow
def test_a_package_that_cant_be_imported_is_not_called_missing(tmp_path: Path) -> None:
    versions = {"mujoco": "4.0.1", "mujoco-core": "4.0.1"}
    through_pool = errors_of(tmp_path, versions, "the core\nis missing")[-1]
    assert through_pool == (
        "mujoco 4.0.1 is installed, but can't be imported (ImportError: the core is missing):"
        " pip install --force-reinstall --no-deps"
        " 'mujoco==4.0.1' 'mujoco-core==4.0.1' 'mujoco-studio==4.0.1'"
    )
