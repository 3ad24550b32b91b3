"""Pools on systems that lack what Linux has: macOS, faked on Linux, and sandboxes."""

from __future__ import annotations

import ast
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.programs import Program
from tests.support.worker_processes import methods

ROOT = Path(__file__).resolve().parents[2]
MACOS = ROOT / "tests" / "support" / "macos"

Start = Callable[..., Program]

# in workers too
CHECK_MACOS = """
def check():
    assert not any(hasattr(os, name) for name in ("memfd_create", "pidfd_open", "waitid"))
"""

# what programs do with worker processes
PROGRAM = """
class Large(Env):
    # larger than a pipe, and than the memory of small objects
    observation_space = gymnasium.spaces.Box(0, 255, (256, 1024), np.uint8)

    def reset(self, *, seed=None, options=None):
        _, infos = super().reset(seed=seed)
        return np.zeros((256, 1024), np.uint8), infos

    def step(self, action):
        super().step(action)
        check()
        return np.full((256, 1024), self.steps, np.uint8), 1.0, False, False, {}


def use(method):
    with ProcessPool([Large] * 4, num_workers=2, start_method=method) as pool:
        pool.reset(seed=1)
        kept = [pool.step([0] * 4) for _ in range(3)]
        # later steps leave earlier results alone
        assert [int(batch[0].min()) for batch in kept] == [1, 2, 3]
        assert [int(batch[0].max()) for batch in kept] == [1, 2, 3]
    assert others() == []

    # Ctrl-C
    fns = [make("waits", "0"), make(name="1")]
    with ProcessPool(fns, num_workers=2, start_method=method) as pool:
        pool.reset()
        pool.step([0, 0])
        pool.step([0, 0])
        interrupted(lambda: pool.step([0, 0]), "step0")
        come("go")
        assert (pool.recv()[0] == 3).all()
        first, second = others()

        # a worker dies while the caller waits
        pool.step([0, 0])
        os.kill(first, signal.SIGKILL)
        try:
            while True:
                pool.step([0, 0])
        except (WorkerError, StateError) as error:
            # StateError: between two steps
            assert "SIGKILL" in str(error), error
    assert others() == []
    (MEETING / "go").unlink()
    (MEETING / "step0").unlink()

    # another worker takes its place
    with ProcessPool([Env] * 2, num_workers=2, start_method=method, on_error="restart") as pool:
        pool.reset()
        os.kill(others()[0], signal.SIGKILL)
        while not pool.step([0, 0])[3].any():
            pass
        assert not pool.step([0, 0])[3].any()
    assert others() == []
"""

NATIVE = """
from parallel_pool import Pool
pool = Pool("CartPole-v1", num_envs=4)
pool.reset(seed=1)
assert pool.step(np.zeros(4, int))[0].shape == (4, 4)
pool.close()
"""

ATARI = """
import hashlib
pool = Pool("Pong-v5", num_envs=2, seed=0)
frames = hashlib.sha256(pool.reset()[0].tobytes())
for i in range(100):
    frames.update(pool.step(np.full(2, i % 6))[0].tobytes())
print(frames.hexdigest())
pool.close()
"""


@pytest.mark.slow
@methods
def test_worker_processes_run_without_the_functions_that_macos_lacks(
    program: Start, method: str
) -> None:
    script = f"{CHECK_MACOS}{PROGRAM}use({method!r})\nprint('end')"
    done = program(script, env=environment()).end()
    assert (done.code, done.out, done.err) == (0, "end\n", ""), done


@pytest.mark.slow
def test_native_pools_run_without_the_functions_that_macos_lacks(program: Start) -> None:
    """And Atari's pictures are the same."""
    done = program(NATIVE + ATARI, env=environment()).end()
    other = program(NATIVE + ATARI).end()
    assert done.code == 0, done.err
    assert (done.out, done.err) == (other.out, other.err)


def environment() -> dict[str, str]:
    """Returns variables of a program that lacks what macOS lacks."""
    return {"PYTHONPATH": os.pathsep.join([str(MACOS), *sys.path])}


