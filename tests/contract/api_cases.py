"""Every API on small environments, for contract tests: a new API is one line in `CASES`.

A module of `kinds/` says how the APIs of one family are called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tests.contract.episodes import (
    SAME_STEP,
    AloneAtari,
    AloneGymnasium,
    AloneParallel,
    Envs,
)
from tests.contract.kinds.envpool import OfDMEnvPool, OfEnvPool
from tests.contract.kinds.kind import VECTOR_MODES, Kind
from tests.contract.kinds.parallel import AsyncParallel, Parallel
from tests.contract.kinds.pool import OfPool
from tests.contract.kinds.recorded_agents import RecordedAgents
from tests.contract.kinds.single import DM, OF_ONE, Game, Rounds, Single, Turns
from tests.contract.kinds.vec_env import OfVecEnv
from tests.contract.kinds.vector import (
    AsyncCallsKind,
    OfAsyncAtari,
    OfAtari,
    Statistics,
    Tensors,
    Vector,
    Wrapped,
)
from tests.contract.small_envs import Gate, Talkers, Walker, talkers, walkers


@dataclass(frozen=True)
class Case:
    """One API.

    Attributes:
        name: for reports.
        kind: how it is called.
        envs: its environments.
        make: of a gate and options of a mode; makes it. Native environments ignore the gate.
        is_compiled: whether `make` calls a C compiler.
    """

    name: str
    kind: Kind
    envs: Envs
    make: Callable[..., Any]
    is_compiled: bool = False

    @property
    def is_python(self) -> bool:
        """Whether its environments wait at the gate."""
        return self.envs.is_python

    @property
    def takes_threads(self) -> bool:
        """Whether `make` takes num_threads."""
        return not self.is_python and not isinstance(self.kind, OF_ONE)


def of_each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Gives a test the cases as its argument `case`; those that are compiled are slow."""
    parameters = [
        pytest.param(case, marks=[pytest.mark.slow] if case.is_compiled else []) for case in cases
    ]
    return pytest.mark.parametrize("case", parameters, ids=lambda case: case.name)


SPREAD, RPS, FOUR = "mpe/simple_spread_v3", "classic/rps_v2", "classic/connect_four_v3"
# steps of an episode, in which some CartPoles fall and others do not
CARTPOLE_STEPS, SPREAD_STEPS, PONG_FRAMES = 12, 4, 20
# of the only CartPole of a case
ONE_CARTPOLE_STEPS = 10


def _alone_spread() -> AloneParallel:
    from mpe2 import simple_spread_v3

    return AloneParallel(simple_spread_v3.parallel_env(max_cycles=SPREAD_STEPS))


def _cartpoles(steps: int) -> Envs:
    return Envs(lambda: AloneGymnasium(gymnasium.make("CartPole-v1", max_episode_steps=steps)))


CARTPOLES, ONE_CARTPOLE = _cartpoles(CARTPOLE_STEPS), _cartpoles(ONE_CARTPOLE_STEPS)
SLIDERS = Envs(lambda: AloneGymnasium(_slider()), is_python=True)
WALKERS = Envs(lambda: AloneGymnasium(Walker()), is_python=True)
SPREADS = Envs(_alone_spread, are_only_truncated=True)
TALKERS = Envs(lambda: AloneParallel(Talkers(None)), is_python=True)
PONGS = Envs(lambda: AloneAtari(_atari(1)), are_only_truncated=True)
# of APIs of one environment, which begin no episode by themselves
ONE = CARTPOLES


def _pool(*args: Any, **kwargs: Any) -> Any:
    from parallel_pool import Pool

    return Pool("CartPole-v1", *args, max_episode_steps=CARTPOLE_STEPS, **kwargs)


def _process_pool(gate: Gate, num_envs: int = 3, **kwargs: Any) -> Any:
    from parallel_pool._workers.process_pool import ProcessPool

    if kwargs.get("num_workers"):
        kwargs["start_method"] = "forkserver"
    return ProcessPool([partial(Walker, gate)] * num_envs, **kwargs)


