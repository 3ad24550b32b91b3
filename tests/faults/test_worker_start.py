"""Start of a pool's workers: in programs of every kind, and when a worker cannot start."""

from __future__ import annotations

import os
import signal
import sys
import threading
import zipapp
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.start.launch import METHODS
from parallel_pool.errors import EnvError, WorkerError
from tests.faults.failing_envs import QUIET
from tests.support.programs import PRELUDE, Program
from tests.support.timeouts import limited, wait_for
from tests.support.worker_processes import children, methods, pickling_methods
from tests.support.workers_targets import crash

quick_methods = pytest.mark.parametrize("method", ["forkserver", "fork"])


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Fails a test that hangs or leaves a process."""
    from parallel_pool._workers.start import forkserver

    before = children() - {forkserver.current().pid}
    with limited():
        yield
        wait_for(lambda: children() - {forkserver.current().pid} <= before)


def cartpole() -> Any:
    return gymnasium.make("CartPole-v1")


# ------------------------------------------------------------------------------------- modules --

MODULE = """
import ctypes, os, sys
how = os.environ.get("HOW")
if how == "raise":
    raise ImportError("no licence")
if how == "exit":
    os._exit(7)
if how == "sys.exit":
    sys.exit(9)
if how == "segfault":
    ctypes.string_at(0)
import gymnasium
def make():
    return gymnasium.make("CartPole-v1")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a module and imports it. What another process does to import it depends on HOW."""
    (tmp_path / "of_the_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import of_the_user  # type: ignore[import-not-found]

    yield of_the_user
    del sys.modules["of_the_user"]


@pytest.mark.quick(1)
@methods
def test_workers_get_a_path_that_was_added_at_run_time(module: Any, method: str) -> None:
    with ProcessPool([module.make] * 2, num_workers=2, start_method=method) as pool:
        assert pool.reset(seed=1)[0].shape == (2, 4)


@pytest.mark.slow
@pickling_methods
def test_a_module_that_a_worker_cannot_find_is_named(
    module: Any, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    with pytest.raises(
        WorkerError, match=r"can't start[^$]*No module named 'of_the_user'"
    ) as caught:
        ProcessPool([cartpole, module.make], num_workers=2, start_method=method)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    # a forked worker has the module in memory
    with ProcessPool([module.make], start_method="fork") as pool:
        pool.reset()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "how", "said"),
    [
        ("forkserver", "raise", "can't start[^$]*ImportError: no licence"),
        ("forkserver", "exit", "ended with exit code 7 before"),
        ("forkserver", "sys.exit", "ended with exit code 9 before"),
        ("forkserver", "segfault", "was killed by SIGSEGV before"),
        ("spawn", "raise", "can't start[^$]*ImportError: no licence"),
        ("spawn", "exit", "ended with exit code 7 before"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error(
    module: Any, method: str, how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOW", how)
    with pytest.raises(WorkerError, match=said):
        ProcessPool([cartpole, module.make], num_workers=2, start_method=method)


# ------------------------------------------------------------------------------------- env_fns --


def with_lock(lock: Any) -> Callable[[], Any]:
    return lambda: (lock, cartpole())[1]


@pickling_methods
def test_env_fns_that_cannot_be_pickled_are_refused_with_a_cure(method: str) -> None:
    env_fns = [cartpole, with_lock(threading.Lock())]
    for make in (
        ProcessPool,
        lambda fns, start_method: ProcessVectorEnv(fns, context=start_method),
    ):
        with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock'") as caught:
            make(env_fns, start_method=method)
        assert "the start method 'fork' needs no pickling" in caught.value.__notes__[0]
    with ProcessPool(env_fns, start_method="fork") as pool:
        pool.reset()


class OwnError(Exception):
    """An exception class that Python does not define."""


def fail() -> Any:
    raise OwnError("of my own")


def leave() -> Any:
    os._exit(3)


def abort() -> Any:
    crash(signal.SIGABRT)


def exit_normally() -> Any:
    sys.exit(3)


@pytest.mark.quick(1)
@quick_methods
@pytest.mark.parametrize(
    ("trouble", "kind", "said"),
    [
        (fail, OwnError, "of my own"),
        (leave, WorkerError, "exit code 3 before"),
        (abort, WorkerError, "killed by SIGABRT before"),
        (exit_normally, EnvError, "environment 1 can't be made: SystemExit: 3"),
    ],
)
def test_a_constructor_that_fails_is_an_error(
    method: str, trouble: Callable[[], Any], kind: type[Exception], said: str
) -> None:
    """The other workers have ended after it, see `no_process_is_left`."""
    env_fns = [cartpole, trouble, cartpole]
    with pytest.raises(kind, match=said) as caught:
        ProcessPool(env_fns, num_workers=3, start_method=method)
    if kind is OwnError:
        assert caught.value.__notes__ == ["environment 1 can't be made"]
        assert isinstance(caught.value.__cause__, EnvError)
        assert "raise OwnError" in str(caught.value.__cause__)
    if method == "fork":
        with pytest.raises(kind, match=said):
            ProcessVectorEnv(env_fns, num_workers=3, context=method)


@pytest.mark.parametrize("method", ["x", "thread", "", 3, ["fork"]])
def test_an_unknown_start_method_is_refused(method: Any) -> None:
    said = "choose one of 'forkserver', 'spawn', 'fork'"
    with pytest.raises(ValueError, match=said):
        ProcessPool([cartpole], start_method=method)
    with pytest.raises(ValueError, match=said):
        ProcessVectorEnv([cartpole], context=method)


# ------------------------------------------------------------------------------------- threads --


@pytest.mark.quick(1)
@quick_methods
def test_a_pool_outlives_the_thread_that_made_it(method: str) -> None:
    made: list[ProcessPool] = []

    def work() -> None:
        made.append(ProcessPool([cartpole] * 2, num_workers=2, start_method=method))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with made.pop() as pool:
        pool.reset(seed=1)
        assert pool.step(np.zeros(2, np.int64))[0].shape == (2, 4)


class Nesting(gymnasium.Env[Any, Any]):
    """Steps a pool of its own."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2, 4), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, method: str) -> None:
        self.pool = ProcessPool([cartpole] * 2, num_workers=1, start_method=method)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.pool.reset(seed=seed)[0], {}

    def step(self, action: Any) -> Any:
        return self.pool.step([action] * 2)[0], 1.0, False, False, {}

    def close(self) -> None:
        self.pool.close()


