"""Workers are processes of multiprocessing, as those of AsyncVectorEnv and SubprocVecEnv are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv

from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.run import global_generators
from parallel_pool._workers.start import child_process, forkserver
from parallel_pool.errors import SlowWorkerWarning
from tests.faults import asking_envs
from tests.faults.asking_envs import Asking
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for
from tests.support.worker_processes import SPAWN, methods

pytestmark = pytest.mark.usefixtures("alarm")

Questions = Sequence[tuple[Any, ...]]


def of_async(method: str) -> Callable[[Any], Any]:
    return partial(AsyncVectorEnv, context=method)


def of_pool(method: str) -> Callable[[Any], Any]:
    return partial(pool_of, method)


def pool_of(method: str, env_fns: Any) -> Any:
    # one environment for each worker, as in the others
    return ProcessVectorEnv(env_fns, context=method, num_workers=len(env_fns))


def of_subproc(method: str) -> Callable[[Any], Any]:
    return partial(subproc_of, method)


def subproc_of(method: str, env_fns: Any) -> Any:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    return vec_env.SubprocVecEnv(env_fns, start_method=method)


def slow(make: Callable[[str], Any], method: str, name: str) -> Any:
    return pytest.param(make(method), marks=pytest.mark.slow, id=f"{name}-{method}")


# SubprocVecEnv imports torch, with "forkserver" in each worker; "spawn" imports everything there
makers = pytest.mark.parametrize(
    "make",
    [
        pytest.param(of_async("fork"), id="async-fork"),
        pytest.param(of_pool("forkserver"), id="pool-forkserver"),
        pytest.param(of_pool("fork"), id="pool-fork"),
        slow(of_async, "spawn", "async"),
        slow(of_pool, "spawn", "pool"),
        slow(of_subproc, "fork", "subproc"),
    ],
)


def ask(make: Callable[[Any], Any], questions: Questions) -> Any:
    """Asks each environment its question, twice; returns their last answers, a row for each."""
    envs = make([partial(Asking, *question) for question in questions])
    try:
        envs.reset()
        return envs.step(np.zeros(len(questions), np.int64))[0]
    finally:
        envs.close()


# ----------------------------------------------------------------------------- shared objects --


@pytest.mark.slow
@makers
def test_proxies_of_a_manager_read_their_own_values(make: Any) -> None:
    with multiprocessing.Manager() as manager:
        shared = manager.dict({key: key for key in range(3)})
        # connects; a forked worker must not use the same connection
        assert shared[2] == 2
        is_done = threading.Event()
        wrong: list[Any] = []

        def read() -> None:
            while not is_done.is_set():
                wrong.extend(key for key in (shared[2],) if key != 2)

        thread = threading.Thread(target=read)
        thread.start()
        try:
            answers = ask(make, [(asking_envs.read_own, shared, key, 300) for key in range(2)])
        finally:
            is_done.set()
            thread.join()
        assert answers[:, 0].tolist() == [1, 1] and not wrong


@pytest.mark.slow
@methods
def test_shared_objects_are_shared_by_every_start_method(method: str) -> None:
    """With "spawn" the others fail, as cloudpickle does not know how to pickle such objects."""
    context: Any = multiprocessing.get_context(method)
    queue, pipe, event = context.Queue(), context.Pipe(), context.Event()
    value, lock, array = context.Value("i", 3), context.Lock(), context.RawArray("d", 2)
    # starts the queue's thread, which does not run in a forked worker
    queue.put(0)
    event.set()
    uses = [
        (asking_envs.use_queue, queue),
        (asking_envs.use_pipe, pipe),
        (asking_envs.use_value, value),
        (asking_envs.use_array, lock, array),
        (asking_envs.use_event, event),
    ]
    assert ask(of_pool(method), uses)[:, 0].tolist() == [1] * 5
    received = {queue.get(timeout=TEST_TIMEOUT) for _ in range(3)}
    assert len(received) == 2 and 0 in received
    assert pipe[1].poll(TEST_TIMEOUT) and pipe[1].recv() not in received
    assert (value.value, array[0]) == (5, 2)


def test_a_lock_for_forked_processes_needs_fork() -> None:
    """The error names the start method, as with AsyncVectorEnv(context="spawn")."""
    lock: Any = multiprocessing.get_context("fork").Lock()
    uses = [(asking_envs.use_array, lock, [0])]
    with pytest.raises(RuntimeError, match="created in a fork context") as caught:
        ask(of_pool("forkserver"), uses)
    assert "the start method 'fork' needs no pickling" in "".join(caught.value.__notes__)
    assert ask(of_pool("fork"), uses)[:, 0].tolist() == [1]


@pytest.mark.quick(1)
@makers
def test_workers_leave_shared_memory_that_they_attach_to(make: Any) -> None:
    memory = shared_memory.SharedMemory(create=True, size=8)
    try:
        memory.buf[0] = 7
        assert ask(make, [(asking_envs.read_shared_memory, memory.name)])[0, 0] == 7
        # the program's tracker: one of its own would destroy the memory after the worker's end
        number, is_inherited = ask(make, [(asking_envs.tracker_pipe,)])[0, :2]
        assert number == os.fstat(resource_tracker.getfd() or -1).st_ino
        # by programs that the environment starts; those of AsyncVectorEnv do with "spawn"
        assert not is_inherited or make.func is AsyncVectorEnv
    finally:
        memory.close()
        # fails if the memory is gone
        memory.unlink()


@pytest.mark.parametrize("method", ["forkserver", SPAWN])
def test_without_a_resource_tracker_workers_start_their_own(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "tracker_fd", lambda: None)
    number, is_inherited = ask(of_pool(method), [(asking_envs.tracker_pipe,)])[0, :2]
    assert number != os.fstat(resource_tracker.getfd() or -1).st_ino
    assert not is_inherited


# --------------------------------------------------------------------------------- processes --


@pytest.mark.quick(1)
@makers
def test_workers_have_a_number_and_a_parent(make: Any) -> None:
    before: Any = multiprocessing.Process()
    answers = np.concatenate([ask(make, [(asking_envs.number_and_parent,)] * 2) for _ in range(2)])
    numbers = answers[:, 0] - before._identity[-1]
    # SubprocVecEnv and AsyncVectorEnv start other processes meanwhile
    assert sorted(set(numbers)) == numbers.tolist() and numbers[0] >= 1
    assert answers[:, 1:].tolist() == [[1, os.getpid(), 1]] * 4
    after: Any = multiprocessing.Process()
    assert after._identity[-1] > answers[-1, 0]


def test_a_restarted_worker_gets_another_number() -> None:
    fns = [partial(Asking, asking_envs.number_and_parent)]
    with ProcessPool(fns, on_error="restart") as pool:
        first = pool.reset()[0][0, 0]
        pid = pool.worker_pids[0]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        pool.step(np.zeros(1, np.int64))
        assert pool.reset()[0][0, 0] > first


@pytest.mark.slow
@methods
def test_environments_may_start_processes(method: str) -> None:
    """Also those of AsyncVectorEnv with daemon=False. They are numbered from 1."""
    assert ask(of_pool(method), [(asking_envs.start_children,)]).tolist() == [[3, 4, 0, 0]]


@pytest.mark.quick(1)
@makers
def test_sigint_ends_programs_that_environments_start(make: Any) -> None:
    answers = ask(make, [(asking_envs.interrupt_program,)])
    assert answers[0, 0] == -signal.SIGINT


@pytest.mark.sanitizers
@methods
def test_sigint_ends_neither_a_worker_nor_its_forks(method: str) -> None:
    assert ask(of_pool(method), [(asking_envs.interrupt_itself,)]).tolist() == [[1, 7, 0, 0]]


@pytest.mark.quick(1)
@methods
def test_workers_draw_different_numbers(method: str) -> None:
    """From the global generators. Forked workers of the others draw the same from NumPy's."""
    answers = ask(of_pool(method), [(asking_envs.draw,)] * 3)
    assert len(set(answers[:, 0])) == len(set(answers[:, 1])) == 3
    if method == "fork" and "torch" in sys.modules:
        assert len(set(answers[:, 2])) == 3