def _vector(env: Any, *args: Any, **kwargs: Any) -> Any:
    from parallel_pool import PoolVectorEnv

    if kwargs.get("num_workers"):
        kwargs["context"] = "forkserver"
    if isinstance(env, str):
        kwargs["max_episode_steps"] = CARTPOLE_STEPS
    return PoolVectorEnv(env, *args, **kwargs)


def _mixture() -> str:
    from parallel_pool import mixed

    return mixed("Contract-v0", dict.fromkeys(("a", "b", "c"), "CartPole-v1")).id


def _make_vec(**kwargs: Any) -> Any:
    return gymnasium.make_vec(
        "CartPole-v1",
        3,
        vectorization_mode="parallel_pool",
        vector_kwargs=kwargs,
        max_episode_steps=CARTPOLE_STEPS,
    )


def _envpool(kind: str, **kwargs: Any) -> Any:
    import parallel_pool

    make = getattr(parallel_pool, f"make_{kind}")
    if kwargs.get("batched", True):
        kwargs = {"num_envs": 3, "max_episode_steps": CARTPOLE_STEPS, **kwargs}
    return make("CartPole-v1", **{"num_threads": 1, **kwargs})


def _vec_env(env: Any, *args: Any, **kwargs: Any) -> Any:
    from parallel_pool import PoolVecEnv

    if kwargs.get("num_workers"):
        kwargs["start_method"] = "forkserver"
    if isinstance(env, str):
        kwargs["max_episode_steps"] = CARTPOLE_STEPS
    return PoolVecEnv(env, *args, **kwargs)


def _parallel(env: Any, *args: Any, **kwargs: Any) -> Any:
    from parallel_pool import PoolParallelEnv

    if kwargs.get("num_workers"):
        kwargs["context"] = "forkserver"
    if isinstance(env, str):
        kwargs["max_cycles"] = SPREAD_STEPS
    return PoolParallelEnv(env, *args, **kwargs)


def _agent_vec_env(*args: Any, **kwargs: Any) -> Any:
    from parallel_pool.compat.sb3 import AgentVecEnv

    return AgentVecEnv(*args, max_cycles=SPREAD_STEPS, **kwargs)


def _atari(num_envs: int = 3, **kwargs: Any) -> Any:
    from parallel_pool.compat.ale import AtariVectorEnv

    limits = {"noop_max": 1, "max_num_frames_per_episode": PONG_FRAMES}
    return AtariVectorEnv("pong", num_envs, **{"num_threads": 1, **limits, **kwargs})


def _slider() -> Any:
    from tests.contract.sliders import Slider

    return Slider()


def _batch(kind: str, gate: Gate, **kwargs: Any) -> Any:
    import parallel_pool.mujoco_batch as batches
    from tests.contract.sliders import Sliders

    return getattr(batches, kind)(Sliders(gate), 3, num_threads=1, **kwargs)


def _with_statistics(**kwargs: Any) -> Any:
    from parallel_pool.compat.gymnasium import RecordTaskStatistics

    return RecordTaskStatistics(_vector(_mixture(), 3, **kwargs))


def _recorded(collector: str, envs: Any, folder: Path) -> Any:
    """Returns environments that are recorded to one more dataset in a folder."""
    pytest.importorskip("minari")
    import parallel_pool.compat.minari as collectors

    # that of an agent's dataset is contract/agent-v0
    name = f"contract-v{len(list(folder.rglob('*-v*')))}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder))
        return getattr(collectors, collector)(envs, name)


def _game(api: str, task_id: str) -> Any:
    import parallel_pool.compat.pettingzoo as games

    return getattr(games, api)(task_id)


def _translated_game(api: str) -> Any:
    import parallel_pool

    commons = importlib.import_module("tests.translator.teams.commons")
    # again where a module's tests have ended since then, as they remove the id; that is cheap
    (task_id,) = parallel_pool.compile(commons.Commons)
    return _game(api, task_id)


