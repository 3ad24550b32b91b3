"""Environments from source files: `load_source`, its cache, and the commands `new` and `build`."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._source import cache, folders, start, toolchain
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from parallel_pool.errors import EnvError, MissingDependencyError, SourceError

ROOT = Path(__file__).resolve().parents[2]
HAS_CPP = any(shutil.which(name) for name in ("c++", "g++", "clang++"))
needs_cpp = pytest.mark.skipif(not HAS_CPP, reason="no C++ compiler")

NUMBER = r"""
#include "pp_env.h"
#include "number.h"
static const pp_field fields[] = {{.name = "obs", .dtype = PP_INT64, .low = 0, .high = 99}};
static int reset(pp_env *env, pp_reset *how) {
  (void)env, (void)how;
  return PP_OK;
}
static int step(pp_env *env, const void *action, pp_result *result) {
  (void)env, (void)action, (void)result;
  return PP_OK;
}
static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)env, (void)is_reset;
  if (rows[0]) *(int64_t *)rows[0] = NUMBER;
  return PP_OK;
}
const pp_env_def pp_env_number = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "mine/Number-v0",
    .num_fields = 1, .fields = fields,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
    .reset = reset, .step = step, .observe = observe,
};
"""


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What a test loads is known to that test alone, and it has a cache of its own."""
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def number(tmp_path: Path) -> Path:
    """An environment that shows the number of a header."""
    source = tmp_path / "number.c"
    source.write_text(NUMBER)
    set_number(source, 7)
    return source


def set_number(source: Path, value: int) -> None:
    """Writes the header, an hour ago: one that is just written may change while it is compiled."""
    header = source.parent / "number.h"
    header.write_text(f"#define NUMBER {value}\n")
    hour_ago = time.time_ns() - 3600 * 10**9
    os.utime(header, ns=(hour_ago, hour_ago))


def quote(env: Any = "mine/Number-v0") -> int:
    with Pool(env) as pool:
        return int(pool.reset().obs[0])