@pytest.mark.slow
def test_forked_workers_draw_different_numbers_from_torch() -> None:
    pytest.importorskip("torch")
    answers = ask(of_pool("fork"), [(asking_envs.draw,)] * 3)
    assert len(set(answers[:, 2])) == 3


def test_a_program_that_seeds_has_workers_that_draw_the_same_in_each_run() -> None:
    own: Any = np.random

    def drawn(identity: list[int]) -> float:
        own.seed(4)
        global_generators.diverge(identity)
        return float(own.random())

    before = own.get_state()
    assert drawn([1]) == drawn([1]) != drawn([2])
    own.set_state(before)


# ---------------------------------------------------------------------------------- the end --


@pytest.mark.quick(1)
@makers
@pytest.mark.parametrize("is_cyclic", [False, True])
def test_files_that_environments_leave_open_are_written(
    make: Any, is_cyclic: bool, tmp_path: Path
) -> None:
    paths = [str(tmp_path / f"{k}.log") for k in range(2)]
    envs = make([partial(asking_envs.Logging, path, is_cyclic) for path in paths])
    envs.reset()
    for _ in range(3):
        envs.step(np.zeros(2, np.int64))
    envs.close()
    expected = "step\nstep\nstep\nclose\n" + "del\n" * (not is_cyclic)
    if not is_cyclic or isinstance(envs, ProcessVectorEnv):
        # in a cycle, Python may close the file before it calls __del__
        assert [Path(path).read_text()[: len(expected)] for path in paths] == [expected] * 2


