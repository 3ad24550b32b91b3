"""Proven tests: what their hash covers, when they run in full, and which sample runs else."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.proofs import facts, runs, sources, table
from tests.support.proofs.kept import Kept
from tests.support.proofs.sources import ROOT
from tests.tools.check_sources import OF_CHECK

pytest_plugins = ["pytester"]

PARITY = ROOT / "tests" / "parity"
MARK = re.compile(r"pytest\.mark\.proven\((.*?)\)", re.DOTALL)


def covered(test: str, *named: str) -> set[str]:
    found = sources.of_test((PARITY / test).resolve(), named)
    return {path.relative_to(ROOT).as_posix() for path in found.files}


# ----------------------------------------------------------------------------- what is covered --


def test_a_proof_covers_the_family_the_api_and_the_test() -> None:
    files = covered("test_minigrid.py", "csrc/envs/minigrid")
    assert files >= {
        "csrc/envs/minigrid/grid.c",
        "csrc/envs/minigrid/babyai/babyai.h",
        # included, and its C file
        *("csrc/base/mt19937.h", "csrc/base/mt19937.c", "csrc/include/pp_env.h"),
        # named by the registry, and imported by that
        *("parallel_pool/_families/minigrid_renderer.py", "parallel_pool/_families/minigrid.py"),
        *("parallel_pool/_apis/gymnasium/native_vector_env.py", "parallel_pool/_apis/sb3/infos.py"),
        "parallel_pool/_apis/common/vector_infos.py",
        *("tests/parity/test_minigrid.py", "tests/support/minigrid_runs.py"),
    }
    assert not any(file.startswith(("csrc/pool", "csrc/envs/atari")) for file in files)
    assert not any(file.startswith(("parallel_pool/_engine", "tests/apis")) for file in files)


def test_a_proof_covers_no_module_that_puts_steps_together() -> None:
    made = {path for path in sources.APIS.rglob("*.py") if path.name in sources.COLLECTORS}
    assert {path.name for path in made} == sources.COLLECTORS
    files = covered("test_atari_envpool.py", "csrc/envs/atari")
    assert not files & {path.relative_to(ROOT).as_posix() for path in made}


def test_a_proof_covers_fixtures_and_not_the_code_of_proofs() -> None:
    found = covered("../faults/test_arguments.py", "csrc/pool")
    assert {"tests/faults/conftest.py", "tests/support/programs.py"} <= found
    left_out = ("tests/support/proofs/", "tests/conftest.py")
    assert not any(path.startswith(left_out) for path in found)


def test_a_proof_covers_what_runs_in_another_process() -> None:
    files = covered("test_control_suite.py", "csrc/envs/mujoco")
    assert "tests/support/reference/control_suite_player.py" in files
    assert "parallel_pool/_families/control_suite_models.py" in files


def test_a_proof_covers_files_that_a_test_names_in_strings() -> None:
    assert "tests/parity/atari_core.py" in covered("test_atari_core.py")


def test_a_proof_covers_parts_of_the_engine_that_the_mark_names() -> None:
    files = covered("test_minigrid.py", "csrc/pool", "parallel_pool/_engine")
    assert {"csrc/pool/recv.c", "parallel_pool/_engine/pool.py"} <= files


def test_a_proof_of_check_covers_all_that_its_folders_import() -> None:
    package, importing = ROOT / "parallel_pool", re.compile(r"from (parallel_pool\S*) import (.*)")
    files = sources.of_test(ROOT / "tests" / "tools" / "test_check.py", OF_CHECK).files
    places = set()
    for folder in ("_contract", "_prover", "_source", "_testing", "_translator"):
        text = "\n".join(path.read_text() for path in (package / folder).glob("*.py"))
        for module, names in importing.findall(text):
            places |= {f"{module}.{name}" for name in re.findall(r"\w+", names)} | {module}
    modules = {ROOT.joinpath(*place.split(".")).with_suffix(".py") for place in places}
    imported = {path for path in modules if path.exists()}
    assert len(imported) > 100 and imported <= files, imported - files


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "test, folder, references",
    [
        # minigrid needs pygame, the test does not import it
        ("test_minigrid.py", "minigrid", {"minigrid", "gymnasium", "numpy", "pygame-ce"}),
        # imported by names in strings
        ("test_box2d.py", "box2d", {"box2d", "gymnasium"}),
        ("test_mpe.py", "mpe", {"mpe2"}),
        ("test_atari_players.py", "atari", {"multi-agent-ale-py", "pettingzoo"}),
        ("test_procgen.py", "procgen", {"procgen-mirror"}),
        ("test_mujoco.py", "mujoco", {"mujoco", "gymnasium"}),
    ],
)
def test_a_proof_covers_the_versions_of_references_and_what_they_need(
    test: str, folder: str, references: set[str]
) -> None:
    found = sources.of_test(PARITY / test, [f"csrc/envs/{folder}"])
    names = {each.partition(" ")[0] for each in facts.packages(found.packages)}
    missing = references - names
    # what is not installed has no version
    assert not {name for name in missing if facts.packages([name.replace("-", "_")])[1:]}, missing


def test_the_machine_and_the_flags_are_named() -> None:
    assert "Python 3." in facts.machine() and "gcc" in facts.machine()
    assert "-O3" in facts.flags() and str(ROOT) not in facts.flags()


def test_a_mark_that_names_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="csrc/envs/minigird does not exist: correct the mark"):
        covered("test_minigrid.py", "csrc/envs/minigird")


@pytest.mark.parametrize(
    "name, same, other",
    [
        ("grid.c", "int  side = 7; /* cells */\n", "int side = 8;\n"),
        ("grid.py", '"""Cells."""\n\n# why\nSIDE = (7)\n', "SIDE = 8\n"),
        ("grid.json", None, '{"side": 8}\n'),
    ],
)
def test_a_hash_is_of_what_runs(
    name: str, same: str | None, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments, docstrings and white space do not count, constants do."""
    first = {"grid.c": "int side = 7;\n", "grid.py": "SIDE = 7\n", "grid.json": '{"side": 7}\n'}[
        name
    ]
    digests = []
    for folder, text in (("first", first), ("same", same or first), ("other", other)):
        path = tmp_path / folder / name
        path.parent.mkdir()
        path.write_text(text)
        monkeypatch.setattr(sources, "ROOT", path.parent)
        digests.append(sources.digest([path]))
    assert digests[0] == digests[1] != digests[2]