@pytest.mark.slow
@quick_methods
def test_an_environment_may_have_a_pool(method: str) -> None:
    with (
        ProcessPool([lambda: Nesting(method)], start_method=method) as pool,
        ProcessPool([cartpole] * 2, start_method="fork") as inner,
    ):
        assert (pool.reset(seed=3)[0][0] == inner.reset(seed=3)[0]).all()
        assert (pool.step([1])[0][0] == inner.step([1, 1])[0]).all()


# ------------------------------------------------------------------------------------ programs --

# environments (registered or not), spaces, exceptions and infos whose classes a program defines
BODY = """
from dataclasses import dataclass
import contextlib

@dataclass
class Point:
    x: int

class OwnBox(gymnasium.spaces.Box):
    pass

class Own(Env):
    def __init__(self, number=5):
        super().__init__()
        self.number = number

    observation_space = OwnBox(-1, 9, (2,), np.float32)

    def step(self, action):
        if action:
            raise OwnError(Point(7))
        observation, *rest = super().step(action)
        return observation, 1.0, False, False, {"point": Point(self.steps)}

    def give(self, point):
        return Point(point.x + 1)

class OwnError(Exception):
    pass

gymnasium.register("Own-v0", entry_point=Own, kwargs={"number": 6})

def own():
    return Own()

for method in sys.argv[1:]:
    with ProcessPool([own, lambda: Own()], num_workers=2, start_method=method) as pool:
        assert type(pool.single_observation_space) is OwnBox
        pool.reset(seed=1)
        pool.step([0, 0])
        replies = pool.replies().values()
        assert [list(reply.values()) for reply in replies] == [[{"point": Point(1)}]] * 2
        assert pool.call("give", Point(3)) == [Point(4)] * 2
        try:
            pool.step([0, 1])
        except OwnError as error:
            assert error.args == (Point(7),)
        assert pool.apply(lambda env: env.steps) == [2, 1]
    with ProcessPool([lambda: gymnasium.make("Own-v0")], start_method=method) as pool:
        assert pool.get_attr("number") == [6]
        print(method, end=" ")
print("end")
"""


def check(
    command: list[str],
    folder: Path,
    text: str = "",
    methods: Sequence[str] = ("forkserver", "fork"),
    **options: Any,
) -> None:
    env = {"PYTHONWARNINGS": QUIET, **options.pop("env", {})}
    done = Program([*command, *methods], folder, env=env, **options).end(text)
    assert (done.code, done.err, done.out) == (0, "", " ".join([*methods, "end\n"]))


@pytest.mark.slow
def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PRELUDE + BODY)
    check([str(tmp_path / "script.py")], tmp_path, methods=METHODS)