def libraries(folder: Path) -> list[Path]:
    return sorted((folder / "cache").rglob("*.so"))


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The sources that the compiler was started for."""
    made: list[Path] = []
    build = toolchain.build

    def counted(source: Path, folder: Path, *, sanitize: bool = False) -> Any:
        made.append(source)
        return build(source, folder, sanitize=sanitize)

    monkeypatch.setattr(toolchain, "build", counted)
    return made


# -------------------------------------------------------------------------------- the starts --


@pytest.mark.slow
@pytest.mark.parametrize("name", ["my_env.c", pytest.param("My Env 2.cpp", marks=needs_cpp)])
def test_a_start_compiles_and_works_in_every_api(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    task_id = start.write(path)
    assert parallel_pool.load_source(path) == [task_id]
    assert task_id in parallel_pool.list_all_envs()

    single = gymnasium.make(task_id, push=0.2, max_episode_steps=30)
    native = gymnasium.make_vec(
        task_id, 3, vectorization_mode="parallel_pool", push=0.2, max_episode_steps=30
    )
    assert isinstance(native, PoolVectorEnv) and native.backend == "native"
    assert native.single_observation_space == single.observation_space
    others = {
        "sync": gymnasium.make_vec(
            task_id, 3, vectorization_mode="sync", push=0.2, max_episode_steps=30
        ),
        "processes": PoolVectorEnv(
            task_id, 3, push=0.2, max_episode_steps=30, backend="process", num_workers=1
        ),
    }
    expected = native.reset(seed=5)
    for name, each in others.items():
        np.testing.assert_equal(each.reset(seed=5), expected, name)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(100):
        actions = rng.integers(3, size=3)
        expected = native.step(actions)
        ends += int(np.sum(expected[2] | expected[3]))
        for name, each in others.items():
            np.testing.assert_equal(each.step(actions), expected, name)
    assert ends > 3
    for each in (single, native, *others.values()):
        each.close()

    for env_type in ("gym", "dm"):
        envs = parallel_pool.make(task_id, env_type=env_type, num_envs=2, seed=5)
        envs.reset()
        envs.step(np.array([0, 2]))
    sb3 = parallel_pool.PoolVecEnv(task_id, 2)
    assert sb3.reset().shape == (2, 2)
    sb3.close()


def test_gymnasium_finds_nothing_wrong_with_a_single_one(tmp_path: Path) -> None:
    from gymnasium.utils.env_checker import check_env

    path = tmp_path / "my_env.c"
    task_id = start.write(path)
    parallel_pool.load_source(path)
    env = gymnasium.make(task_id)
    check_env(env.unwrapped)
    with pytest.raises(ValueError, match=r"push=3\.0: choose 0\.01 to 1"):
        gymnasium.make(task_id, push=3.0)
    with pytest.raises(ValueError, match="render_mode='rgb_array': choose"):
        env.unwrapped.__class__(render_mode="rgb_array")
    assert isinstance(gymnasium.make(env.spec).unwrapped, type(env.unwrapped).__base__)


@pytest.mark.slow
def test_a_player_of_several_is_for_pettingzoo(tmp_path: Path) -> None:
    """csrc/envs/test/duel.c, outside the tree."""
    text = (ROOT / "csrc" / "envs" / "test" / "duel.c").read_text()
    path = tmp_path / "duel.c"
    path.write_text(text.replace("test/Duel-v0", "mine/Duel-v0"))
    assert parallel_pool.load_source(path) == ["mine/Duel-v0"]
    with pytest.raises(ValueError, match=r"has 2 players, and gymnasium\.make is for one"):
        gymnasium.make("mine/Duel-v0")
    envs = PoolParallelEnv("mine/Duel-v0", 2)
    envs.reset(seed=0)
    envs.close()


@pytest.mark.slow
def test_a_picture_of_a_single_one(tmp_path: Path) -> None:
    """csrc/envs/_template.c, outside the tree."""
    text = (ROOT / "csrc" / "envs" / "_template.c").read_text()
    path = tmp_path / "corridor.c"
    path.write_text(text.replace("test/Template-v0", "mine/Corridor-v0"))
    parallel_pool.load_source(path)
    env = gymnasium.make("mine/Corridor-v0", render_mode="rgb_array", length=6)
    env.reset(seed=1, options={"start": 2})
    assert env.render().shape == (8, 48, 3)
    with pytest.raises(gymnasium.error.ResetNeeded):
        gymnasium.make("mine/Corridor-v0", disable_env_checker=True).unwrapped.step(1)


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("my_env", ("my_env", "mine/MyEnv-v0")),
        ("3d-Maze", ("3d_maze", "mine/3dMaze-v0")),
        ("CartPole", ("cartpole", "mine/CartPole-v0")),
        ("größe", ("gr_e", "mine/GrE-v0")),
        ("猫", ("my_env", "mine/MyEnv-v0")),
        ("int", ("int", "mine/Int-v0")),
    ],
)
def test_names_come_from_the_file(stem: str, expected: tuple[str, str]) -> None:
    assert start.names(stem) == expected


@pytest.mark.quick(1)
@pytest.mark.parametrize("stem", ["3d-Maze", "猫", "int", "a b"])
def test_starts_compile_under_any_name(stem: str, tmp_path: Path) -> None:
    task_id = start.write(tmp_path / f"{stem}.c")
    assert parallel_pool.load_source(tmp_path / f"{stem}.c") == [task_id]


# ------------------------------------------------------------------------------------- cache --


def test_the_same_source_is_compiled_once(
    number: Path, tmp_path: Path, compilations: list[Path]
) -> None:
    assert parallel_pool.load_source(number) == ["mine/Number-v0"]
    first = registry.find("mine/Number-v0")
    assert quote() == 7
    assert parallel_pool.load_source(str(number)) == ["mine/Number-v0"]
    assert parallel_pool.load_source(os.fsencode(number)) == ["mine/Number-v0"]  # type: ignore[arg-type]
    assert registry.find("mine/Number-v0") is first
    assert len(compilations) == 1
    # a file that is only touched is the same
    os.utime(number)
    parallel_pool.load_source(number)
    assert len(compilations) == 1 and len(libraries(tmp_path)) == 1


def test_a_changed_source_replaces_its_environments_in_new_pools(
    number: Path, compilations: list[Path]
) -> None:
    parallel_pool.load_source(number)
    with Pool("mine/Number-v0") as old:
        assert int(old.reset().obs[0]) == 7
        # a header is a part of the source
        set_number(number, 8)
        parallel_pool.load_source(number)
        assert quote() == 8 and int(old.step([0]).obs[0]) == 7
        number.write_text(NUMBER.replace("= NUMBER", "= NUMBER + 10"))
        parallel_pool.load_source(number)
        assert quote() == 18 and int(old.step([0]).obs[0]) == 7
    assert int(gymnasium.make("mine/Number-v0").reset()[0]) == 18
    # and back: this one is in the cache
    number.write_text(NUMBER)
    set_number(number, 7)
    parallel_pool.load_source(number)
    assert quote() == 7 and len(compilations) == 3


def test_an_id_of_another_file_is_taken(number: Path, tmp_path: Path) -> None:
    parallel_pool.load_source(number)
    other = tmp_path / "other.c"
    other.write_text(NUMBER.replace("= NUMBER", "= 1"))
    with pytest.raises(ValueError, match=r"'mine/Number-v0' is taken, .*number\.c defines it"):
        parallel_pool.load_source(other)
    other.write_text(NUMBER.replace("mine/Number-v0", "CartPole-v1"))
    with pytest.raises(ValueError, match="'CartPole-v1' is taken, it is built in: choose another"):
        parallel_pool.load_source(other)
    assert quote() == 7


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("variable", "value"),
    [("CFLAGS", "-DEXTRA=1"), ("LDFLAGS", "-lm"), ("CC", "cc -DEXTRA=1")],
)
def test_flags_and_compiler_are_part_of_the_key(
    number: Path,
    compilations: list[Path],
    variable: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parallel_pool.load_source(number)
    monkeypatch.setenv(variable, value)
    parallel_pool.load_source(number)
    parallel_pool.load_source(number)
    assert len(compilations) == 2


def test_another_version_of_the_compiler_compiles_again(
    number: Path, compilations: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that was updated in place."""
    own = tmp_path / "bin" / "cc"
    own.parent.mkdir()
    for version in ("one", "two"):
        script = f'[ "$1" = --version ] && echo {version} && exit\nexec cc "$@"\n'
        own.write_text(f"#!/bin/sh\n{script}")
        own.chmod(0o755)
        # the time of a file has a resolution
        os.utime(own, ns=(0, len(version) + (10**9 if version == "two" else 0)))
        monkeypatch.setenv("CC", str(own))
        parallel_pool.load_source(number)
        parallel_pool.load_source(number)
    assert len(compilations) == 2