def test_what_was_found_out_is_kept_for_the_same_bytes_alone(tmp_path: Path) -> None:
    """Not for a file with the same time and size, as one that is written twice within a tick."""
    source, asked = tmp_path / "grid.c", []

    def answer(text: str) -> list[str]:
        source.write_text(text)
        os.utime(source, ns=(1, 1))
        kept = Kept(tmp_path / "build" / "kept.json")
        content = source.read_bytes()
        found = kept.found("C", content, lambda: asked.append(text) or [content.decode()])
        kept.write()
        return list(found)

    texts = ["int side = 7;", "int side = 8;", "int side = 7;", "int side = 8;"]
    assert [answer(text) for text in texts] == [[text] for text in texts]
    assert asked == texts[:2]
    kept = Kept(tmp_path / "build" / "kept.json")
    assert kept.found("Python", source.read_bytes(), lambda: ["another question"]) != [texts[-1]]
    # a file that is damaged holds nothing
    kept.path.write_text("{")
    assert answer(texts[0]) == [texts[0]] and asked == [*texts[:2], texts[0]]


def test_every_mark_names_the_folder_of_its_families() -> None:
    """Files of tests whose names have a family's name in them."""
    for path in sorted(PARITY.glob("test_*.py")):
        marks = MARK.findall(path.read_text())
        for folder in ("atari", "box2d", "minigrid", "mpe", "mujoco", "procgen", "toy_text"):
            if marks and path.name.startswith(f"test_{folder}"):
                assert f'"csrc/envs/{folder}"' in marks[0], path


def test_the_table_is_in_order() -> None:
    known = table.read()
    assert not known or table.PATH.read_text() == table.text(known)


# --------------------------------------------------------------------------------- the sample --


@dataclass(frozen=True)
class Case:
    nodeid: str


def cases(function: str, count: int) -> list[Case]:
    return [Case(f"tests/test_a.py::{function}[{i}]") for i in range(count)]


def ids(chosen: Iterable[Case]) -> set[str]:
    return {case.nodeid for case in chosen}


def test_a_sample_is_a_tenth_of_each_function() -> None:
    slow = [*cases("test_a", 40), *cases("test_b", 20)]
    chosen = ids(runs.sample(slow, "a", 10))
    assert Counter(re.findall(r"::(test_.)", " ".join(chosen))) == {"test_a": 4, "test_b": 2}
    assert chosen == ids(runs.sample(slow, "a", 10))


def test_samples_of_many_commits_have_every_case() -> None:
    few = [case for number in range(6) for case in cases(f"test_{number}", 3)]
    chosen = [ids(runs.sample(few, str(commit), 10)) for commit in range(60)]
    assert set().union(*chosen) == ids(few)
    assert sum(map(len, chosen)) / 60 < len(few) / 6


# ----------------------------------------------------------------------------------- the runs --