OPEN_FILES = """
import atexit, sys, numpy as np
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
from tests.faults.asking_envs import Asking

ours = open(sys.argv[1] + ".program", "w")
ours.write("once\\n")

def keep():
    # what nothing frees before the process ends
    if "log" not in vars(sys):
        sys.log = open(sys.argv[1], "w")
        sys.log.write("kept\\n")
        atexit.register(sys.log.write, "exit\\n")
    return [1]

if __name__ == "__main__":
    envs = ProcessVectorEnv([lambda: Asking(keep)], context=sys.argv[2])
    envs.reset()
    envs.close()
"""


@pytest.mark.slow
@methods
def test_all_open_files_are_written_and_none_of_the_program(method: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_script(tmp_path, OPEN_FILES, str(log), method)
    assert log.read_text() == "kept\nexit\n"
    assert Path(f"{log}.program").read_text() == "once\n"


@pytest.mark.slow
@methods
def test_an_environment_that_hangs_when_it_is_freed_is_killed(method: str) -> None:
    pool = ProcessPool([asking_envs.Hanging], start_method=method)
    pid = int(pool.reset()[0][0, 0])
    with pytest.warns(SlowWorkerWarning, match="still running"):
        pool.close(timeout=1.2)
    wait_for(lambda: has_ended(pid))


# ------------------------------------------------------------------------- the main module --


def run_script(folder: Path, source: str, *arguments: str, code: int = 0) -> str:
    """Runs a script in its folder; returns what it writes to stdout, or to stderr if it fails."""
    (folder / "script.py").write_text(source)
    return run_python(folder, "script.py", *arguments, code=code)


def run_python(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


# defines `vectors`, from the name of what makes them
VECTORS = """
import pickle, sys, gymnasium, numpy as np
from gymnasium.vector import AsyncVectorEnv
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv

def vectors(env_fns):
    kind, method = sys.argv[1:3]
    if kind == "subproc":
        from stable_baselines3.common.vec_env import SubprocVecEnv
        return SubprocVecEnv(env_fns, start_method=method)
    return {"async": AsyncVectorEnv, "pool": ProcessVectorEnv}[kind](env_fns, context=method)

class Level:
    n = 5

class Sub(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([self.n()], np.float32), {}

    def n(self):
        return 3

class Load(Sub):
    def n(self):
        return pickle.load(open("level.pickle", "rb")).n

class Known(Sub):
    def n(self):
        level = pickle.load(open("level.pickle", "rb"))
        # one class, and a copy of it can be sent
        assert isinstance(level, Level), (type(level), Level)
        return type(pickle.loads(pickle.dumps(level))).n

class Main(Sub):
    def n(self):
        import __main__
        assert not hasattr(__main__, "no_such_name")
        return __main__.Level.n

pickle.dump(Level(), open("level.pickle", "wb"))
gymnasium.register("Sub-v0", entry_point="__main__:Sub")
"""

GUARDED = (
    VECTORS
    + """
if __name__ == "__main__":
    for make in (Load, Main, lambda: gymnasium.make("Sub-v0")):
        envs = vectors([make])
        found = envs.reset()
        print(np.ravel(found[0] if isinstance(found, tuple) else found).tolist(), flush=True)
        envs.close()
"""
)

KINDS = pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("pool", "forkserver"),
        pytest.param("pool", "fork", marks=pytest.mark.slow),
        pytest.param("pool", "spawn", marks=pytest.mark.slow),
        pytest.param("async", "spawn", marks=pytest.mark.slow),
        pytest.param("subproc", "fork", marks=pytest.mark.slow),
    ],
)