@pytest.mark.slow
def test_a_damaged_cache_is_repaired(
    number: Path, tmp_path: Path, compilations: list[Path]
) -> None:
    built = cache.build(number)
    built.library.write_bytes(built.library.read_bytes()[:100])
    for entry in (tmp_path / "cache").rglob("*.json"):
        assert cache.build(number).library == built.library
        for damage in ("", "[]", "{}", '{"settings": 3}', "null"):
            entry.write_text(damage)
            assert cache.build(number).library == built.library
    assert len(compilations) == 7


def test_a_cache_that_cannot_be_written_is_replaced(
    number: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    # without a spare folder either
    with pytest.raises(SourceError, match=r"no folder .*XDG_CACHE_HOME name one that can be wri"):
        parallel_pool.load_source(number)
    (tmp_path / "tmp").mkdir()
    parallel_pool.load_source(number)
    (spare,) = (tmp_path / "tmp").iterdir()
    assert spare.stat().st_mode & 0o777 == 0o700
    assert len(list(spare.rglob("*.so"))) == 1


# ------------------------------------------------------------------------- whose folders are --


def others() -> int:
    """Returns the number of another user than this one."""
    return os.geteuid() + 12345


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that takes no time; what it makes can't be loaded."""

    def build(source: Path, folder: Path, *, sanitize: bool = False) -> Any:
        library = folder / "library.so"
        library.write_bytes(source.read_bytes())
        return library, [source.absolute()], ""

    monkeypatch.setattr(toolchain, "build", build)


# what a folder of the cache may be, from its root on; None: it belongs to another user
UNSAFE = [
    ("cache", 0o777),
    ("cache", 0o775),
    ("cache", 0o1777),
    ("cache/parallel_pool", 0o702),
    ("cache/parallel_pool/source", 0o720),
    pytest.param("cache", None, marks=needs_root),
    pytest.param("cache/parallel_pool/source", None, marks=needs_root),
    # what leads to the cache: in a folder with the sticky bit others can't replace it
    (".", 0o777),
    pytest.param(".", None, marks=needs_root),
]


@pytest.fixture
def spare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in whose place /tmp is; what a fresh folder holds is removed with the process."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(folder))
    monkeypatch.setattr(folders, "fresh_folders", {})
    return folder


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("name", "mode"), UNSAFE)
def test_a_library_where_others_can_write_is_not_loaded(
    name: str, mode: int | None, number: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could have put their own in the place of ours."""
    above = tmp_path / "above"
    monkeypatch.setenv("XDG_CACHE_HOME", str(above / "cache"))
    first = cache.build(number).library
    assert first.is_relative_to(above) and cache.build(number).was_cached
    if mode is None:
        os.chown(above / name, others(), -1)
    else:
        (above / name).chmod(mode)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(temporary))
    second = cache.build(number)
    assert not second.was_cached
    assert second.library.is_relative_to(temporary / f"parallel_pool-{os.geteuid()}")
    assert cache.build(number) == (second.library, "", True)
    (above / name).chmod(0o755)


@pytest.mark.usefixtures("quick")
def test_a_sticky_folder_above_the_cache_is_safe(
    number: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "above" / "cache"))
    cache.build(number)
    (tmp_path / "above").chmod(0o1777)
    assert cache.build(number).was_cached


@needs_root
@pytest.mark.usefixtures("quick")
def test_root_makes_no_cache_in_the_home_of_another_user(
    number: Path, tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, others(), -1)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.build(number).library.is_relative_to(spare)
    assert not list(home.iterdir())


@pytest.mark.usefixtures("quick")
def test_a_link_leads_to_a_cache(
    number: Path, tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on machines whose home is small; the link counts as what it leads to."""
    real, link = tmp_path / "scratch" / "mine", tmp_path / "link"
    real.mkdir(parents=True, mode=0o700)
    link.symlink_to(real)
    monkeypatch.setenv("XDG_CACHE_HOME", str(link))
    first = cache.build(number)
    assert first.library.resolve().is_relative_to(real) and cache.build(number).was_cached
    real.chmod(0o777)
    assert cache.build(number).library.is_relative_to(spare)
    real.chmod(0o700)
    # others can replace what the link leads to
    real.parent.chmod(0o777)
    assert cache.build(number).was_cached
    assert cache.build(number).library.is_relative_to(spare)


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_the_umask_opens_no_folder_to_others(mask: int, number: Path, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        cache.build(number)
        assert cache.build(number).was_cached
    finally:
        os.umask(before)
    made = [path for path in (tmp_path / "cache").rglob("*") if path != number]
    assert len(made) == 5
    assert not [path for path in [tmp_path / "cache", *made] if path.stat().st_mode & 0o077]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("suffix", ["so", "json"])
def test_a_file_that_others_could_write_is_made_again(
    suffix: str, number: Path, tmp_path: Path
) -> None:
    """The folder may have been open to them for some time."""
    cache.build(number)
    (path,) = (tmp_path / "cache").rglob(f"*.{suffix}")
    path.chmod(0o622)
    assert not cache.build(number).was_cached
    assert path.stat().st_mode & 0o022 == 0 and cache.build(number).was_cached


@pytest.mark.usefixtures("quick")
def test_without_a_safe_folder_each_process_has_its_own(
    number: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spare: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(number))
    (spare / f"parallel_pool-{os.geteuid()}").mkdir(mode=0o755)
    (spare / f"parallel_pool-{os.geteuid()}").chmod(0o777)
    built = cache.build(number)
    own = built.library.parent.parent
    assert own.parent == spare and own.stat().st_mode & 0o777 == 0o700
    assert not list((spare / f"parallel_pool-{os.geteuid()}").iterdir())
    # it is the cache of this process, until that ends
    assert cache.build(number) == (built.library, "", True)
    folders.remove_fresh()
    assert not own.exists() and not cache.build(number).was_cached
    folders.remove_fresh()


@pytest.mark.slow
def test_old_libraries_are_removed(
    number: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MAX_KEPT", 2)
    monkeypatch.setattr(cache, "SAFE_AGE", 0)
    for value in range(5):
        set_number(number, value)
        last = cache.build(number).library
    assert len(libraries(tmp_path)) == 2 and last in libraries(tmp_path)
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 2
    monkeypatch.setattr(cache, "SAFE_AGE", 3600 * 10**9)
    set_number(number, 9)
    cache.build(number)
    assert len(libraries(tmp_path)) == 3


@pytest.mark.slow
def test_folders_of_sources_not_used_are_removed(
    number: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MAX_FOLDERS", 3)
    first = cache.build(number).library.parent
    root = first.parent
    for age in range(5):
        old = root / f"old-{age:016x}"
        old.mkdir()
        (old / "file").touch()
        os.utime(old, (2e9 - age, 1e9 - age))
    (root / "translated").mkdir()
    os.utime(first, (1, 1))
    # its use makes it the newest
    assert cache.build(number).was_cached
    another = number.with_name("another.c")
    another.write_text(number.read_text())
    second = cache.build(another).library.parent
    assert set(root.iterdir()) == {first, second, root / f"old-{0:016x}", root / "translated"}
    # those of the last hour stay
    os.utime(first)
    for path in (second, root / f"old-{0:016x}"):
        os.utime(path)
    third = number.with_name("third.c")
    third.write_text(number.read_text())
    cache.build(third)
    assert len(set(root.iterdir())) == 5


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_compiled_is_compiled_again(
    number: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, made = toolchain.build, []

    def changing(source: Path, folder: Path, *, sanitize: bool = False) -> Any:
        result = build(source, folder, sanitize=sanitize)
        made.append(source)
        if len(made) < 3:
            (number.parent / "number.h").write_text(f"#define NUMBER {20 + len(made)}\n")
        return result

    monkeypatch.setattr(toolchain, "build", changing)
    parallel_pool.load_source(number)
    assert quote() == 22
    monkeypatch.setattr(cache, "MAX_TRIES", 1)
    made.clear()
    number.write_text(NUMBER + "\n")
    with pytest.raises(SourceError, match="changes while it is compiled"):
        parallel_pool.load_source(number)


MANY = """
import sys, parallel_pool
assert parallel_pool.load_source(sys.argv[1]) == ["mine/Number-v0"]
with parallel_pool.Pool("mine/Number-v0") as pool:
    assert int(pool.reset().obs[0]) == 7
"""


@pytest.mark.slow
def test_processes_build_at_the_same_time(number: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", MANY, str(number)]
    running = [subprocess.Popen(command, cwd=ROOT) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert not list((tmp_path / "cache").rglob(".build-*"))


# ------------------------------------------------------------------------------------ errors --


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("return PP_OK", "return PP_OKAY"), r"number\.c:\d+:\d+: error: .PP_OKAY. undeclared"),
        (("pp_env_def pp_env_number", "pp_env_def number"), "defines no environment: a line of it"),
        (("const pp_env_def", "  const pp_env_def"), "must begin with const pp_env_def pp_env_NAM"),
        (("pp_env_number =", "pp_env_number[1] ="), r"pp_env_number\[1\] is a table"),
        (("const pp_env_def pp", 'extern "C" const pp_env_def pp'), r"is C\+\+: leave it out"),
        ((".abi = PP_ENV_ABI", ".abi = 1"), "the definition has ABI 1 and .* this engine ABI"),
        # a callback of ABI 5
        (("pp_reset *how)", "const pp_reset *how, pp_result *result)"), "error: .*incompatible"),
        ((".num_fields = 1", ".num_fields = 99"), "num_fields=99: choose 1 to 32"),
        (("static int reset(", "int nowhere(void);\nstatic int reset("), None),
        (("(void)env, (void)how", "(void)nowhere(), (void)how"), "nowhere"),
        (("number.h", "missing.h"), "fatal error: missing.h: No such file"),
    ],
)
def test_errors_say_what_to_do(number: Path, change: tuple[str, str], message: str | None) -> None:
    number.write_text(NUMBER.replace(*change, 1))
    if message is None:
        assert parallel_pool.load_source(number) == ["mine/Number-v0"]
        return
    with pytest.raises(ValueError, match=message):
        parallel_pool.load_source(number)
    assert "mine/Number-v0" not in registry.definitions()


def test_files_that_are_no_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.c can't be read: No such file or directory"):
        parallel_pool.load_source(tmp_path / "none.c")
    (tmp_path / "env.txt").write_text("const pp_env_def pp_env_x = {")
    with pytest.raises(SourceError, match=r"choose a name that ends in one of \.py, \.c, \.cpp"):
        parallel_pool.load_source(tmp_path / "env.txt")
    with pytest.raises(TypeError):
        parallel_pool.load_source(3)  # type: ignore[arg-type]


@needs_cpp
def test_a_definition_in_cpp_needs_extern(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    start.write(path)
    path.write_text(path.read_text().replace('extern "C" const', "const"))
    with pytest.raises(SourceError, match='write extern "C" const pp_env_def pp_env_a ='):
        parallel_pool.load_source(path)


def test_two_definitions_of_one_file(number: Path) -> None:
    second = NUMBER[NUMBER.index("const pp_env_def") :].replace("pp_env_number", "pp_env_second")
    number.write_text(NUMBER + second)
    with pytest.raises(SourceError, match="defines 'mine/Number-v0' twice"):
        parallel_pool.load_source(number)
    number.write_text(NUMBER + second.replace("mine/Number", "mine/Second"))
    assert parallel_pool.load_source(number) == ["mine/Number-v0", "mine/Second-v0"]


def test_one_configure_serves_definitions_with_data_of_their_own(number: Path) -> None:
    """`configure` finds their numbers in the data of the definition that it gets."""
    configure = """
static const int64_t seven = 7, nine = 9;
static int configure(pp_config *config) {
  config->fields[0].high = (double)*(const int64_t *)config->def->data;
  config->shared = (void *)config->def->data;
  return PP_OK;
}
"""
    start = NUMBER.index("const pp_env_def")
    one = NUMBER[start:].replace(".reset", ".configure = configure, .data = &seven, .reset")
    two = one.replace("pp_env_number", "pp_env_other").replace("mine/Number", "mine/Other")
    callbacks = NUMBER[:start].replace("= NUMBER", "= *(const int64_t *)env->shared")
    number.write_text(callbacks + configure + one + two.replace("&seven", "&nine"))
    assert parallel_pool.load_source(number) == ["mine/Number-v0", "mine/Other-v0"]
    assert quote("mine/Number-v0") == 7 and quote("mine/Other-v0") == 9
    with Pool("mine/Other-v0") as pool:
        assert pool.spec.fields[0].high == 9


def test_one_environment_of_a_run_fails_alone(number: Path) -> None:
    """Its state diverges; its neighbours in the same call of `step_many` go on."""
    step_many = """
#include "base/run.h"
static int step_many(void *shared, const pp_run *run) {
  const int64_t *actions = (const int64_t *)run->actions;
  int64_t *obs = (int64_t *)run->fields[0];
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    run->reward[i] = 1;
    if (obs) obs[i] = NUMBER;
    if (actions[i]) pp_run_fail(run, i, PP_ERR_ENV, "speed=%g: choose action 0", 1e9);
  }
  return PP_OK;
}
"""
    start = NUMBER.index("const pp_env_def")
    step = "(void)env, (void)action, (void)result;\n  return PP_OK;"
    failing = """if (*(const int64_t *)action == 0) return result->reward[0] = 1, PP_OK;
  return pp_fail(env->error, PP_ERR_ENV, "speed=%g: choose action 0", 1e9);"""
    callbacks = '#include "base/fail.h"\n' + NUMBER[:start].replace(step, failing)
    number.write_text(
        callbacks
        + step_many
        + NUMBER[start:].replace(".step = step", ".step = step, .step_many = step_many")
    )
    parallel_pool.load_source(number)
    actions = np.zeros(64, np.int64)
    actions[[3, 40]] = 1
    with Pool("mine/Number-v0", 64, num_threads=1) as pool:
        for _ in range(20):
            pool.reset()
            with pytest.raises(EnvError, match="speed=1e\\+09: choose action 0") as raised:
                pool.step(actions)
            assert raised.value.env_ids == (3, 40)
            batch = raised.value.batch
            np.testing.assert_array_equal(batch.reward, actions == 0)
            np.testing.assert_array_equal(batch.obs, np.where(actions, 0, 7))


def test_a_missing_compiler_is_named(number: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(MissingDependencyError, match="CC='no-such-compiler': there is no such pro"):
        parallel_pool.load_source(number)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(number.parent))
    with pytest.raises(
        MissingDependencyError, match="none of cc, gcc, clang is installed: install"
    ):
        parallel_pool.load_source(number)


def test_functions_of_base_are_compiled_too(number: Path) -> None:
    """base/normal.c also needs NumPy's library."""
    text = NUMBER.replace('#include "number.h"', '#include "base/normal.h"')
    text = text.replace("= NUMBER", "= (int64_t)(pp_rng_normal(env->rng) * 1000)")
    number.write_text(text.replace(".low = 0, .high = 99", ".low = -1e6, .high = 1e6"))
    parallel_pool.load_source(number)
    with Pool("mine/Number-v0", seed=4) as pool:
        drawn = int(pool.reset().obs[0])
    assert drawn == int(np.random.default_rng(4).standard_normal() * 1000)


def test_names_of_libc_are_not_interposed(number: Path) -> None:
    """A function that is not static, with the name of one of libc's."""
    text = NUMBER.replace(
        "static int step", "int rand(void);\nint rand(void) { return 42; }\nstatic int step"
    )
    number.write_text(text.replace("= NUMBER", "= rand()"))
    parallel_pool.load_source(number)
    assert quote() == 42


# --------------------------------------------------------------------------- other processes --


@pytest.mark.slow
def test_workers_know_what_the_program_has_loaded(number: Path) -> None:
    parallel_pool.load_source(number)
    for method in ("forkserver", "spawn"):
        with ProcessPool([lambda: gymnasium.make("mine/Number-v0")], start_method=method) as pool:
            assert int(pool.reset()[0][0]) == 7


def test_a_library_that_a_worker_cannot_find_is_named(number: Path) -> None:
    parallel_pool.load_source(number)
    (origin,) = pickle.loads(pickle.dumps(registry.origins()))
    registry.loaded_by_id.clear()
    gone = origin._replace(library=b"/nowhere/number.so")
    registry.remember([gone])
    message = r"loaded it from .*number\.c, and this process can't: /nowhere/number\.so .*shared"
    with pytest.raises(ValueError, match=message):
        Pool("mine/Number-v0")
    # until it is loaded here
    registry.remember([origin])
    assert quote() == 7


# ---------------------------------------------------------------------------------- commands --


def test_new_and_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "maze.c"]) == 0
    assert "maze.c defines mine/Maze-v0" in capsys.readouterr().out
    text = (tmp_path / "maze.c").read_text()
    assert "pp_env_maze = {" in text and "MyEnv" not in text and "my_env" not in text
    assert cli.main(["new", "maze.c"]) == 1
    assert "maze.c exists, and stays as it is" in capsys.readouterr().err
    assert cli.main(["new", "no/maze.c"]) == 1
    assert "can't be written: No such file" in capsys.readouterr().err
    assert cli.main(["build", "maze.c", "--out", "maze.so"]) == 0
    assert "mine/Maze-v0" in capsys.readouterr().out
    registry.loaded_by_id.clear()
    assert parallel_pool.load("maze.so", "pp_env_maze").id == "mine/Maze-v0"
    registry.loaded_by_id.clear()
    # found before the compiler runs
    monkeypatch.setenv("CC", "no-such-compiler")
    assert cli.main(["build", "maze.c", "--out", "maze.c"]) == 1
    assert "--out: maze.c is the source: name another file" in capsys.readouterr().err
    assert (tmp_path / "maze.c").read_text() == text
    for bad in ("", ".", "/dev/full", "/proc/maze.so"):
        assert cli.main(["build", "maze.c", "--out", bad]) == 1
        assert re.match(r"--out: \S+ can't be written: ", capsys.readouterr().err)
    assert cli.main(["build", "maze.c", "--out", "no/maze.so"]) == 1
    assert "--out: no/maze.so can't be written" in capsys.readouterr().err


def test_build_prints_what_the_compiler_printed(
    number: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(number.parent)
    number.write_text(NUMBER.replace("return PP_OK;", "return PP_OK", 1))
    flags = ["-std=c11", "-O3", "-Wall", f"-I{parallel_pool.get_include()}"]
    alone = subprocess.run(
        ["cc", *flags, "-c", "number.c", "-o", os.devnull],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "error" in alone.stderr
    assert cli.main(["build", "number.c"]) == 1
    assert capsys.readouterr().err == f"number.c does not compile:\n{alone.stderr.rstrip()}\n"


@pytest.mark.slow
@needs_cpp
@pytest.mark.parametrize("standard", ["c++20", "c11"])
def test_headers_are_of_both_languages(standard: str) -> None:
    folder = Path(parallel_pool.get_include())
    headers = [path.name for path in folder.glob("pp_env.h")]
    headers += [f"base/{path.name}" for path in folder.glob("base/*.h")]
    source = "".join(f'#include "{name}"\n' for name in sorted(headers))
    compiler, language = ("c++", "c++") if standard == "c++20" else ("cc", "c")
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", f"-I{folder}", "-x", language]
    done = subprocess.run(
        [compiler, *flags, "-fsyntax-only", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and len(headers) > 8, done.stderr