CONFTEST = """
from pathlib import Path
import pytest
from tests.support.proofs import facts, kept, plugin, sources, table

sources.ROOT = Path(__file__).resolve().parent
# without their ends, these are no names of files on which the tests depend
kept.of_proofs.path = (sources.ROOT / "kept").with_suffix(".json")
sources.CSRC, sources.PACKAGE = sources.ROOT / "csrc", sources.ROOT / "parallel_pool"
sources.APIS = sources.PACKAGE / "_apis"
table.PATH = (sources.ROOT / "proofs").with_suffix(".json")
facts.flags = lambda *sanitizers: " ".join(["-O3", *sanitizers])

def pytest_addoption(pluginmanager):
    plugin.register(pluginmanager)
"""
TESTS = """
import pytest
from pathlib import Path

pytestmark = pytest.mark.proven("csrc/envs/chess")
SIDE = int(Path(__file__).with_name("csrc").joinpath("envs/chess/chess.c").read_text().split()[3])

@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_slow(number):
    assert number != 13 or SIDE == 8

def test_quick():
    pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  proven")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_chess=TESTS, test_other="def test_other(): pass")
    write(pytester, "int side = 8 ;")
    return pytester


def write(project: pytest.Pytester, text: str) -> None:
    folder = project.path / "csrc" / "envs" / "chess"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chess.c").write_text(text)
    # the engine that runs is newer
    os.utime(folder / "chess.c", (1, 1))


def outcome(project: pytest.Pytester, *options: str) -> tuple[dict[str, int], str]:
    done = project.runpytest_subprocess("-p", "no:cacheprovider", "--proofs=a", *options)
    said = [line for line in done.outlines if line.startswith("proofs: ")]
    counts = done.parseoutcomes()
    return {name: counts.get(name, 0) for name in ("passed", "failed")}, "\n".join(said)


@pytest.mark.slow
def test_a_change_runs_in_full_and_is_proven_by_its_pass(project: pytest.Pytester) -> None:
    workers = ("-n", "2")
    counts, said = outcome(project, *workers)
    assert counts == {"passed": 22, "failed": 0}
    assert "test_chess.py is proven now: 21 cases passed" in said
    counts, said = outcome(project, *workers)
    assert counts == {"passed": 4, "failed": 0}, "two slow ones, the quick one, and the other file"
    assert said == "proofs: 18 cases of 1 groups are proven and did not run"
    # of the same size, and with the same time
    write(project, "int side = 9 ;")
    counts, said = outcome(project, *workers)
    assert counts == {"passed": 21, "failed": 1}
    assert said == "proofs: test_chess.py is not proven: 20 of 21 cases passed"
    # as before
    write(project, "int side = 8 ; /* squares */")
    assert outcome(project, *workers)[0] == {"passed": 4, "failed": 0}


@pytest.mark.slow
def test_a_part_proves_nothing(project: pytest.Pytester) -> None:
    for part in (("-k", "slow"), ("test_chess.py::test_slow",), ("-m", "not slow")):
        assert "test_chess.py is not proven" in outcome(project, *part)[1]
    assert not (project.path / "proofs.json").exists()


@pytest.mark.slow
def test_a_case_that_fails_takes_the_proof_away(project: pytest.Pytester) -> None:
    """It was proven by chance, or depends on more than its hash says."""
    luck = project.path / "luck"
    text = TESTS + f"\ndef test_luck():\n    assert not Path({str(luck)!r}).exists()\n"
    project.makepyfile(test_chess=text)
    for workers in ((), ("-n", "2")):
        assert "is proven now: 22 cases passed" in outcome(project, *workers)[1]
        luck.touch()
        counts, said = outcome(project, *workers)
        assert counts == {"passed": 4, "failed": 1}
        assert "no longer proven, because a case failed: test_chess.py" in said
        luck.unlink()


@pytest.mark.slow
def test_cases_that_failed_last_prove_nothing(project: pytest.Pytester) -> None:
    done = project.runpytest_subprocess("--proofs=a", "--lf")
    assert "test_chess.py is not proven" in done.stdout.str()


@pytest.mark.slow
def test_prove_runs_only_what_is_not_proven(project: pytest.Pytester) -> None:
    assert outcome(project, "--prove")[0] == {"passed": 21, "failed": 0}
    assert outcome(project, "--prove")[0] == {"passed": 0, "failed": 0}


@pytest.mark.slow
def test_of_what_another_machine_has_proven_a_third_runs(project: pytest.Pytester) -> None:
    outcome(project)
    proofs = project.path / "proofs.json"
    (rows,) = json.loads(proofs.read_text()).values()
    elsewhere = json.dumps({"another machine": rows})
    proofs.write_text(elsewhere)
    counts, said = outcome(project, "-n", "2")
    assert counts == {"passed": 9, "failed": 0}, "seven slow ones, the quick one, the other file"
    assert said == "proofs: 13 cases of 1 groups are proven elsewhere and did not run"
    assert proofs.read_text() == elsewhere, "a sample proves nothing"
    # and other sources are proven nowhere
    write(project, "int side = 8 + 0 ;")
    assert outcome(project)[0] == {"passed": 22, "failed": 0}
    write(project, "int side = 8 ;")
    assert outcome(project, "--prove")[0] == {"passed": 21, "failed": 0}


@pytest.mark.slow
def test_an_engine_older_than_its_sources_proves_nothing(project: pytest.Pytester) -> None:
    (project.path / "csrc" / "envs" / "chess" / "chess.c").touch()
    assert "is newer than the engine: make build" in outcome(project)[1]


@pytest.mark.slow
def test_families_that_the_mark_does_not_name_prevent_a_proof(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_chess=f"""
{TESTS}
def test_stranger():
    from parallel_pool import Pool
    Pool("CartPole-v1", 1).close()
