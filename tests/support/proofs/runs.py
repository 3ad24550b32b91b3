"""Runs of proven tests: in full if what they depend on has changed, else a sample of them.

A file of tests says that it is proven with

    pytestmark = pytest.mark.proven("csrc/envs/minigrid")

or a folder's conftest says it of all files that don't (`plugin.mark_proven`). The paths are those
of the sources that it tests (sources.py has the rest). With by="env", the cases whose argument
`env` is an id of one family of environments are a group of their own, which depends on that
family's folder instead of on all.

With --proofs SEED, a group whose hash is in the table of proofs runs its quick cases, and one of
SHARE of the others; the seed says which. It is one of SHARE_ELSEWHERE if the table has the hash
for other kinds of machines only. If a case fails, the group is no longer proven. Any other group
runs in full. If all of its cases pass, its hash is written into the table. With --prove, the groups
run, in full, that this kind has not proven.

With --sanitized, sanitizers watch the engine. Then every file is a group of its own, and all of its
cases are sampled: see `SanitizedRuns`.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from parallel_pool import _native
from parallel_pool._engine import registry
from tests.support.proofs import facts, kept, plugin, sources, table

# of the cases of a proven group that are not quick, one of so many runs
SHARE = 10
# and of a group that only other kinds of machines have proven: the C library and our own code
# choose instructions by the processor, so the bits of each kind are looked at
SHARE_ELSEWHERE = 3
# marks of cases of which a sample runs
SAMPLED = ("slow", "sanitizers", "cluster")
FAMILIES = "csrc/envs"
# Of runs under a sanitizer: C, Python code that owns memory of C, what a sanitizer overlooks, and
# which cases it sees.
SANITIZED = (
    *("csrc", "parallel_pool/_families", ".ci/tsan.supp", "tests/support/sampling.py"),
    *(f"parallel_pool/{name}" for name in plugin.ENGINE),
)
SANITIZER_OPTIONS = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


@dataclass
class Group:
    """Tests that are proven together.

    Attributes:
        digest: of what they depend on.
        named: the paths that their mark names.
        share: one of so many cases that are not quick runs; 1 if the group is not proven.
        cases: how many there are.
        passed: how many passed in this process.
        left_out: how many were not run, because the group is proven.
        failed: how many failed in this process.
        strangers: families of environments that were stepped, and that the mark does not name.
    """

    digest: str
    named: tuple[str, ...]
    share: int = 1
    cases: int = 0
    passed: int = 0
    left_out: int = 0
    failed: int = 0
    strangers: set[str] = field(default_factory=set)


class Runs:
    """What is proven, and what passed, in this process and in its pytest workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.seed: str = config.getoption("--proofs")
        self.only: bool = config.getoption("--prove")
        # a file's tests must all be collected, or their number means nothing
        part = config.getoption("lf", False) or config.getoption("stepwise", False)
        self.whole = not part and not any("::" in each for each in config.args)
        self.groups: dict[str, Group] = {}
        self.group_of: dict[str, str] = {}
        self.shares = shares(prove=self.only)

    @property
    def proven(self) -> set[str]:
        """The groups of which a sample runs."""
        return {name for name, group in self.groups.items() if group.share > 1}

    # ------------------------------------------------------------------------- choice of tests --

    @pytest.hookimpl(tryfirst=True)  # before -k and -m take cases away
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[Any]) -> None:
        self.select(config, items)

    def found_group(self, item: Any) -> tuple[str, tuple[str, ...]] | None:
        """Returns the name of a case's group, and the paths that it names; None if it has none."""
        mark = item.get_closest_marker("proven")
        return group_of(item, mark) if mark else None

    def digest(self, item: Any, named: tuple[str, ...]) -> str:
        """Returns the hash of what a case's group depends on."""
        return table.digest(item.path, named)

    def is_always_run(self, item: Any) -> bool:
        """Returns whether a case runs even if its group is proven."""
        return not any(item.get_closest_marker(name) for name in SAMPLED)

    def select(self, config: pytest.Config, items: list[Any]) -> None:
        """Takes away cases that are proven."""
        of_group: dict[str, list[Any]] = defaultdict(list)
        others = []
        for item in items:
            if found := self.found_group(item):
                name, named = found
                if name not in self.groups:
                    digest = self.digest(item, named)
                    share = self.shares.get((name, digest), 1)
                    self.groups[name] = Group(digest, named, share)
                self.group_of[item.nodeid] = name
                self.groups[name].cases += 1
                of_group[name].append(item)
            else:
                others.append(item)
        kept.of_proofs.write()
        left_out = set(others if self.only else ())
        for name in self.proven:
            group = self.groups[name]
            sampled = [item for item in of_group[name] if self.only or not self.is_always_run(item)]
            chosen = () if self.only else sample(sampled, self.seed, group.share)
            gone = [item for item in sampled if item not in chosen]
            group.left_out = len(gone)
            left_out.update(gone)
        if left_out:
            items[:] = [item for item in items if item not in left_out]
            config.hook.pytest_deselected(items=list(left_out))

    # -------------------------------------------------------------------------- results of tests --

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        name = self.group_of.get(item.nodeid)
        if name is None or name in self.proven:
            return (yield)
        with families_used() as used:
            result = yield
        self.groups[name].strangers |= used - known_families(self.groups[name].named)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = self.group_of.get(report.nodeid)
        if name and report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.groups[name].passed += 1
        elif name and not report.passed:
            # an error when a test is set up, or cleaned up after it has passed
            self.groups[name].passed -= report.when == "teardown"
            self.groups[name].failed += report.failed

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.only and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            # all is proven
            session.exitstatus = pytest.ExitCode.OK
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["proofs"] = {
                name: vars(group) | {"strangers": [*group.strangers]}
                for name, group in self.groups.items()
            }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # a worker that died says nothing
        for name, values in getattr(node, "workeroutput", {}).get("proofs", {}).items():
            of_worker = Group(**values)
            new = replace(of_worker, passed=0, failed=0, strangers=set())
            found = self.groups.setdefault(name, new)
            found.passed += of_worker.passed
            found.failed += of_worker.failed
            found.strangers |= set(of_worker.strangers)

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        for line in self.finish() if not config.option.collectonly else ():
            terminalreporter.write_line(f"proofs: {line}")

    def finish(self) -> Iterator[str]:
        """Writes the new proofs; yields what happened, in words."""
        for share, where in ((SHARE, ""), (SHARE_ELSEWHERE, " elsewhere")):
            left_out = [group.left_out for group in self.groups.values() if group.share == share]
            if left_out and not self.only:
                cases = f"{sum(left_out)} cases of {len(left_out)} groups"
                yield f"{cases} are proven{where} and did not run"
        failed = {name: self.groups[name] for name in sorted(self.proven)}
        failed = {name: group for name, group in failed.items() if group.failed}
        if failed:
            table.remove({name: group.digest for name, group in failed.items()})
            yield f"no longer proven, because a case failed: {', '.join(failed)}"
        changed = self.newer_source()
        new = {}
        for name in sorted(self.groups.keys() - self.proven):
            reason = changed and f"{changed} is newer than the engine: make build"
            if reason := reason or self.objection(self.groups[name]):
                yield f"{name} is not proven: {reason}"
            else:
                new[name] = self.groups[name].digest
                yield f"{name} is proven now: {self.groups[name].cases} cases passed"
        if new:
            table.add(new)
            yield f"{table.PATH.name} has {len(new)} new proofs: commit it"

    def newer_source(self) -> Path | None:
        """Returns a file that was changed after the engine was built, None for none."""
        return sources.newer_than(_native.path())

    def objection(self, group: Group) -> str | None:
        """Returns why a group that ran is not proven, in words; None if it is."""
        if group.strangers:
            families = ", ".join(sorted(group.strangers))
            return f"its mark names no folder of the families {families}, which it steps"
        if not self.whole or group.passed != group.cases:
            return f"{group.passed} of {group.cases} cases passed"
        return None


