"""Search: plays scripts of all policies until a difference is found or the budget is used up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parallel_pool._engine.buffers import Array
from parallel_pool._prover import policies
from parallel_pool._prover.archive import Archive, Found
from parallel_pool._prover.match import Finding, Match
from parallel_pool._prover.player import ERROR, PROCESS, Result
from parallel_pool._prover.script import MODES, Case, Script, of_segments
from parallel_pool._prover.tally import Tally

# shares of the steps: sweeps over all settings, and one long run; the rest is for new states
SWEEPS, LONG_RUN = 0.3, 0.3
# steps of an environment in one sweep
MIN_SWEEP_STEPS, MAX_SWEEP_STEPS = 24, 400
# a time limit that ends episodes in every sweep
SHORT_LIMIT = 9
# environments of a round that looks for new states, steps that it adds, and columns that both
# sides play afterwards
WIDTH, TAIL, COLUMNS = 96, 64, 4
# new cells of these rounds, fewer than which make cells finer
MIN_NEW_CELLS = 24
# rounds of our side alone before both sides play
ROUNDS = 6
# what a round costs at least, so that rounds end
MIN_ROUND_COST = 250
# steps that a continued sequence loses at most, and those before the end of an episode
CUT = 16
# environments and steps whose pictures are compared: a few first, as the time may run out, and
# more at the end
FIRST_PICTURES, LAST_PICTURES = (1, 4), (2, 12)
# steps of the long run at most: they are drawn before it begins
MAX_LONG_STEPS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What to play.

    Attributes:
        combinations: of options; the first is what searches for new states play.
        spaces: of an observation and an action with each of them.
        modes: autoreset modes.
        num_envs: environments of a sweep.
        steps: of single environments that both sides play, about.
        seed: of everything that is drawn.
        draws: whether to compare pictures.
        scripts: to play first.
    """

    combinations: Sequence[dict[str, Any]]
    spaces: Sequence[tuple[Any, Any]]
    modes: Sequence[str] = MODES
    num_envs: int = 3
    steps: int = 100_000
    seed: int = 0
    draws: bool = False
    scripts: Sequence[Script] = ()


