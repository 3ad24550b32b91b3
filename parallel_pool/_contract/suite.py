"""Suite: the checks in order, each with a name, for pytest and for the command `check`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parallel_pool._contract import forged, guards, gymnasium_env, rules, speed
from parallel_pool._contract.check_names import FORGED, STOPPING
from parallel_pool._contract.play import Run
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

MODES = ("next_step", "same_step", "disabled")
# seconds of a step from which on a check takes few steps
EXPENSIVE_SECONDS = 1e-4


@public("testing")
@dataclass(frozen=True)
class Check:
    """One rule of the contract.

    Attributes:
        name: what holds if the check passes.
        run: takes an id or a definition and the keyword options, few and settings; for Python
            environments the function that makes one.

    Example:
        >>> for check in parallel_pool.testing.NATIVE_CHECKS[:3]:
        ...     check("CartPole-v1")
    """

    name: str
    run: Callable[..., Any]

    def __str__(self) -> str:
        return self.name

    def __call__(self, env: Any, *, options: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Checks an environment.

        Args:
            env: as for `parallel_pool.testing.check`.
            options: of the environment.

        Raises:
            ContractError: it breaks the rule.
        """
        if options:
            more["options"] = dict(options)
        self.run(env, **more)


def _in_modes(function: Callable[..., Any], modes: tuple[str, ...]) -> Callable[..., Any]:
    def run(env: Any, **settings: Any) -> None:
        for mode in modes:
            function(env, autoreset=mode, **settings)

    return run


def _defined_bytes(env: Any, **settings: Any) -> None:
    for some in (False, True):
        rules.defined_bytes(env, some=some, **settings)


def _runs(env: Any, **settings: Any) -> None:
    definition = registry.find(env) if isinstance(env, str) else env
    if definition.raw.step_many:
        _in_modes(rules.runs, MODES)(env, **settings)


def _limits(env: Any, **settings: Any) -> None:
    rules.ended_episodes(env, **settings)
    rules.time_limit(env, **settings)
    rules.default_limit(env, **settings)


NATIVE_CHECKS: tuple[Check, ...] = (
    Check(STOPPING, guards.writes),
    Check("spaces hold every observation", _in_modes(rules.spaces, MODES)),
    Check("rewards are numbers", rules.rewards),
    Check("rows show nothing of what their memory held", _defined_bytes),
    Check("step_many returns what step returns", guards.step_many),
    Check("step_many changes nothing of ended episodes", _runs),
    Check("steps and resets are short where step_many is", speed.for_runs),
    Check("the same seed gives the same results", rules.seeds),
    Check("observe changes nothing", guards.observe),
    Check("neighbours change nothing", rules.neighbours),
    Check("the number of threads changes nothing", _in_modes(rules.threads, MODES)),
    Check("the first to finish differ in order only", _in_modes(rules.asynchronous, MODES[:2])),
    Check("autoreset begins the same episodes in every mode", rules.autoreset),
    Check("time limits end episodes", _limits),
    Check("snapshots restore an environment", _in_modes(rules.snapshots, MODES)),
    Check("close ends all calls", rules.close),
    # the last: it may end the process
    Check(FORGED, forged.snapshots),
)
"""The checks for a native environment; each takes its id."""

PYTHON_CHECKS: tuple[Check, ...] = (
    Check("reset and step return what Gymnasium's API says", gymnasium_env.api),
    Check("spaces hold every observation", gymnasium_env.spaces),
    Check("the same seed gives the same results", gymnasium_env.seeds),
    Check("neighbours change nothing", gymnasium_env.neighbours),
    Check("worker processes return what a loop returns", gymnasium_env.workers),
)
"""The checks for a Python environment; each takes a function that makes it."""


def is_expensive(env: str | Definition, **settings: Any) -> bool:
    """Returns whether steps are so expensive that checks should take few of them."""
    import time

    run = Run(env, 1, num_threads=1, **settings)
    run.play(2)
    begun = time.perf_counter()
    run.play(5)
    return (time.perf_counter() - begun) / 5 > EXPENSIVE_SECONDS + 3e-4


def check(env: Any, *, options: Mapping[str, Any] | None = None) -> None:
    """Runs all checks of an environment in this process.

    `python -m parallel_pool check` runs them in a process of their own, where a crash or an endless
    step ends in a sentence, and with sanitizers.

    Args:
        env: an id (such as `load_source` returned), a definition, or a function that makes a
            `gymnasium.Env`.
        options: of the environment.

    Raises:
        ContractError: a rule is broken; the message begins with the rule.
        ValueError: there is no such id.
        TypeError: env is something else.

    Example:
        >>> parallel_pool.testing.check("CartPole-v1")
        >>> parallel_pool.testing.check(lambda: gymnasium.make("MountainCar-v0"))
    """
    from parallel_pool._engine.specs import Definition

    if isinstance(env, str):
        registry.find(env)
    if isinstance(env, (str, Definition)):
        # a write past a row would damage this process in any other run
        NATIVE_CHECKS[0](env, options=options, few=True)
        few = is_expensive(env, options=options or {})
        for each in NATIVE_CHECKS:
            each(env, options=options, few=few)
        return
    if not callable(env):
        raise TypeError(
            f"env={quote(env)} is {a_type(env)}: give an id, or a function that makes a"
            " gymnasium.Env"
        )
    for each in PYTHON_CHECKS:
        each(env, options=options)
