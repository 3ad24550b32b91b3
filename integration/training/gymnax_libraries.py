"""Trains with the programs of rejax and PureJaxRL, as published, on environments in gymnax's form.

    python -m integration.training.gymnax_libraries rejax.ppo rejax.sac:Pendulum-v1
    python -m integration.training.gymnax_libraries purejaxrl.ppo
    python -m integration.training.gymnax_libraries purejaxrl.ppo_continuous_action:HalfCheetah-v5

`make .venv/rejax-0.1.3` installs rejax, gymnax 0.0.9 and what both import. PureJaxRL is no package:
`git clone https://github.com/luchris429/purejaxrl .venv/purejaxrl`. No line of either is changed.
rejax takes an environment as an argument. PureJaxRL's programs call `gymnax.make`, or the class
`BraxGymnaxWrapper` of their module wrappers; these two names get other values before a program is
loaded, and its own settings are those that it has when it runs as a script. `--library gymnax`
trains on gymnax's own environments.

It prints the mean return of each evaluation, the first one before training (rejax), or of each
tenth of the episodes (PureJaxRL).
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

# beside the packages of this Python, which come first
sys.path.append(str(Path(sys.prefix) / "rejax-0.1.3"))

import gymnax

PUREJAXRL = Path(sys.prefix) / "purejaxrl"
# settings of rejax's algorithms; the others have rejax's own values
REJAX: dict[str, dict[str, Any]] = {
    "ppo": {
        "num_envs": 8,
        "num_minibatches": 4,
        "num_epochs": 4,
        "learning_rate": 5e-4,
        "max_grad_norm": 0.5,
        "agent_kwargs": {"activation": "tanh"},
        "eval_freq": 16384,
    },
    "dqn": {
        "num_envs": 8,
        "num_epochs": 4,
        "learning_rate": 1e-3,
        "buffer_size": 8192,
        "eval_freq": 16384,
    },
}
# what PureJaxRL's module wrappers imports, for environments that no program has here
UNUSED = {
    "brax": ["envs"],
    "brax.envs.wrappers.training": ["EpisodeWrapper", "AutoResetWrapper"],
    "navix": [],
}

Make = Callable[[str], tuple[Any, Any]]


def ours(task_id: str) -> tuple[Any, Any]:
    """Returns a native environment in gymnax's form and its parameters."""
    from parallel_pool.compat.jax import make_gymnax

    return make_gymnax(task_id)


MAKERS: dict[str, Make] = {"parallel_pool": ours, "gymnax": gymnax.make}


# --------------------------------------------------------------------------------------- rejax --


def train_rejax(name: str, made: tuple[Any, Any], seed: int = 0, **settings: Any) -> list[float]:
    """Trains by an algorithm of rejax.

    Args:
        name: as `rejax.get_algo` takes it.
        made: an environment and its parameters.
        seed: of the training.
        settings: of the algorithm.

    Returns:
        The mean return of each evaluation.
    """
    import rejax

    env, params = made
    algorithm = rejax.get_algo(name).create(env=env, env_params=params, **settings)
    _, (_, returns) = jax.jit(algorithm.train)(jax.random.PRNGKey(seed))
    return np.asarray(returns).mean(axis=1).tolist()


# ----------------------------------------------------------------------------------- PureJaxRL --


def _fill_gaps() -> None:
    """Adds modules without content for packages that PureJaxRL imports in vain."""
    for name, needed in UNUSED.items():
        for end in range(1, name.count(".") + 2):
            part = ".".join(name.split(".")[:end])
            if part not in sys.modules:
                sys.modules[part] = ModuleType(part)
        for each in needed:
            setattr(sys.modules[name], each, None)


def _load(path: Path) -> ModuleType:
    """Returns a file as a module, with the name of the file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _own_settings(path: Path) -> dict[str, Any]:
    """Returns the dict that a program calls config, where it is run as a script."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Assign(targets=[ast.Name("config")], value=ast.Dict() as value):
                return dict(ast.literal_eval(value))
    raise ValueError(f"{path} has no settings")


def train_purejaxrl(
    name: str, folder: Path, make: Make, seed: int = 0, **settings: Any
) -> list[float]:
    """Trains by a program of PureJaxRL, with its own settings.

    Args:
        name: of its file, without the ending.
        folder: a clone of its repository.
        make: returns an environment and its parameters.
        seed: of the training.
        settings: in place of the program's own.

    Returns:
        The mean return of each tenth of the episodes.
    """
    _fill_gaps()
    path = folder / "purejaxrl" / f"{name}.py"
    wrappers = _load(path.with_name("wrappers.py"))
    gymnax.make = make
    wrappers.BraxGymnaxWrapper = lambda task_id: make(task_id)[0]  # type: ignore[attr-defined]
    config = _own_settings(path) | {"DEBUG": False} | settings
    out = jax.jit(_load(path).make_train(config))(jax.random.PRNGKey(seed))
    metrics = out["metrics"]
    ended = np.asarray(metrics["returned_episode"])
    returns = np.asarray(metrics["returned_episode_returns"])[ended]
    return [float(part.mean()) for part in np.array_split(returns, 10)]


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", metavar="LIBRARY.PROGRAM[:ENV]")
    parser.add_argument("--library", choices=MAKERS, default="parallel_pool")
    parser.add_argument("--purejaxrl", type=Path, metavar="FOLDER", default=PUREJAXRL)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--settings", type=json.loads, default={}, metavar="JSON", help="in place of others"
    )
    options = parser.parse_args()
    make = MAKERS[options.library]
    for words in options.programs:
        program, _, task_id = words.partition(":")
        library, _, name = program.partition(".")
        if library == "rejax":
            settings = REJAX.get(name, {}) | options.settings
            made = make(task_id or "CartPole-v1")
            returns = train_rejax(name, made, options.seed, **settings)
        else:
            settings = {"ENV_NAME": task_id} if task_id else {}
            settings |= options.settings
            returns = train_purejaxrl(name, options.purejaxrl, make, options.seed, **settings)
        print(f"{words} on {options.library}:", *(f"{each:.1f}" for each in returns), flush=True)


if __name__ == "__main__":
    main()
