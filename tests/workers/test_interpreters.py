"""Workers in another interpreter: the same results, and errors that name it.

Tests with other versions run where make has found them, or where OTHER_PYTHONS names interpreters:
see tests/support/interpreters.py.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

from parallel_pool import ProcessPool
from parallel_pool._workers.start import interpreter
from parallel_pool._workers.start.interpreter import Interpreter
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv
from parallel_pool.errors import WorkerError
from parallel_pool.leases import LeasePool
from tests.support import interpreters
from tests.support.same import assert_same

pytestmark = pytest.mark.usefixtures("alarm")

# a module that the other interpreter imports, too
THERE = '''
import os
import sys

import gymnasium
import numpy as np
from gymnasium import spaces


class There(gymnasium.Env):
    """Draws what it observes, and returns values of many types."""

    action_space = spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, observation_space=None):
        self.observation_space = observation_space or spaces.Dict(
            {"a": spaces.Box(-9, 9, (3,), np.float64), "b": spaces.Discrete(5)}
        )
        self.steps = 0

    def show(self):
        draw = self.np_random
        return {"a": draw.uniform(-1, 1, 3), "b": np.int64(draw.integers(5))}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.show(), {"options": options}

    def step(self, action):
        if action[0] == 1:
            raise ValueError("as asked")
        if action[1] == 1:
            os._exit(3)
        self.steps += 1
        info = {
            "array": self.np_random.uniform(-1, 1, (2, 2)).astype(np.float32),
            "number": np.float64(0.1) * self.steps,
            "half": np.float32(0.5),
            "text": "text",
            "deep": {"x": [np.arange(3), 1.5, np.bool_(True)]},
            "action": action,
        }
        return self.show(), 0.1 * self.steps, self.steps == 7, False, info

    def where(self):
        return sys.executable, list(sys.version_info[:2])


class Spoken(There):
    def __init__(self):
        super().__init__(spaces.Text(20))

    def show(self):
        return f"{self.np_random.integers(10**6)}"


class Several(There):
    def __init__(self):
        parts = spaces.MultiDiscrete([3, 4]), spaces.MultiBinary(3)
        super().__init__(spaces.Tuple(parts))

    def show(self):
        draw = self.np_random
        return draw.integers(0, 3, 2), draw.integers(0, 2, 3).astype(np.int8)


class Agents:
    metadata = {}
    possible_agents = ["a", "b"]

    def observation_space(self, agent):
        return spaces.Box(-1, 1, (2,), np.float64)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def where(self):
        return sys.executable, list(sys.version_info[:2])

    def reset(self, seed=None, options=None):
        self.agents = self.possible_agents[:]
        draw = np.random.default_rng(seed)
        return {agent: draw.uniform(-1, 1, 2) for agent in self.agents}, {"a": {}, "b": {}}

    def step(self, actions):
        raise NotImplementedError

    def close(self):
        pass


def fails():
    raise ValueError("not here")
'''
MAKERS = ("There", "Spoken", "Several")
PYTHONS = [sys.executable, *interpreters.others()]


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module `there`, in the current folder."""
    path = tmp_path / "there.py"
    path.write_text(THERE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("there", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "there", module)
    spec.loader.exec_module(module)
    yield module


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("python", PYTHONS)
def test_results_are_those_of_this_process(python: str, maker: str, there: ModuleType) -> None:
    env = getattr(there, maker)()
    actions = np.random.default_rng(1).uniform(-0.5, 0.5, (6, 2)).astype(np.float32)
    with LeasePool([f"there:{maker}"], python=python) as pool, pool.lease() as lease:
        for seed in (1, 2):
            options = {"x": [1, np.arange(2)]}
            began = env.reset(seed=seed, options=options)
            assert_same(lease.reset(seed=seed, options=options), began, f"reset {seed}")
            for i, action in enumerate(actions):
                assert_same(lease.step(action), env.step(action), f"step {i} of {seed}")
        assert lease.call("where")[0] == python


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_batches_and_attributes(python: str, there: ModuleType) -> None:
    actions = np.zeros((4, 2), np.float32)
    with (
        ProcessPool(["there:There"] * 4, num_workers=2, python=python) as pool,
        ProcessPool([there.There] * 4, num_workers=2) as own,
    ):
        assert pool.single_observation_space == own.single_observation_space
        assert pool.single_action_space == own.single_action_space
        for ours, theirs in [
            (pool.reset(seed=1), own.reset(seed=1)),
            *[(pool.step(actions), own.step(actions)) for _ in range(9)],
        ]:
            assert_same(tuple(ours), tuple(theirs), "batch")
        pool.step(actions), own.step(actions)
        assert_same(pool.replies(), own.replies(), "infos")
        assert [path for path, _ in pool.call("where")] == [python] * 4
        assert pool.get_attr("steps") == own.get_attr("steps")


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_failures_name_the_interpreter(python: str, there: ModuleType) -> None:
    with LeasePool(["there:There"], python=python) as pool, pool.lease() as lease:
        for _ in range(2):
            lease.reset(seed=1)
            with pytest.raises(ValueError, match="as asked") as caught:
                lease.step(np.array([1, 0], np.float32))
            assert f"failed in {python}, Python 3." in str(caught.value.__cause__)
            lease.reset(seed=1)
            with pytest.raises(WorkerError, match="exit code 3") as died:
                lease.step(np.array([0, 1], np.float32))
            assert f"failed in {python}, Python 3." in str(died.value)
    with pytest.raises(ValueError, match="not here") as made:
        ProcessPool(["there:fails"], python=python)
    assert f"can't be made in {python}" in made.value.__notes__[0]
    with pytest.raises(ModuleNotFoundError, match="gone"):
        ProcessPool(["gone:make"], python=python)


@pytest.mark.slow
def test_each_environment_may_have_its_own(there: ModuleType) -> None:
    fns = ["there:There"] * 3
    with ProcessPool(fns, num_workers=3, python=[None, sys.executable, None]) as pool:
        pool.reset(seed=1)
        assert [path for path, _ in pool.call("where")] == [sys.executable] * 3
    with pytest.raises(ValueError, match="environments 1 and 2 share a worker process"):
        ProcessPool(fns, num_workers=2, python=[None, sys.executable, None])
    with pytest.raises(ValueError, match="2 paths of python for 3 environments"):
        ProcessPool(fns, num_workers=3, python=[None, None])


@pytest.mark.slow
def test_names_stand_for_functions_without_another_interpreter(there: ModuleType) -> None:
    with ProcessPool(["there:Several"], num_workers=1, start_method="spawn") as pool:
        pool.reset(seed=1)
    with pytest.raises(TypeError, match="give functions"):
        ProcessPool(["CartPole-v1"])


@pytest.mark.slow
def test_the_same_version_is_given_functions_by_value(there: ModuleType) -> None:
    with ProcessPool([lambda: there.There()], num_workers=1, python=sys.executable) as pool:
        pool.reset(seed=1)


def test_another_version_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interpreter, "shares_code", False)
    with pytest.raises(TypeError, match="can't be given functions by value"):
        ProcessPool([lambda: None], python=sys.executable)