class SanitizedRuns(Runs):
    """Runs on an engine that a sanitizer watches.

    A sanitizer watches C alone, and what C does depends on the C sources, on the Python code that
    owns its memory, and on what a test calls. So a group is what a run takes of one file, and its
    hash is of these and of the options of pytest and of the sanitizer. What other Python code
    changes is left to the sample.
    """

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self.sanitizers, _, reports = config.getoption("--sanitized").partition("=")
        # the path to which a sanitizer adds its process
        self.reports = Path(reports)
        options = config.option
        chosen = (options.markexpr, options.keyword, *(options.deselect or ()))
        of_sanitizer = " ".join(os.environ.get(name, "") for name in SANITIZER_OPTIONS)
        # wherever the tree lies
        of_sanitizer = of_sanitizer.replace(reports, "").replace(str(sources.ROOT), "")
        self.options = " ".join([*map(str, chosen), of_sanitizer])

    @pytest.hookimpl(trylast=True)  # when -k and -m have taken away what these runs never have
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[Any]) -> None:
        self.select(config, items)

    def found_group(self, item: Any) -> tuple[str, tuple[str, ...]]:
        # these runs have a tree of their own, in which the tests are a link
        module = item.path.resolve().relative_to(sources.ROOT).as_posix()
        return f"{module}[{self.sanitizers}]", SANITIZED

    def digest(self, item: Any, named: tuple[str, ...]) -> str:
        return table.sanitized_digest(item.path.resolve(), named, self.sanitizers, self.options)

    def is_always_run(self, item: Any) -> bool:
        return False

    def newer_source(self) -> Path | None:
        # the tree has a copy of the package, which is as old as its engine
        return sources.newer_than(_native.path(), ["parallel_pool"])

    def objection(self, group: Group) -> str | None:
        found = next(self.reports.parent.glob(f"{self.reports.name}.*"), None)
        if found:
            return f"a sanitizer wrote {found}"
        # all families are in the hash
        return super().objection(replace(group, strangers=set()))