@pytest.mark.slow
def test_a_program_may_come_from_the_command_line(tmp_path: Path) -> None:
    check(["-c", PRELUDE + BODY], tmp_path)


@pytest.mark.slow
def test_a_program_may_come_from_stdin(tmp_path: Path) -> None:
    check(["-"], tmp_path, PRELUDE + BODY)


@pytest.mark.slow
def test_a_program_may_come_from_a_zip_file(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "beside.py").write_text("def make_own(kind):\n    return kind()\n")
    body = BODY.replace("lambda: Own()", "lambda: make_own(Own)")
    (source / "__main__.py").write_text(PRELUDE + "from beside import make_own\n" + body)
    zipapp.create_archive(source, tmp_path / "app.pyz")
    check([str(tmp_path / "app.pyz")], tmp_path)


@pytest.mark.slow
def test_a_program_may_be_a_module_of_a_package(tmp_path: Path) -> None:
    """Its relative imports work in its workers too."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "beside.py").write_text("")
    body = BODY.replace("return Own()", "from . import beside\n    return Own()", 1)
    (package / "program.py").write_text(PRELUDE + body)
    check(["-m", "package.program"], tmp_path, cwd=tmp_path, methods=["spawn", "fork"])


@pytest.mark.slow
def test_a_program_may_be_an_interactive_session(tmp_path: Path) -> None:
    """As in a notebook, `__main__` is not a file, and each cell adds to it."""
    start, loop = BODY.split("for method in")
    cells = [PRELUDE, start, "for method in" + loop]
    script = "".join(f"exec({cell!r})\n" for cell in cells)
    command = ["-i", "-q", "-", "forkserver", "fork"]
    done = Program(command, tmp_path, env={"PYTHONWARNINGS": QUIET}).end(script)
    assert (done.code, done.out) == (0, "forkserver fork end\n"), done.err
    assert done.err.replace(">>> ", "").strip() == ""


@pytest.mark.slow
def test_a_program_may_run_in_a_folder_that_was_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os; os.rmdir(os.getcwd())\n" + PRELUDE + BODY
    check(["-c", script], tmp_path, cwd=gone, methods=["spawn", "fork"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "methods"), [((0, 1, 2), METHODS), ((1,), ("forkserver", "fork"))]
)
def test_a_program_may_have_no_standard_streams(
    tmp_path: Path, closed: tuple[int, ...], methods: Sequence[str]
) -> None:
    """Output of environments must not go to a file of the pool that has the number of stdout."""
    script = f"""
result = os.dup(1)
for fd in {closed}:
    os.close(fd)

class Printing(Env):
    def step(self, action):
        os.write(1, b"x" * 100)
        print("y" * 10000, flush=True)
        return super().step(action)

for method in sys.argv[1:]:
    with ProcessPool([Printing] * 2, num_workers=2, start_method=method) as pool:
        pool.reset(seed=1)
        for i in range(2):
            assert (pool.step([0] * 2)[0] == i + 1).all()
    os.write(result, method.encode() + b" ")
os.write(result, b"end\\n")
"""
    check(["-c", PRELUDE + script], tmp_path, methods=methods)


@pytest.mark.quick(1)
@methods
def test_workers_have_the_parents_variables_path_and_folder(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_USER", method)
    with ProcessPool([cartpole], start_method=method) as pool:
        assert pool.apply(lambda env: os.environ["OF_THE_USER"]) == [method]
        assert pool.apply(lambda env: sys.path) == [sys.path]
        assert pool.apply(lambda env: os.getcwd()) == [os.getcwd()]


FAILING = """
import sys
import gymnasium
from parallel_pool._workers.process_pool import ProcessPool

class Own(gymnasium.Wrapper):
    def step(self, action):
        raise ValueError("no such action")  # here

with ProcessPool([lambda: Own(gymnasium.make("CartPole-v1"))], start_method="forkserver") as pool:
    pool.reset()
    try:
        pool.step([0])
    except Exception as error:
        print(error.__cause__ or error)
"""


@pytest.mark.slow
def test_a_workers_traceback_shows_the_lines_of_the_script(tmp_path: Path) -> None:
    """cloudpickle gives the code of a script no file."""
    script = tmp_path / "script.py"
    script.write_text(FAILING)
    done = Program([str(script)], tmp_path, env={"PYTHONWARNINGS": QUIET}).end()
    assert (done.code, done.err) == (0, "")
    assert f'File "{script}", line 8, in step' in done.out
    assert 'raise ValueError("no such action")  # here' in done.out