# ------------------------------------------------------------------------ wrong interpreters --


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Makes a program that stands for an interpreter."""

    def make(text: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo '[\"cpython\", [3, 8, 9], []]'", r"Python 3\.8\.9 \(cpython\): workers need"),
        ("echo '[\"pypy\", [3, 12, 0], []]'", r"\(pypy\): workers need CPython"),
        (
            'echo \'["cpython", [3, 12, 0], ["numpy", "cffi"]]\'',
            r"lacks numpy, cffi: .*python -m pip install numpy cffi",
        ),
        ("echo 'no such module' >&2; exit 1", "is no Python interpreter: it printed .*no such"),
        pytest.param("sleep 100", r"did not answer within 1 s", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_interpreter_for_workers(
    text: str, message: str, script: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if text.startswith("sleep"):
        monkeypatch.setattr(interpreter, "TIMEOUT", 1.0)
    with pytest.raises(ValueError, match=message):
        ProcessPool(["there:There"], python=script(text))


def test_what_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't be run: No such file"):
        ProcessPool(["there:There"], python=tmp_path / "gone")
    with pytest.raises(ValueError, match="can't be run: Permission denied"):
        ProcessPool(["there:There"], python=tmp_path)
    wrong: Any = 3
    with pytest.raises(TypeError, match="python=3 is an int"):
        ProcessPool(["there:There"], python=wrong)
    with pytest.raises(ValueError, match=r"python=.*is for worker processes"):
        ProcessPool(["there:There"], num_workers=0, python=sys.executable)
    with pytest.raises(TypeError, match=r"python=.* is for functions"):
        LeasePool("CartPole-v1", python=sys.executable)


def test_an_interpreter_that_ends_before_it_starts_workers(script: Callable[[str], str]) -> None:
    answer = "echo '[\"cpython\", [3, 12, 0], []]'"
    path = script(f'case "$2" in *find_spec*) {answer};; *) exit 7;; esac')
    with pytest.raises(
        WorkerError, match=r"exit code 7 before environment 0 in .*python"
    ) as caught:
        ProcessPool(["there:There"], python=path)
    assert os.path.basename(path) in str(caught.value)


@pytest.mark.slow
def test_what_workers_import_is_python_3_9(tmp_path: Path) -> None:
    """The oldest Python that runs workers; what it lacks besides, only that Python shows."""
    script = (
        "import sys, parallel_pool._workers.run.worker, parallel_pool._workers.start.bootstrap\n"
        "print(*[m.__spec__.origin for n, m in sys.modules.items() if n.startswith('parallel_pool')"
        " and getattr(m, '__spec__', None)], sep='\\n')"
    )
    # in the current folder, where a test of a wheel has the wheel's package
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    files = [Path(line) for line in done.stdout.split() if line.endswith(".py")]
    assert len(files) > 30
    for file in files:
        text = file.read_text()
        tree = ast.parse(text, feature_version=(3, 9))
        calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if "zip" in calls and file.name != "strict_zip.py":
            assert "import zip\n" in text, f"{file}: Python 3.9's zip has no strict"
        assert "from typing import TypeAlias" not in text.partition("if TYPE_CHECKING:")[0], file


# -------------------------------------------------------------------------- the public classes --


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_vector_environments_run_in_other_interpreters(python: str, there: ModuleType) -> None:
    names, actions = ["there:There"] * 2, np.zeros((2, 2), np.float32)
    with_functions = PoolVectorEnv([there.There] * 2, num_workers=1)
    envs = PoolVectorEnv(names, num_workers=1, python=python)
    assert_same(envs.reset(seed=1), with_functions.reset(seed=1), "reset")
    for i in range(9):
        assert_same(envs.step(actions), with_functions.step(actions), f"step {i}")
    assert [path for path, _ in envs.call("where")] == [python] * 2
    envs.close(), with_functions.close()


@pytest.mark.slow
def test_make_vec_passes_the_interpreter_on(there: ModuleType) -> None:
    gymnasium.register("There-v0", "there:There")
    try:
        envs = gymnasium.make_vec(
            "There-v0",
            1,
            vectorization_mode="parallel_pool",
            vector_kwargs={"python": sys.executable, "num_workers": 1},
        )
        assert envs.call("where")[0][0] == sys.executable
        envs.close()
    finally:
        del gymnasium.registry["There-v0"]


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_stable_baselines_runs_in_other_interpreters(python: str, there: ModuleType) -> None:
    pytest.importorskip("stable_baselines3")
    from parallel_pool.compat.sb3 import PoolVecEnv

    actions = np.zeros((2, 2), np.float32)
    own = PoolVecEnv([there.There] * 2, num_workers=1, seed=3)
    envs = PoolVecEnv(["there:There"] * 2, num_workers=1, seed=3, python=[python] * 2)
    assert_same(envs.reset(), own.reset(), "reset")
    for i in range(9):
        assert_same(envs.step(actions), own.step(actions), f"step {i}")
    assert [path for path, _ in envs.env_method("where")] == [python] * 2
    envs.close(), own.close()


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [None, 1])
def test_agents_run_in_other_interpreters(batch_size: int | None, there: ModuleType) -> None:
    python = sys.executable
    pytest.importorskip("pettingzoo")
    arguments: dict[str, Any] = {"num_workers": 1, "batch_size": batch_size}
    own = PoolParallelEnv([there.Agents] * 2, **arguments)
    envs = PoolParallelEnv(["there:Agents"] * 2, python=python, **arguments)
    assert envs.possible_agents == own.possible_agents == ["a", "b"]
    if batch_size is None:
        assert_same(tuple(envs.reset(seed=1)), tuple(own.reset(seed=1)), "reset")
    assert [path for path, _ in envs.pool.call("where")] == [python] * 2
    envs.close(), own.close()