@dataclass
class Search:
    """A search for a difference.

    Attributes:
        match: both sides.
        deadline: on the clock of time.monotonic.
        defaults: of options, for the tally.
        tally: what was compared.
        played: all scripts.
        archive: sequences that reached new states.
        is_cut: whether the deadline ended it.
        no_pictures: why the reference made none although it says that it can; "": it did, or was
            not asked.
    """

    match: Match
    deadline: float
    defaults: dict[str, Any]
    tally: Tally = field(default_factory=Tally)
    played: list[Script] = field(default_factory=list)
    is_cut: bool = False
    no_pictures: str = ""

    def __post_init__(self) -> None:
        # of no use before `run`
        self.archive = Archive(self.match.theirs.facts.observation_space)

    def run(self, plan: Plan) -> Finding | None:
        """Returns the first difference, None if there was none."""
        self.plan, self._rng = plan, np.random.default_rng(plan.seed)
        self._spaces = plan.spaces[0]
        self.archive = Archive(self._spaces[0])
        for script in self.plan.scripts:
            if (found := self._play(script)) is not None:
                return found
        return (
            self._pictures(*FIRST_PICTURES)
            or self._sweeps()
            or self._long_run()
            or self._new_states()
            or self._last_pictures()
        )

    def _play(self, script: Script) -> Finding | None:
        if self._is_late():
            return None
        self.played.append(script)
        self.tally.add_script(script, {**self.defaults, **script.case.options})
        return self.match.play(script, deadline=self.deadline, see=self._see)

    def _see(self, part: Script, results: list[Result]) -> None:
        self.tally.add(part, results, self._spaces_of(part.case))

    def _spaces_of(self, case: Case) -> tuple[Any, Any]:
        known = list(self.plan.combinations)
        return self.plan.spaces[known.index(dict(case.options))] if case.options else self._spaces

    def _is_late(self) -> bool:
        self.is_cut |= time.monotonic() > self.deadline
        return self.is_cut

    def _seeds(self, count: int) -> tuple[int, ...]:
        return tuple(self._rng.integers(2**31, size=count).tolist())

    def _actions(self, policy: str, steps: int, num_envs: int, space: Any = None) -> Array:
        space = self._spaces[1] if space is None else space
        return policies.actions(space, policy, steps, num_envs, self._rng)

    # -------------------------------------------------------------------------------- sweeps --

    def _sweeps(self) -> Finding | None:
        """Plays all settings with policies that do not search."""
        cases = self._cases()
        until = int(self.plan.steps * SWEEPS)
        steps = min(
            max(until // (len(cases) * self.plan.num_envs), MIN_SWEEP_STEPS), MAX_SWEEP_STEPS
        )
        count = 0
        while count < len(cases) or self.match.steps < until:
            script = self._sweep(cases[count % len(cases)], count, steps)
            if (found := self._play(script)) is not None or self.is_cut:
                return found
            count += 1
        return None

    def _cases(self) -> list[Case]:
        """Returns all settings, each combination first with the first mode."""
        limits = (None, SHORT_LIMIT)
        return [
            Case(options, mode, limit)
            for limit in limits
            for mode in self.plan.modes
            for options in self.plan.combinations
        ]

    def _sweep(self, case: Case, number: int, steps: int) -> Script:
        """Returns a script of three resets: with seeds, without, and with other seeds."""
        policy = policies.NAMES[number % len(policies.NAMES)]
        lengths = (steps - 2 * (steps // 4), steps // 4, steps // 4)
        num_envs = self.plan.num_envs
        seeds = (self._seeds(num_envs), None, self._seeds(num_envs))
        space = self._spaces_of(case)[1]
        segments = [
            (each, self._actions(policy, length, num_envs, space))
            for each, length in zip(seeds, lengths, strict=True)
        ]
        return of_segments(case, segments, policy)

    def _long_run(self) -> Finding | None:
        """Plays one environment for long, without a reset by hand."""
        if self._is_late():
            return None
        steps = min(int(self.plan.steps * LONG_RUN), MAX_LONG_STEPS)
        parts = []
        for start in range(0, steps, MAX_SWEEP_STEPS):
            policy = policies.NAMES[start // MAX_SWEEP_STEPS % len(policies.NAMES)]
            parts.append(self._actions(policy, min(MAX_SWEEP_STEPS, steps - start), 1))
        case = Case(self.plan.combinations[0], self.plan.modes[0])
        segments = [(self._seeds(1), np.concatenate(parts))] if parts else []
        return self._play(of_segments(case, segments, "long run")) if segments else None

    def _pictures(self, num_envs: int, steps: int) -> Finding | None:
        if not self.plan.draws:
            return None
        case = Case(self.plan.combinations[0], self.plan.modes[0], pictures=True)
        actions = self._actions("random", steps, num_envs)
        segments = [(self._seeds(num_envs), actions), (None, [])]
        found = self._play(of_segments(case, segments, "pictures"))
        if found is not None and (ERROR in found.theirs or PROCESS in found.theirs):
            # this machine may lack what the reference draws with
            self.no_pictures = found.theirs.get(ERROR) or found.theirs[PROCESS]
            return None
        return found

    def _last_pictures(self) -> Finding | None:
        # where the first could not be drawn, no others can
        return self._pictures(*LAST_PICTURES) if self.tally.pictures else None

    # ---------------------------------------------------------------------------- new states --

    def _new_states(self) -> Finding | None:
        """Our side alone looks for new states; both sides play what reached them."""
        used, count = self.match.steps, 0
        while used < self.plan.steps and not self._is_late():
            before = self.match.steps
            columns: list[tuple[int, int, Array]] = []
            known = len(self.archive.cells)
            for _ in range(ROUNDS):
                script = self._round()
                results = self._explore(script)
                if ERROR in results[-1] or PROCESS in results[-1]:
                    # both may fail there, and elsewhere there is more to find
                    if (found := self._play(script.prefix(len(results)))) is not None:
                        return found
                    break
                columns += self._keep(script, results)
            if len(self.archive.cells) - known < MIN_NEW_CELLS:
                self.archive.refine()
            if columns:
                mode = self.plan.modes[count % len(self.plan.modes)]
                script = self._of_columns(columns, mode)
                if (found := self._play(script)) is not None:
                    return found
            used += max(self.match.steps - before, MIN_ROUND_COST)
            count += 1
        return None

    def _of_columns(self, columns: list[tuple[int, int, Array]], mode: str) -> Script:
        """Returns a script of the environments whose last new cell came latest."""
        best = sorted(columns, key=lambda each: -each[0])[:COLUMNS]
        steps = best[0][0]
        rest = self._actions("random", steps, len(best))
        for at, (_, _, actions) in enumerate(best):
            rest[: len(actions), at] = actions[:steps]
        case = Case(self.plan.combinations[0], mode)
        return of_segments(case, [(tuple(seed for _, seed, _ in best), rest)], "new states")

    def _round(self) -> Script:
        """Returns a script that continues sequences, each in an environment of its own."""
        chosen = self.archive.choose(WIDTH, self._rng)
        prefixes = [self._prefix(each) for each in chosen]
        steps = max(map(len, prefixes)) + TAIL
        fresh = self._seeds(WIDTH)
        seeds = [each.seed if each else seed for each, seed in zip(chosen, fresh, strict=True)]
        parts = [self._actions(name, steps, WIDTH // 3) for name in policies.NAMES]
        actions = np.concatenate(parts, axis=1)
        for at, prefix in enumerate(prefixes):
            actions[: len(prefix), at] = prefix
        case = Case(self.plan.combinations[0])
        return of_segments(case, [(tuple(seeds), actions)], "new states")

    def _prefix(self, chosen: Found | None) -> Array:
        if chosen is None:
            return np.zeros((0, *self._spaces[1].shape), self._spaces[1].dtype)
        cut = int(self._rng.integers(CUT)) if self._rng.random() < 0.5 else 0
        return chosen.actions[: max(len(chosen.actions) - cut, 0)]

    def _explore(self, script: Script) -> list[Result]:
        """Plays a script on our side alone."""
        refused = self.match.ours.open(script.case, script.num_envs)
        if refused:
            return [{ERROR: refused}]
        self.match.ours.begin(script.events)
        return self.match.ours.finish()

    def _keep(self, script: Script, results: list[Result]) -> list[tuple[int, int, Array]]:
        """Keeps what is new.

        Returns:
            What both sides may play of it: steps, seed and actions of an environment.
        """
        (seeds, actions) = script.segments()[0]
        assert seeds is not None
        taken = np.stack(actions)
        last, lives = self._new_cells(seeds, taken, results)
        for at, step in self.archive.keep_outer(results[1:], lives, seeds, taken).items():
            last[at] = max(last.get(at, 0), step)
        for at, life in enumerate(lives):
            sequence = taken[: max(life - int(self._rng.integers(CUT)), 1), at].copy()
            if self.archive.keep_long(seeds[at], sequence):
                last[at] = max(last.get(at, 0), life)
        return [(steps, seeds[at], taken[:, at]) for at, steps in last.items()]

    def _new_cells(
        self, seeds: tuple[int, ...], taken: Array, results: list[Result]
    ) -> tuple[dict[int, int], list[int]]:
        """Returns the step of each environment's last new cell, and how long each lived."""
        lives = np.full(len(seeds), len(taken))
        alive = np.ones(len(seeds), np.bool_)
        last: dict[int, int] = {}
        cells = self.archive.cells_of(results[1:])
        for step, result in enumerate(results[1:], 1):
            for at in np.flatnonzero(alive).tolist():
                if self.archive.keep(cells[step - 1][at], seeds[at], taken[:step, at]):
                    last[at] = step
            ended = alive & (result["terminated"] | result["truncated"])
            lives[ended] = step
            alive &= ~ended
            if not alive.any():
                break
        return last, lives.tolist()