def group_of(item: Any, mark: pytest.Mark) -> tuple[str, tuple[str, ...]]:
    """Returns the name of a case's group, and the paths that it names."""
    module = item.path.relative_to(sources.ROOT).as_posix()
    by = mark.kwargs.get("by")
    if by is None:
        return module, mark.args
    env = item.callspec.params.get(by) if hasattr(item, "callspec") else None
    folder = folders().get(registry.find(env).family) if isinstance(env, str) else None
    return (f"{module}[{folder or 'all'}]", (*mark.args, folder or FAMILIES))


@cache
def folders() -> dict[str, str]:
    """Returns the folder of each family of environments, relative to ROOT."""
    found = sorted(path.relative_to(sources.ROOT).as_posix() for path in envs())
    return {family: folder for folder in found for family in sources.families_of(folder)}


def envs() -> Iterable[Path]:
    return (path for path in (sources.ROOT / FAMILIES).iterdir() if path.is_dir())


@cache
def known_families(named: tuple[str, ...]) -> frozenset[str]:
    """Returns the families whose sources these paths include."""
    return frozenset(family for path in named for family in sources.families_of(path))


def shares(*, prove: bool) -> dict[tuple[str, str], int]:
    """Returns one of how many cases runs that are not quick, by group and hash.

    Args:
        prove: no proof of another kind of machine counts.
    """
    found = {}
    for machine, rows in table.read().items():
        for row in rows.items():
            if machine == facts.machine():
                found[row] = SHARE
            elif not prove:
                found.setdefault(row, SHARE_ELSEWHERE)
    return found


def sample(items: Sequence[Any], seed: str, share: int) -> set[Any]:
    """Returns every share-th case of each test function.

    Functions with fewer cases have a turn with some seeds only.
    """
    chosen, numbers = set(), Counter[str]()
    for item in items:
        function = item.nodeid.partition("[")[0]
        start = zlib.crc32(f"{seed} {function}".encode())
        if (numbers[function] + start) % share == 0:
            chosen.add(item)
        numbers[function] += 1
    return chosen


@contextmanager
def families_used() -> Iterator[set[str]]:
    """Yields the families of the built-in environments that pools are made of meanwhile."""
    used: set[str] = set()
    fill_options = registry.fill_options

    def noticing(definition: Any, options: Any) -> dict[str, Any]:
        if definition.id in registry.builtin():
            used.add(definition.family)
        return fill_options(definition, options)

    registry.fill_options = noticing
    try:
        yield used
    finally:
        registry.fill_options = fill_options