# -------------------------------------------------------------------------------- sandboxes --

# Refuses system calls of this process, and of all that it starts from then on, as container
# runtimes and gVisor do: Linux's seccomp, with a program for each call.
SECCOMP = """
import errno, struct

class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]

def refuse(calls, error):
    load, equal, give = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0)]
    for call in calls:
        code += [(equal, 0, 1, call), (give, 0, 0, 0x50000 | error)]
    code.append((give, 0, 0, 0x7FFF0000))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    program = Filter(len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with SECCOMP_MODE_FILTER
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program)):
        print("no seccomp")
        sys.exit()

def enter_sandbox():
    # starts this program again, because the package tries pidfds when it is imported
    if len(sys.argv) == 1:
        refuse(CALLS, ERROR)
        os.execv(sys.executable, [sys.executable, *sys.argv, "in the sandbox"])

def check():
    # in workers too
    for function, arguments in REFUSED:
        try:
            function(*arguments)
        except OSError as error:
            assert error.errno == ERROR, error
        else:
            raise AssertionError(function)
"""

SANDBOXES = {
    "memfd": "REFUSED = [(os.memfd_create, ['name'])]\nCALLS = [319]\nERROR = errno.ENOSYS",
    "pidfd": "REFUSED = [(os.pidfd_open, [1])]\nCALLS = [434, 424]\nERROR = errno.EPERM",
}


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="has the numbers of x86-64's calls")
@pytest.mark.parametrize("sandbox", SANDBOXES)
@methods
def test_worker_processes_run_in_a_sandbox(program: Start, method: str, sandbox: str) -> None:
    script = f"{SECCOMP}{SANDBOXES[sandbox]}\nenter_sandbox(){PROGRAM}use({method!r})\nprint('end')"
    done = program(script).end()
    if done.out == "no seccomp\n":
        pytest.skip("this machine has no seccomp")
    assert (done.code, done.out, done.err) == (0, "end\n", ""), done


# --------------------------------------------------------------------- what macOS lacks --

MODULES = ("os", "select", "signal", "socket", "time", "resource", "fcntl", "mmap")


@pytest.mark.slow
def test_all_functions_that_macos_lacks_are_taken_away() -> None:
    """mypy knows which: of those that the package uses none is left."""
    used = sorted({name for path in (ROOT / "parallel_pool").rglob("*.py") for name in uses(path)})
    assert ("os", "getpid") in used and ("socket", "MSG_CMSG_CLOEXEC") in used
    lacking = lacking_on_macos(used)
    assert ("os", "sched_getaffinity") in lacking and ("os", "getpid") not in lacking
    program = (
        "import sys;[print(hasattr(__import__(m), n)) for m, n in zip(*[iter(sys.argv[1:])]*2)]"
    )
    arguments = [word for name in lacking for word in name]
    left = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert dict(zip(lacking, left.stdout.split(), strict=True)) == dict.fromkeys(lacking, "False")


def uses(path: Path) -> set[tuple[str, str]]:
    """Returns the names of modules that a file uses, also as hasattr and getattr do."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in MODULES:
                found.add((module, name))
            case ast.Call(args=[ast.Name(id=module), ast.Constant(value=str(name)), *_]) if (
                module in MODULES
            ):
                found.add((module, name))
    return found


def lacking_on_macos(names: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns which names of modules typeshed does not know on macOS and knows on Linux."""
    return sorted(unknown(names, "darwin") - unknown(names, "linux"))


def unknown(names: list[tuple[str, str]], platform: str) -> set[tuple[str, str]]:
    lines = [f"{module}.{name}" for module, name in names]
    source = "\n".join([f"import {', '.join(MODULES)}", *lines])
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--platform", platform, "--python-version", "3.11"),
            *("--config-file", os.devnull, "--cache-dir", os.devnull, "--no-color-output"),
            *("-c", source),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "tests",
    )
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(
        r'^<string>:(\d+): error: Module has no attribute "(\w+)"', done.stdout, re.M
    )
    return {names[int(line) - 2] for line, _ in found}
