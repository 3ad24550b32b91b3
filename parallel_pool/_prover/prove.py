"""Prove: the public function, and the whole of a proof in order."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._prover import choices, policies, program, sentences, surface, target
from parallel_pool._prover.contract_error import ContractError
from parallel_pool._prover.lines import Lines, measure
from parallel_pool._prover.match import Finding, Match
from parallel_pool._prover.player import PICTURES
from parallel_pool._prover.proof import Proof
from parallel_pool._prover.remote import Remote
from parallel_pool._prover.report import Summary, report_text
from parallel_pool._prover.script import MODES, Case, Script, of_sequence
from parallel_pool._prover.search import Plan, Search
from parallel_pool._prover.settings import SECONDS, STEPS, TIMEOUT, Settings
from parallel_pool._prover.shrink import Shrinker
from parallel_pool._prover.sides import Local, Side
from parallel_pool._prover.tally import Range
from parallel_pool._prover.target import Native, Reference
from parallel_pool.errors import PoolError

if TYPE_CHECKING:
    import gymnasium

# seconds that shrinking and counting lines may take beyond those of the search
MAX_AFTER_SECONDS = 20.0
# sequences of a proof that a committed test plays
MAX_SEQUENCES = 8


@dataclass(frozen=True)
class Outcome:
    """What became of a search.

    Attributes:
        proof: what was compared.
        finding: the difference, shrunk; None: there is none.
        text: it in words, and the program.
        program: that repeats it.
    """

    proof: Proof
    finding: Finding | None = None
    text: str = ""
    program: str = ""


def prove(
    env: str | os.PathLike[str],
    against: str | Callable[..., gymnasium.Env[Any, Any]],
    *,
    options: Mapping[str, Any] | None = None,
    steps: int = STEPS,
    seconds: float = SECONDS,
    seed: int = 0,
    tolerance: float = 0.0,
    modes: Sequence[str] = MODES,
    sequences: Sequence[tuple[int, Sequence[Any]]] = (),
    coverage: bool = True,
    timeout: float = TIMEOUT,
    program: str | os.PathLike[str] | None = None,
) -> Proof:
    """Compares a native environment with its reference, in all that both return, bit by bit.

    Both play the same seeds and actions. Actions are random, repeated for some steps, at bounds and
    corners of their space, or sequences with which a search reached new states or long episodes.
    Spaces, the time limit, every array with its dtype and shape, the keys of infos, ends, resets
    and pictures are compared, with all combinations of `options`, in all autoreset modes, with
    `SyncVectorEnv` as the reference's loop. The native side runs in a process of its own, which may
    crash.

    The same steps are played each time, unless `seconds` end the search.

    Args:
        env: an id, also of what this process has loaded with `load`, `load_source` or `compile`; or
            a file: C, C++, Python (its class is translated) or a library. `:NAME` behind a file
            names one of several environments.
        against: Gymnasium's id, "module:Class", "file.py:Class", a class or a function that makes a
            `gymnasium.Env`; or another native environment, such as an older version of the file.
        options: values of options, each one or a list, all of which are combined; None: for each
            number that both sides take, the default and values near it.
        steps: of single environments that both sides play, about.
        seconds: for the search; about as many as 20 more may follow to shorten what was found.
        seed: of all that is drawn.
        tolerance: by which floats may differ; 0: not at all, and the signs of zeros count.
        modes: autoreset modes, of "next_step", "same_step" and "disabled".
        sequences: seeds, each with the actions of one environment, that are played first.
        coverage: whether to say which lines of a source in C were reached, which needs gcov.
        timeout: seconds for 256 steps, after which they count as endless.
        program: the file for the program that repeats a difference; None: a new one in the
            system's folder for temporary files.

    Returns:
        What was compared, and what was not.

    Raises:
        ContractError: there is a difference; the message shows both sides, and a program that
            repeats it.
        SourceError, MissingDependencyError: a file does not compile.
        ValueError, TypeError: an argument is wrong.

    Example:
        >>> proof = parallel_pool.testing.prove("FrozenLake-v1", "FrozenLake-v1", steps=2000)
        >>> proof.tolerance, proof.infos["prob"] > 100
        (0.0, True)
    """
    settings = Settings(
        *(options, steps, seconds, seed, tolerance, modes, sequences, coverage, timeout)
    )
    outcome = run(os.fspath(env), against, settings)
    if outcome.finding is not None:
        path = write_program(outcome.program, program)
        raise ContractError(f"{outcome.text}\n\nthe program above is in {path}")
    return outcome.proof


def write_program(text: str, path: str | os.PathLike[str] | None) -> Path:
    """Writes the program; returns where it is."""
    if path is None:
        fd, name = tempfile.mkstemp(prefix="difference-", suffix=".py")
        os.close(fd)
        path = name
    Path(path).write_text(text, "utf-8", "backslashreplace")
    return Path(path)


def run(env: str, against: Any, settings: Settings) -> Outcome:
    """Searches for a difference; returns what became of it.

    Raises:
        SourceError, MissingDependencyError, ValueError, TypeError: as `prove`.
    """
    settings.check()
    begun = time.monotonic()
    mine, other = target.native(env), target.reference(against)
    mine.prepare()
    ours = Remote(mine, settings.timeout)
    try:
        theirs, other = _other_side(other, ours, settings.timeout)
        try:
            return _Run(env, mine, other, ours, theirs, settings, begun).outcome()
        finally:
            theirs.close()
    finally:
        ours.close()


def _other_side(
    other: Native | Reference, ours: Remote, timeout: float
) -> tuple[Side, Native | Reference]:
    if isinstance(other, Native):
        other.prepare()
        return Remote(other, timeout), other
    if other.is_gymnasiums:
        return Remote(other, timeout), other
    # of the caller's own program, which another process may not know
    if not other.task_id:
        other = replace(other, limit=ours.facts.limit)
    try:
        return Local(other), other
    except (PoolError, ValueError):
        raise
    except Exception as error:
        raise ValueError(
            f"{other.place or 'the reference'} can't be made: {type(error).__name__}: {error}"
        ) from error


class _Run:
    """One proof."""

    def __init__(
        self,
        env: str,
        mine: Native,
        other: Native | Reference,
        ours: Remote,
        theirs: Side,
        settings: Settings,
        begun: float,
    ) -> None:
        self._env, self._mine, self._other = env, mine, other
        self._settings, self._begun = settings, begun
        self._match = Match(ours, theirs, settings.tolerance)
        self._facts = ours.facts, theirs.facts
        self._not_covered: list[str] = []
        deadline = begun + settings.seconds
        defaults = {each.name: each.default for each in ours.facts.options}
        self._search = Search(self._match, deadline, defaults)

    def outcome(self) -> Outcome:
        """Does all of it."""
        finding = self._surface() or self._searched()
        if finding is None:
            return Outcome(self._proof("", self._lines()))
        limit = time.monotonic() + min(self._settings.seconds, MAX_AFTER_SECONDS)
        finding = Shrinker(self._match, finding, limit, self._settings.modes).run()
        text = self._program(finding)
        words = f"{self._names()} differ: {sentences.full(finding)}\n\n{text}"
        lines = Lines("a difference was found before")
        return Outcome(self._proof(words, lines, finding), finding, words, text)

    def _names(self) -> str:
        return f"{self._env} and {self._facts[1].name}"

    def _surface(self) -> Finding | None:
        found = surface.surface_difference(*self._facts)
        if found is None:
            policies.corners(self._facts[1].action_space)
            return None
        return Finding(Script(Case(), 1, ()), found)

    def _searched(self) -> Finding | None:
        combinations, found = self._combinations()
        if found is not None:
            return found
        space = combinations[0][1][1]
        plan = Plan(
            [options for options, _ in combinations],
            [spaces for _, spaces in combinations],
            tuple(self._settings.modes),
            steps=self._settings.steps,
            seed=self._settings.seed,
            draws=self._facts[0].draws and self._facts[1].draws,
            scripts=[of_sequence(seed, rows, space) for seed, rows in self._settings.sequences],
        )
        return self._search.run(plan)

    def _combinations(self) -> tuple[list[tuple[dict[str, Any], Any]], Finding | None]:
        """Returns the options to play with their spaces; guessed ones if no side refuses them."""
        given = self._settings.options
        if given is not None:
            wanted, unvaried = choices.combined(given), list[str]()
        else:
            wanted, unvaried = choices.guessed(*self._facts)
        if len(wanted) > choices.MAX_COMBINATIONS:
            self._not_covered.append(
                f"{len(wanted) - choices.MAX_COMBINATIONS} combinations of options"
            )
        if unvaried:
            self._not_covered.append(f"other values of the options {', '.join(unvaried)}")
        played = []
        for options in wanted[: choices.MAX_COMBINATIONS]:
            refused = self._match.refusals(Case(options), 1)
            if not any(refused):
                ours, theirs = self._match.ours.spaces, self._match.theirs.spaces
                difference = surface.spaces_difference(ours, theirs)
                if difference is not None:
                    return [], Finding(Script(Case(options), 1, ()), difference)
                played.append((options, theirs))
            elif given is None and options:
                self._not_covered.append(f"options {options}, refused: {refused[0] or refused[1]}")
            elif not all(refused):
                return [], self._match.play(Script(Case(options), 1, ()))
            else:
                raise ValueError(f"both sides refuse the options {options}: {refused[0]}")
        return played, None

    def _lines(self) -> Lines:
        if not self._settings.coverage:
            return Lines("it was not asked for")
        limit = time.monotonic() + MAX_AFTER_SECONDS
        return measure(self._mine, self._search.played, self._settings.timeout, limit)

    def _program(self, finding: Finding) -> str:
        ours = self._mine, self._facts[0].name
        other: Any = self._other
        theirs = other if isinstance(other, Reference) else (other, self._facts[1].name)
        sentence = f"{self._names()}: {sentences.one_line(finding)}"
        return program.program_text(finding, ours, theirs, sentence)

    # --------------------------------------------------------------------------------- proof --

    def _proof(self, difference: str, lines: Lines, finding: Finding | None = None) -> Proof:
        search, tally = self._search, self._search.tally
        seconds = time.monotonic() - self._begun
        missing = tuple(self._missing(lines, finding))
        settings = self._settings
        summary = Summary(
            *(self._env, self._facts[1].name, settings.tolerance, settings.seed, seconds),
            *(difference, tally, len(search.archive.cells), lines, missing),
        )
        return Proof(
            ours=self._env,
            reference=self._facts[1].name,
            tolerance=settings.tolerance,
            seed=settings.seed,
            steps=tally.steps,
            episodes=tally.episodes,
            ends=dict(tally.ends),
            longest=tally.longest,
            observations=_pairs(tally.observations),
            actions={
                **{str(name): str(count) for name, count in sorted(tally.actions.items())},
                **{name: f"{it.low:g} to {it.high:g}" for name, it in tally.action_ranges.items()},
            },
            infos=dict(tally.infos),
            options={name: dict(values) for name, values in tally.options.items()},
            cells=len(search.archive.cells),
            pictures=tally.pictures,
            lines=lines.total,
            lines_reached=lines.reached,
            branches=lines.branches,
            branches_reached=lines.branches_reached,
            lines_missed=lines.missed,
            not_covered=missing,
            sequences=self._sequences(finding),
            seconds=seconds,
            report=report_text(summary),
        )

    def _missing(self, lines: Lines, finding: Finding | None) -> list[str]:
        """Returns what was not covered, in sentences."""
        tally, found = self._search.tally, list(self._not_covered)
        ours, theirs = self._facts
        if tally.errors:
            count = f"{tally.errors} errors that both sides raised"
            found.append(f"what follows {count}, the last: {tally.error}")
        if self._search.is_cut:
            found.append("the rest of the search: its seconds were over")
        found += [
            f"an episode that was {kind}"
            for kind in ("terminated", "truncated")
            if not tally.ends[kind]
        ]
        if kinds := sorted(surface.not_compared(theirs.observation_space)):
            found.append(f"what spaces of these kinds hold: {', '.join(kinds)}")
        if ours.reset_options:
            found.append(f"the options of reset: {', '.join(ours.reset_options)}")
        is_shown = finding is not None and finding.difference.path[0] == PICTURES
        if not (ours.draws and theirs.draws):
            found.append("pictures: not both sides make them")
        elif self._search.no_pictures:
            found.append(f"pictures: the reference fails: {self._search.no_pictures}")
        elif not tally.pictures and not is_shown:
            found.append("pictures: none was compared")
        if lines.reason:
            found.append(f"lines of the source: {lines.reason}")
        found.append("actions outside of their space, and other dtypes of actions")
        return found

    def _sequences(self, finding: Finding | None) -> tuple[tuple[int, list[object]], ...]:
        """Returns what a committed test should play."""
        found: list[tuple[int, Any]] = []
        if finding is not None and finding.script.num_envs == 1 and finding.script.events:
            seeds, actions = finding.script.segments()[0]
            assert seeds is not None
            found.append((seeds[0], [each[0] for each in actions]))
        archive = self._search.archive
        last = list(archive.cells.values())[-MAX_SEQUENCES + 1 :]
        found += [(each.seed, list(each.actions)) for each in [*archive.longest[:1], *last]]
        return tuple(
            (int(seed), [np.asarray(each).tolist() for each in actions]) for seed, actions in found
        )


def _pairs(ranges: Mapping[str, Range]) -> dict[str, tuple[float, float]]:
    return {name: (it.low, it.high) for name, it in ranges.items()}
