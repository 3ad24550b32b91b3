"""Files, names, encodings and compilers that behave badly, and what `load_source` makes of them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool._engine import registry
from parallel_pool._source import cache, excerpt, program, start, toolchain
from parallel_pool.errors import SourceError
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test loads is known to that test alone, and it has a cache of its own."""
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "my_env.c"
    start.write(path)
    return path


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets CC name a script, which knows its version."""

    def write(script: str) -> None:
        path = tmp_path / "cc"
        path.write_bytes(
            b'#!/bin/sh\n[ "$1" = --version ] && echo one && exit\n' + script.encode("latin-1")
        )
        path.chmod(0o755)
        monkeypatch.setenv("CC", str(path))

    return write


# --------------------------------------------------------------------------------- compilers --

# a compiler's driver waits for its passes, whose numbers are written to a file
HANGS = """
sleep 1000 & echo $! >> {pids}
echo $$ >> {pids}
wait
"""


def numbers(path: Path) -> list[int]:
    """Returns the two process numbers that `HANGS` has written."""
    wait_for(lambda: path.exists() and path.read_text().count("\n") == 2)
    return [int(line) for line in path.read_text().split()]


@pytest.mark.slow
@pytest.mark.usefixtures("alarm")
def test_a_compiler_that_hangs_is_ended_with_its_children(
    source: Path,
    compiler: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pids = tmp_path / "pids"
    compiler(HANGS.format(pids=pids))
    # it knows its version by now
    toolchain.compiler(cpp=False)
    monkeypatch.setenv("PP_COMPILE_TIMEOUT", "1")
    message = r"/cc -std=c11 .* has not ended within 1 s, and was ended: .*PP_COMPILE_TIMEOUT"
    with pytest.raises(SourceError, match=message):
        parallel_pool.load_source(source)
    wait_for(lambda: all(map(has_ended, numbers(pids))))
    assert not list((tmp_path / "cache").rglob(".build-*"))


@pytest.mark.slow
def test_ctrl_c_ends_a_compiler_with_its_children(
    source: Path, compiler: Callable[[str], None], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    compiler(HANGS.format(pids=pids))
    code = "import sys, parallel_pool; parallel_pool.load_source(sys.argv[1])"
    command = [sys.executable, "-c", code, str(source)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        started = numbers(pids)
        assert not any(map(has_ended, started))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TEST_TIMEOUT)
    assert err.rstrip().endswith("KeyboardInterrupt")
    wait_for(lambda: all(map(has_ended, started)))
    assert not list((tmp_path / "cache").rglob(".build-*"))


# as when Ctrl-C comes in the moment before the main thread begins to wait
INTERRUPTED = """
import os, signal, sys, threading, time
import parallel_pool

def interrupt():
    while not os.path.exists(sys.argv[2]) or open(sys.argv[2]).read().count("\\n") < 2:
        time.sleep(0.01)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
parallel_pool.load_source(sys.argv[1])
"""


@pytest.mark.slow
def test_ctrl_c_that_does_not_wake_the_main_thread_ends_a_compiler(
    source: Path, compiler: Callable[[str], None], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    compiler(HANGS.format(pids=pids))
    # so that it is not the deadline that ends it
    env = {**os.environ, "PP_COMPILE_TIMEOUT": str(10 * TEST_TIMEOUT)}
    command = [sys.executable, "-c", INTERRUPTED, str(source), str(pids)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
        check=False,
    )
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    wait_for(lambda: all(map(has_ended, numbers(pids))))


@pytest.mark.usefixtures("alarm")
def test_a_process_that_keeps_the_compilers_streams_is_not_waited_for(
    source: Path, compiler: Callable[[str], None], tmp_path: Path
) -> None:
    """Compiler caches start a server at their first use."""
    pid = tmp_path / "pid"
    compiler(f'[ -e {pid} ] || {{ sleep 1000 & echo $! > {pid}; }}\nexec cc "$@"')
    assert parallel_pool.load_source(source) == ["mine/MyEnv-v0"]
    assert not has_ended(int(pid.read_text()))
    os.kill(int(pid.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("given", ["soon", "0", "-1", "nan", "inf"])
def test_a_wrong_deadline_is_refused(
    given: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PP_COMPILE_TIMEOUT", given)
    message = f"PP_COMPILE_TIMEOUT='{given}': give seconds above 0"
    with pytest.raises(SourceError, match=re.escape(message)):
        parallel_pool.load_source(source)


@pytest.mark.parametrize("variable", ["CC", "CFLAGS", "LDFLAGS"])
def test_an_open_quote_in_a_variable_is_named(
    variable: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "-DNAME='x")
    message = f"""{variable}="-DNAME='x" can't be split into words: No closing quotation: close"""
    with pytest.raises(SourceError, match=re.escape(message)):
        parallel_pool.load_source(source)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("true", r"/cc -std=c11 .* reports success, but has not made own\.o: let CC and CXX name"),
        ("kill -9 $$", r"my_env\.c does not compile:\nit was ended by signal 9\n/\S+/cc -std"),
        ("exit 1", r"my_env\.c does not compile:\n/\S+/cc -std=c11 "),
        ("echo '\xfcbel' >&2; exit 1", r"my_env\.c does not compile:\n\\xfcbel$"),
    ],
)
def test_a_compiler_that_makes_nothing(
    script: str, message: str, source: Path, compiler: Callable[[str], None]
) -> None:
    compiler(script)
    with pytest.raises(SourceError, match=message):
        parallel_pool.load_source(source)