@pytest.mark.slow
@KINDS
def test_names_of_the_main_module_are_found(kind: str, method: str, tmp_path: Path) -> None:
    """By pickle, by an import of `__main__`, and by an entry point."""
    out = run_script(tmp_path, GUARDED, kind, method)
    assert out == "[5.0]\n[5.0]\n[3.0]\n"


@pytest.mark.slow
@KINDS
def test_names_of_a_module_that_runs_as_a_program_are_found(
    kind: str, method: str, tmp_path: Path
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "program.py").write_text(GUARDED)
    out = run_python(tmp_path, "-m", "package.program", kind, method)
    assert out == "[5.0]\n[5.0]\n[3.0]\n"


WITHOUT_GUARD = (
    VECTORS
    + """
print("run", flush=True)
envs = vectors([MAKE] * 2)
print(envs.reset()[0].ravel().tolist())
envs.close()
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["forkserver", SPAWN])
@pytest.mark.parametrize("make", ["Known", 'lambda: gymnasium.make("Sub-v0")'])
@pytest.mark.parametrize("from_file", [True, False])
def test_a_class_that_an_environment_uses_is_found_without_an_import(
    method: str, from_file: bool, make: str, tmp_path: Path
) -> None:
    """In a script without `if __name__ == "__main__"`, and in a program without a file."""
    source = WITHOUT_GUARD.replace("MAKE", make)
    if from_file:
        out = run_script(tmp_path, source, "pool", method)
    else:
        out = run_python(tmp_path, "-c", source, "pool", method)
    assert out == f"run\n{[5.0 if make == 'Known' else 3.0] * 2}\n"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["forkserver", SPAWN])
def test_a_script_that_needs_a_guard_is_told_so_once(method: str, tmp_path: Path) -> None:
    source = WITHOUT_GUARD.replace("MAKE", "Load")
    text = run_script(tmp_path, source, "pool", method, code=1)
    assert text.splitlines()[-2:] == [  # the last is a note
        "RuntimeError: a worker process looks up 'Level' in the program's main module"
        f" ({tmp_path}/script.py), and the import of that raises RuntimeError: it starts worker"
        ' processes when it is imported: put what starts them under `if __name__ == "__main__":`,'
        ' or choose context="fork"',
        "Python environments: environment 0 (and 1 more) failed",
    ]
    # the other start method needs no guard
    assert run_script(tmp_path, source, "pool", "fork") == "run\n[5.0, 5.0]\n"


@pytest.mark.slow
def test_a_program_without_a_file_is_told_what_to_do(tmp_path: Path) -> None:
    source = WITHOUT_GUARD.replace("MAKE", "Load")
    text = run_python(tmp_path, "-c", source, "pool", "forkserver", code=1)
    assert "Can't get attribute 'Level' on <module '__main__' in a worker process, which" in text
    assert 'put this into a module, or choose context="fork"' in text


CHANGED_FOLDER = """
import os, sys
sys.path.append("more")
from own_envs import Own
from more_envs import More
os.chdir("elsewhere")
from here_envs import Here
from parallel_pool._apis.gymnasium.process_vector_env import ProcessVectorEnv
envs = ProcessVectorEnv([Own, More, Here], context=sys.argv[1], num_workers=1)
print(envs.reset()[0].ravel().tolist())
envs.close()
"""


@pytest.mark.slow
@methods
def test_modules_are_found_after_a_change_of_the_folder(method: str, tmp_path: Path) -> None:
    """Those of the folder in which the program started, and of the folder that it is in now."""
    env = VECTORS[VECTORS.index("class Sub") : VECTORS.index("class Load")]
    for number, place in enumerate(("own_envs", "more/more_envs", "elsewhere/here_envs")):
        path = tmp_path / f"{place}.py"
        path.parent.mkdir(exist_ok=True)
        name = place.rpartition("/")[2].partition("_")[0].title()
        own = env.replace("Sub", name).replace("return 3", f"return {number}")
        path.write_text("import gymnasium, numpy as np\n" + own)
    assert run_python(tmp_path, "-c", CHANGED_FOLDER, method) == "[0.0, 1.0, 2.0]\n"


# ------------------------------------------------------------------------- frozen programs --


@pytest.mark.quick(1)
@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_frozen_program_does_not_start_itself(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forkserver.retire()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(RuntimeError, match=r"sys.frozen is true: .*context=\"fork\""):
        ask(of_pool(method), [(asking_envs.number_and_parent,)])
    assert child_process.tracker_fd() is None
    assert ask(of_pool("fork"), [(asking_envs.number_and_parent,)]).shape == (1, 4)
