"""The build: its errors, what it recompiles, and the sdist and wheel that it makes."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

import build_ffi

ROOT = Path(__file__).resolve().parents[2]


def build_on(fake: str, command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of setuptools after a statement that fakes something about the system."""
    script = f"import platform, sys, build_ffi; {fake}; build_ffi.main([{command!r}])"
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


UNSUPPORTED = [
    (
        "platform.system = lambda: 'Windows'; sys.platform = 'win32'",
        "parallel_pool does not run on Windows: its engine needs Linux"
        " (on Windows, install it inside WSL 2).",
    ),
    (
        "sys.maxsize = 2**31 - 1",
        "parallel_pool needs a 64-bit Python, and this one has 32 bits.",
    ),
    (
        "sys.abiflags = 't'",
        "parallel_pool does not run on a free-threaded Python, which has no stable ABI for the"
        " engine's module: use the usual build of Python.",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["build_ext", "bdist_wheel"])
@pytest.mark.parametrize(("fake", "sentence"), UNSUPPORTED)
def test_unsupported_system_is_refused_in_one_sentence(
    fake: str, sentence: str, command: str
) -> None:
    done = build_on(fake, command)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"error: {sentence}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("fake", "sentence"), UNSUPPORTED)
def test_unsupported_system_is_refused_at_import(fake: str, sentence: str) -> None:
    """The engine's module may be found there: a free-threaded Python tries to load it."""
    done = subprocess.run(
        [sys.executable, "-c", f"import platform, sys; {fake}; import parallel_pool"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == f"ImportError: {sentence}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"CFLAGS": "-DNAME='x"}, "CFLAGS=-DNAME='x: No closing quotation: close the quote"),
        ({"CC": "/no/such/compiler"}, "'/no/such/compiler' was not found: install gcc or clang"),
        ({"PP_SANITIZE": "memory"}, "PP_SANITIZE=memory: choose from address, undefined, thread"),
        # a flag that no compiler has
        ({"CFLAGS": "-no-such-flag"}, "-no-such-flag"),
    ],
)
def test_wrong_setting_is_named(env: dict[str, str], words: str) -> None:
    done = build_on("pass", "build_ext", **env)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_build_says_of_systems_is_what_documents_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert build_ffi.untested() is None and build_ffi.unsupported() is None
    monkeypatch.setattr(build_ffi.platform, "system", lambda: "Darwin")
    sentence = build_ffi.untested()
    assert sentence is not None and "experimental on macOS" in sentence
    assert build_ffi.unsupported() is None
    assert "macOS is experimental" in (ROOT / "README.md").read_text()
    classifiers = (ROOT / "pyproject.toml").read_text()
    assert "POSIX :: Linux" in classifiers and "MacOS" not in classifiers


def test_cdef_keeps_only_declarations() -> None:
    text = build_ffi.cdef()
    assert "pp_pool_create" in text and "pp_env_def" in text
    assert not re.search(r"^#", text, re.MULTILINE)


def test_table_lists_each_definition_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "csrc" / "envs" / "new"
    folder.mkdir(parents=True)
    monkeypatch.setattr(build_ffi, "ROOT", tmp_path)
    monkeypatch.setattr(build_ffi, "CSRC", tmp_path / "csrc")
    (folder / "two.c").write_text(
        "const pp_env_def pp_env_b = {\n};\nconst pp_env_def pp_env_a = {"
    )
    (folder / "none.c").write_text("  const pp_env_def pp_env_c = {\n/* pp_env_def pp_env_d */\n")
    table = build_ffi.environment_table()
    assert re.findall(r"^    &(\w+),$", table, re.MULTILINE) == ["pp_env_b", "pp_env_a"]
    assert "*count = 2;" in table
    (folder / "many.h").write_text("enum { MANY = 2 };\n")
    (folder / "many.c").write_text("const pp_env_def pp_env_m[MANY] = {\n")
    table = build_ffi.environment_table()
    assert "    &pp_env_m[0],\n    &pp_env_m[1],\n" in table and "*count = 4;" in table
    (folder / "more.h").write_text("enum { MANY = 3 };\n")
    with pytest.raises(Exception, match=r"\[MANY\] has 2 values"):
        build_ffi.environment_table()
    (folder / "more.h").unlink()
    (folder / "again.c").write_text("const pp_env_def pp_env_a = {\n")
    with pytest.raises(Exception, match=r"pp_env_a is defined in .*again\.c and again in .*two\.c"):
        build_ffi.environment_table()


def test_object_is_stale_when_any_of_its_sources_changed(tmp_path: Path) -> None:
    source, header = tmp_path / "a b.c", tmp_path / "a.h"
    compiled, dependencies = tmp_path / "a.o", tmp_path / "a.d"
    assert build_ffi.is_stale(compiled, dependencies)
    for path in (source, header, compiled):
        path.touch()
    dependencies.write_text(f"a.o: {str(source).replace(' ', chr(92) + ' ')} \\\n {header}\n")
    past, present = time.time() - 100, time.time()
    os.utime(source, (past, past))
    os.utime(header, (past, past))
    assert not build_ffi.is_stale(compiled, dependencies)
    os.utime(header, (present + 100, present + 100))
    assert build_ffi.is_stale(compiled, dependencies)
    header.unlink()
    assert build_ffi.is_stale(compiled, dependencies)


# ----------------------------------------------------------------------------------- packages --


@pytest.mark.package
def test_sdist_contains_all_of_csrc(packages: tuple[Path, Path]) -> None:
    with tarfile.open(packages[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "csrc", "parallel_pool", "build_ffi.py", "LICENSE", "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert len(listed) > 20
    assert set(listed) <= names


@pytest.mark.package
def test_wheel_is_for_every_python_and_has_only_the_package(packages: tuple[Path, Path]) -> None:
    wheel = packages[1]
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    headers = {f"parallel_pool/include/{name}" for name in build_ffi.include_files()}
    assert "parallel_pool/include/pp_env.h" in headers
    assert names >= headers | {"parallel_pool/_core.pyi", "parallel_pool/py.typed"}
    assert not any(name.startswith(("csrc", "tests", "build")) for name in names)


@pytest.mark.package
def test_wheel_shows_the_readme(packages: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packages[1]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / "README.md").read_text()
    assert metadata.get_payload(decode=True) == readme.encode()


STEP = """
import numpy, parallel_pool
from parallel_pool._engine.pool import Pool
pool = Pool("CartPole-v1", 3, seed=1)
first = pool.reset()
rows = pool.step(numpy.ones(3, numpy.int64))
assert rows[0].shape == (3, 4), rows[0].shape
assert (rows[0] != first[0]).any()
pool.close()
print(parallel_pool.__file__)
print(parallel_pool.get_include())
"""


@pytest.fixture(scope="module")
def installed(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the Python of an environment with the wheel and, for the rest, our packages."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--quiet", packages[1]], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # Python searches a path named in a .pth file, but ignores the .pth files there, which would
    # add the editable install
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.mark.package
def test_installed_wheel_runs_the_quick_benchmark(installed: Path, tmp_path: Path) -> None:
    """Without a clone; full benchmarks are not there."""
    bench = [installed, "-m", "parallel_pool", "bench"]
    words = ["--quick", "cartpole-1", "--budget", "240", "--out", "here"]
    run = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    done = subprocess.run([*bench, *words], **run)
    assert done.returncode == 0, done.stderr
    assert "parallel_pool.make_vec" in done.stdout and "gymnasium.make" in done.stdout
    page = (tmp_path / "here" / "bench.html").read_text()
    assert "this machine" in page and "reference" in page
    done = subprocess.run([*bench, "cartpole-1"], **run)
    assert done.returncode == 1 and "bench --quick` works here" in done.stderr


@pytest.mark.package
def test_installed_wheel_steps(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed, "-c", STEP], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    file, include = done.stdout.split()
    assert Path(file).is_relative_to(installed.parent.parent)
    assert Path(include, "pp_env.h").exists()