def test_a_version_that_is_not_utf_8(
    source: Path, compiler: Callable[[str], None], tmp_path: Path
) -> None:
    compiler('exec cc "$@"')
    text = (tmp_path / "cc").read_text().replace("echo one", "printf '\\374bel\\n'")
    (tmp_path / "cc").write_text(text)
    assert toolchain.compiler(cpp=False).version == "\\xfcbel\n"
    assert parallel_pool.load_source(source) == ["mine/MyEnv-v0"]


def test_a_compiler_that_is_no_program(
    source: Path, compiler: Callable[[str], None], tmp_path: Path
) -> None:
    compiler("")
    (tmp_path / "cc").write_bytes(b"\x7fELF and nothing more")
    with pytest.raises(SourceError, match=r"/cc --version can't be run: Exec format error"):
        parallel_pool.load_source(source)


def test_what_a_compiler_prints_without_end_is_shortened(
    source: Path, compiler: Callable[[str], None]
) -> None:
    """The first error is what the user needs, wherever it is."""
    compiler(
        "yes 'my_env.c:1:1: warning: so' | head -n 200000 >&2\n"
        "echo 'my_env.c:7:1: error: the cause' >&2\n"
        "yes 'my_env.c:9:1: error: what follows' | head -n 200000 >&2\nexit 1"
    )
    with pytest.raises(SourceError) as error:
        parallel_pool.load_source(source)
    lines = str(error.value).splitlines()
    assert lines[1] == "my_env.c:1:1: warning: so" and len(str(error.value)) < 20_000
    (dots,) = [i for i, line in enumerate(lines) if line.startswith("[... 1")]
    assert lines[dots + 1] == "my_env.c:7:1: error: the cause"


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 7, 4096, 100_000])
def test_an_excerpt_does_not_depend_on_how_it_is_read(step: int) -> None:
    text = b"".join(b"%d: warning\n" % i for i in range(3000)) + b"x" * 1000 + b"\na: error: b\n"
    text += b"later\n" * 5000
    made = excerpt.Excerpt()
    for i in range(0, len(text), step):
        made.add(text[i : i + step])
    lines = made.text().splitlines()
    assert lines[0] == "0: warning" and lines.count("a: error: b") == 1
    at = lines.index("a: error: b")
    assert lines[at - 1].startswith("[... ") and lines[at + 1] == "later"
    assert len(made.text()) <= 2 * excerpt.PART + 60


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"", ""),
        (b"no line end", "no line end"),
        (b"a\n" * 4096, "a\n" * 4096),
        (b"y" * 9000, "y" * 8192 + "\n[... 807 bytes are left out ...]\n"),
        (b"a\n" * 5000, "a\n" * 4096 + "[... 1808 bytes are left out ...]\n"),
    ],
)
def test_short_output_is_kept_whole(text: bytes, kept: str) -> None:
    made = excerpt.Excerpt()
    made.add(text)
    assert made.text() == kept


def test_a_long_command_is_shortened() -> None:
    with pytest.raises(
        SourceError, match=r"^/nowhere x{100,}\.\.\. can't be run: No such file"
    ) as e:
        program.run(["/nowhere", "x" * 10**5])
    assert len(str(e.value)) < 3000


# ------------------------------------------------------------------------------------- files --


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


KINDS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "FIFO": (make_fifo, "it is a FIFO"),
    "folder": (Path.mkdir, "it is a folder"),
    "socket": (make_socket, "it is a socket"),
    "zero": (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
    "full": (lambda path: path.symlink_to("/dev/full"), "it is a device"),
    "loop": (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    "large": (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 1 << 34), "64 MiB"),
}


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_source_file_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, words = KINDS[kind]
    # a socket's name must be short
    monkeypatch.chdir(tmp_path)
    make(Path("s.c"))
    with pytest.raises(SourceError, match=rf"^s\.c can't be read: .*{words}.*: name a C file"):
        parallel_pool.load_source("s.c")
    assert cli.main(["check", "s.c"]) == 1


@pytest.mark.parametrize("path", ["a\0b.c", "a\nb.c", "x" * 10**6 + ".c", b"\xff.c", "\ud800.c"])
def test_names_in_messages_are_short_and_printable(path: Any) -> None:
    with pytest.raises(SourceError) as error:
        parallel_pool.load_source(path)
    assert len(str(error.value)) < 600 and str(error.value).isprintable()
    str(error.value).encode()