"""
    )
    said = outcome(project)[1]
    assert "not proven: its mark names no folder of the families classic_control" in said


# ---------------------------------------------------------------------------- under a sanitizer --


@pytest.fixture
def reports(project: pytest.Pytester) -> Path:
    """Returns where a sanitizer of the project would write, in the folder of its build."""
    project.mkdir("address")
    # the engine's Python code
    engine = project.path / "parallel_pool" / "_engine"
    engine.mkdir(parents=True)
    (engine / "pool.py").write_text("envs = 1")
    # the copy that runs is newer
    os.utime(engine / "pool.py", (1, 1))
    return project.path / "address" / "report"


@pytest.mark.slow
def test_a_tenth_of_what_a_sanitizer_has_seen_runs(project: pytest.Pytester, reports: Path) -> None:
    under = ("-n", "2", f"--sanitized=address={reports}", "-m", "not nothing")
    counts, said = outcome(project, *under)
    assert counts == {"passed": 22, "failed": 0}
    assert "test_chess.py[address] is proven now: 21 cases passed" in said
    assert "test_other.py[address] is proven now: 1 cases passed" in said
    counts, said = outcome(project, *under)
    assert 2 <= counts["passed"] <= 4, "two slow ones; the quick one and the other file in turn"
    assert f"{22 - counts['passed']} cases of 2 groups are proven and did not run" in said
    # without the sanitizer, and with another one, nothing is proven
    assert outcome(project)[0]["passed"] == 22
    assert outcome(project, f"--sanitized=thread={reports}")[0]["passed"] == 22


@pytest.mark.slow
def test_a_tree_with_links_has_the_same_proofs(
    project: pytest.Pytester, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the one that is built for a sanitizer has."""
    tree = project.mkdir("tree")
    for entry in ("csrc", "test_chess.py", "test_other.py", "conftest.py", "tox.ini"):
        (tree / entry).symlink_to(project.path / entry)
    monkeypatch.chdir(tree)
    said = outcome(project, f"--sanitized=address={reports}")[1]
    assert "test_chess.py[address] is proven now: 21 cases passed" in said
    assert "tree" not in (project.path / "proofs.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("csrc/envs/chess/chess.c", "int side = 8 + 0 ;"),
        ("csrc/pool/pool.c", "int pool ;"),
        ("parallel_pool/_engine/pool.py", "envs = 2"),
        ("test_chess.py", TESTS + "\nassert True"),
    ],
)
def test_a_sanitizer_sees_in_full_what_changed(
    project: pytest.Pytester, reports: Path, file: str, text: str
) -> None:
    under = (f"--sanitized=address={reports}",)
    outcome(project, *under)
    path = project.path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    # the engine that runs is newer
    os.utime(path, (1, 1))
    assert "test_chess.py[address] is proven now: 21 cases passed" in outcome(project, *under)[1]


@pytest.mark.slow
def test_other_cases_are_another_proof(project: pytest.Pytester, reports: Path) -> None:
    under = (f"--sanitized=address={reports}",)
    outcome(project, *under, "-m", "not slow")
    # one quick case was proven, and not the slow ones
    assert outcome(project, *under)[0]["passed"] == 22
    outcome(project, *under, "-k", "quick")
    assert outcome(project, *under, "-k", "not quick")[0]["passed"] == 21


@pytest.mark.slow
def test_what_a_sanitizer_reports_is_no_proof(project: pytest.Pytester, reports: Path) -> None:
    written = reports.with_name("report.1234")
    written.write_text("ERROR: AddressSanitizer: heap-use-after-free")
    said = outcome(project, f"--sanitized=address={reports}")[1]
    assert f"test_chess.py[address] is not proven: a sanitizer wrote {written}" in said
    assert not (project.path / "proofs.json").exists()