CASES = [
    Case("Pool", OfPool(), CARTPOLES, lambda g, **o: _pool(3, **o)),
    Case(
        "Pool, async",
        OfPool((1, 0, 1, 0)),
        CARTPOLES,
        lambda g, **o: _pool(4, batch_size=2, **{"num_threads": 1, **o}),
    ),
    Case("ProcessPool", OfPool(), WALKERS, lambda g, **o: _process_pool(g, num_workers=2, **o)),
    Case(
        "ProcessPool, async",
        OfPool((1, 0, 1, 0)),
        WALKERS,
        lambda g, **o: _process_pool(g, 4, batch_size=2, num_workers=1, **o),
    ),
    Case(
        "ProcessPool, here", OfPool(), WALKERS, lambda g, **o: _process_pool(g, num_workers=0, **o)
    ),
    Case(
        "PoolVectorEnv", AsyncCallsKind(), CARTPOLES, lambda g, **o: _vector("CartPole-v1", 3, **o)
    ),
    Case(
        "PoolVectorEnv with infos",
        AsyncCallsKind(),
        CARTPOLES,
        lambda g, **o: _vector("CartPole-v1", 3, **{**VECTOR_MODES[SAME_STEP], **o}),
    ),
    Case(
        "ProcessVectorEnv",
        AsyncCallsKind(),
        WALKERS,
        lambda g, **o: _vector(walkers(g), num_workers=2, **o),
    ),
    Case(
        "ProcessVectorEnv, here",
        AsyncCallsKind(),
        WALKERS,
        lambda g, **o: _vector(walkers(g), num_workers=0, **o),
    ),
    Case(
        "BatchVectorEnv",
        AsyncCallsKind(),
        SLIDERS,
        lambda g, **o: _batch("BatchVectorEnv", g, **o),
    ),
    Case(
        "PoolVectorEnv of a mixture",
        AsyncCallsKind(),
        CARTPOLES,
        lambda g, **o: _vector(_mixture(), 3, **o),
    ),
    Case("gymnasium.make_vec", AsyncCallsKind(), CARTPOLES, lambda g, **o: _make_vec(**o)),
    Case("make_gym", OfEnvPool(), CARTPOLES, lambda g, **o: _envpool("gym", **o)),
    Case(
        "make_gym, async",
        OfEnvPool((1, 0, 1, 0)),
        CARTPOLES,
        lambda g, **o: _envpool("gym", num_envs=4, batch_size=2, **o),
    ),
    Case("make_gymnasium", OfEnvPool(), CARTPOLES, lambda g, **o: _envpool("gymnasium", **o)),
    Case(
        "make_gymnasium, async",
        OfEnvPool((1, 0, 1, 0)),
        CARTPOLES,
        lambda g, **o: _envpool("gymnasium", num_envs=4, batch_size=2, **o),
    ),
    Case("make_dm", OfDMEnvPool(), CARTPOLES, lambda g, **o: _envpool("dm", **o)),
    Case(
        "make_dm, async",
        OfDMEnvPool((1, 0, 1, 0)),
        CARTPOLES,
        lambda g, **o: _envpool("dm", num_envs=4, batch_size=2, **o),
    ),
    Case("PoolVecEnv", OfVecEnv(), CARTPOLES, lambda g, **o: _vec_env("CartPole-v1", 3, **o)),
    Case(
        "PoolVecEnv, workers",
        OfVecEnv(),
        WALKERS,
        lambda g, **o: _vec_env(walkers(g), num_workers=2, **o),
    ),
    Case(
        "PoolVecEnv, here",
        OfVecEnv(),
        WALKERS,
        lambda g, **o: _vec_env(walkers(g), num_workers=0, **o),
    ),
    Case("BatchVecEnv", OfVecEnv(), SLIDERS, lambda g, **o: _batch("BatchVecEnv", g, **o)),
    Case("PoolParallelEnv", Parallel(), SPREADS, lambda g, **o: _parallel(SPREAD, 3, **o)),
    Case(
        "PoolParallelEnv, workers",
        Parallel(),
        TALKERS,
        lambda g, **o: _parallel(talkers(g), num_workers=2, **o),
    ),
    Case(
        "PoolParallelEnv, here",
        Parallel(),
        TALKERS,
        lambda g, **o: _parallel(talkers(g), num_workers=0, **o),
    ),
    Case(
        "PoolParallelEnv, async",
        AsyncParallel(),
        SPREADS,
        lambda g, **o: _parallel(SPREAD, 4, batch_size=2, **{"num_threads": 1, **o}),
    ),
    Case(
        "PoolParallelEnv, async worker",
        AsyncParallel(),
        TALKERS,
        lambda g, **o: _parallel(talkers(g, 4), batch_size=2, num_workers=1, **o),
    ),
    Case(
        "AgentVectorEnv",
        Vector([1] * 2, agents=3),
        SPREADS,
        lambda g, **o: _parallel(SPREAD, 2, **o).as_vector_env(),
    ),
    Case(
        "AgentVectorEnv, here",
        Vector([1] * 3, agents=2),
        TALKERS,
        lambda g, **o: _parallel(talkers(g), num_workers=0, **o).as_vector_env(),
    ),
    Case(
        "AgentVecEnv",
        OfVecEnv([1] * 2, agents=3),
        SPREADS,
        lambda g, **o: _agent_vec_env(SPREAD, 2, **o),
    ),
    Case("AtariVectorEnv", OfAtari(), PONGS, lambda g, **o: _atari(**o)),
    Case(
        "AtariVectorEnv, async",
        OfAsyncAtari((1, 0)),
        PONGS,
        lambda g, **o: _atari(batch_size=2, **o),
    ),
    Case("gymnasium.make", Single(), ONE, lambda g: gymnasium.make("parallel_pool/CartPole-v1")),
    Case("parallel_env", Game(), ONE, lambda g: _game("parallel_env", SPREAD)),
    Case("parallel_env of a game in rounds", Game(), ONE, lambda g: _game("parallel_env", RPS)),
    Case("parallel_env of Atari", Game(), ONE, lambda g: _game("parallel_env", "atari/pong_v3")),
    Case("env", Turns(), ONE, lambda g: _game("env", SPREAD)),
    Case("env of a game in rounds", Turns(), ONE, lambda g: _game("env", RPS)),
    Case("env of a game in turns", Turns(), ONE, lambda g: _game("env", FOUR)),
    Case(
        "env of Atari",
        Rounds(judges_actions=True),
        ONE,
        lambda g: _game("env", "atari/pong_v3"),
    ),
    Case(
        "parallel_env of a translated class",
        Game(),
        ONE,
        lambda g: _translated_game("parallel_env"),
        is_compiled=True,
    ),
    Case(
        "env of a translated class",
        Rounds(judges_actions=False),
        ONE,
        lambda g: _translated_game("env"),
        is_compiled=True,
    ),
    Case(
        "make_dm(batched=False)",
        DM(),
        ONE_CARTPOLE,
        lambda g: _envpool("dm", num_envs=1, batched=False, max_episode_steps=ONE_CARTPOLE_STEPS),
    ),
    Case("RecordTaskStatistics", Statistics(), CARTPOLES, lambda g, **o: _with_statistics(**o)),
    Case(
        "VectorDataCollector",
        Wrapped(),
        CARTPOLES,
        lambda g, **o: _recorded("VectorDataCollector", _vector("CartPole-v1", 3, **o), g.folder),
    ),
    Case(
        "VecEnvDataCollector",
        OfVecEnv(),
        CARTPOLES,
        lambda g, **o: _recorded("VecEnvDataCollector", _vec_env("CartPole-v1", 3, **o), g.folder),
    ),
    Case(
        "EnvPoolDataCollector",
        OfEnvPool(),
        CARTPOLES,
        lambda g, **o: _recorded("EnvPoolDataCollector", _envpool("gymnasium", **o), g.folder),
    ),
    Case(
        "AgentDataCollector",
        RecordedAgents(),
        SPREADS,
        lambda g, **o: _recorded("AgentDataCollector", _parallel(SPREAD, 3, **o), g.folder),
    ),
    Case("TorchEnv", Tensors(), CARTPOLES, lambda g, **o: _vector("CartPole-v1", 3, **o).torch()),
]