NAMES = [
    b"comma,comma",
    b"byte \xff",
    b"colon: $(HOME) #1",
    b"back\\slash\\ and\ttab",
    b"no-break\xc2\xa0space",
    "größe 猫".encode(),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_the_folder_and_the_cache_does(
    name: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / os.fsdecode(b"cache " + name)))
    path = folder / os.fsdecode(name + b".c")
    (task_id,) = [start.write(path)]
    path.write_text(
        f'#include "{os.fsdecode(name)}.h"\n{path.read_text()}', errors="surrogateescape"
    )
    (folder / os.fsdecode(name + b".h")).write_text("")
    os.utime(folder / os.fsdecode(name + b".h"), (1e9, 1e9))
    assert parallel_pool.load_source(path) == [task_id]
    # the files that it was made of are known
    assert cache.build(path).was_cached
    (entry,) = folder.rglob("*.json")
    assert set(map(os.fsencode, json.loads(entry.read_text())["files"])) >= {
        os.fsencode(path),
        os.fsencode(path.with_suffix(".h")),
    }


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["-c.c", "@file.c"])
def test_a_name_like_an_option_is_a_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task_id = start.write(Path(name))
    assert parallel_pool.load_source(name) == [task_id]


# check compiles it with sanitizers, too
@pytest.mark.slow
@pytest.mark.parametrize("command", ["build", pytest.param("check", marks=pytest.mark.slow)])
def test_commands_print_names_that_are_not_utf_8(command: str, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.c"
    start.write(Path(os.fsdecode(path)))
    arguments = [sys.executable, "-m", "parallel_pool", command, path]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(arguments, cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"/\\xff.c" in done.stdout and not done.stderr


# ------------------------------------------------------------------------------------- cache --


def put_folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


DAMAGES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "a folder for a library": ("*.so", put_folder),
    "a folder for an entry": ("*.json", put_folder),
    "a FIFO for a library": ("*.so", put_fifo),
    "a FIFO for an entry": ("*.json", put_fifo),
    "a truncated library": ("*.so", lambda path: os.truncate(path, 1000)),
    "an empty library": ("*.so", lambda path: os.truncate(path, 0)),
    "an empty entry": ("*.json", lambda path: os.truncate(path, 0)),
    "a deep entry": ("*.json", lambda path: path.write_text("[" * 10**6)),
    "an endless entry": ("*.json", lambda path: os.truncate(path, 1 << 34)),
    "an entry in Latin-1": ("*.json", lambda path: path.write_bytes(b'{"\xfc": 1}')),
    "an unreadable library": ("*.so", lambda path: path.chmod(0)),
    "an unreadable entry": ("*.json", lambda path: path.chmod(0)),
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A compiler that takes no time; what it makes can't be loaded. Returns what it compiled."""
    made: list[Path] = []

    def build(source: Path, folder: Path, *, sanitize: bool = False) -> Any:
        made.append(source)
        library = folder / "library.so"
        library.write_bytes(source.read_bytes())
        return library, [source.absolute()], ""

    monkeypatch.setattr(toolchain, "build", build)
    return made


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_heals(
    damage: str, source: Path, tmp_path: Path, quick: list[Path]
) -> None:
    pattern, harm = DAMAGES[damage]
    first = cache.build(source).library
    (path,) = (tmp_path / "cache").rglob(pattern)
    harm(path)
    # root can read everything
    if not damage.startswith("an unreadable") or os.geteuid():
        assert not cache.build(source).was_cached
    assert cache.build(source) == (first, "", True)
    assert first.read_bytes() == source.read_bytes()
    assert len(quick) <= 2


def test_a_folder_mounted_noexec(
    source: Path, tmp_path: Path, quick: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder is used, and if there is none the error says why."""
    first = cache.build(source).library
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(temporary))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(temporary))
    mounts = [tmp_path / "cache"]
    statvfs = os.statvfs

    def noexec(path: Any) -> Any:
        found = list(statvfs(path))
        if any(Path(path).is_relative_to(mount) for mount in mounts):
            found[8] |= os.ST_NOEXEC
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", noexec)
    # not even what was compiled before the folder was mounted so
    built = cache.build(source)
    assert built.library.is_relative_to(temporary) and not built.was_cached
    mounts.append(temporary)
    reason = f"({first.parent} is on a file system that is mounted noexec; "
    with pytest.raises(SourceError, match=re.escape(reason)) as caught:
        cache.build(source)
    cache.folders.remove_fresh()
    assert "let XDG_CACHE_HOME name one" in str(caught.value)
    assert str(caught.value).count("is mounted noexec") == 3


def test_a_file_in_the_folders_place(
    source: Path, tmp_path: Path, quick: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder is used, and if there is none the error names all."""
    first = cache.build(source).library
    for path in first.parent.iterdir():
        path.unlink()
    first.parent.rmdir()
    first.parent.write_text("")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(temporary))
    assert cache.build(source).library.is_relative_to(temporary)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "nowhere"))
    message = re.escape(f"no folder for compiled environments ({first.parent} is no folder; ")
    with pytest.raises(SourceError, match=message):
        cache.build(source)


def test_a_full_disk_is_an_error_that_names_the_folder(
    source: Path, tmp_path: Path, quick: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "nowhere"))

    def full(made: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "put", full)
    message = rf"\({tmp_path}/cache/\S+: No space left on device; .*: let XDG_CACHE_HOME"
    with pytest.raises(SourceError, match=message):
        cache.build(source)
