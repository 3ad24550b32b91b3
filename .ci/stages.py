"""Runs the project's checks, one stage after another, and stops at the first that fails.

Stages that wait much run side by side; their output is shown at their end.

    python .ci/stages.py all         every stage, as CI does
    python .ci/stages.py check       lint and the quick tests: one and a half minutes on two cores
    python .ci/stages.py release     builds the wheels and tests them
    python .ci/stages.py NAME ...    these stages; without a name, lists them

`make` calls it with the virtual environment's Python. The last line reads `N passed, N failed`: a
stage that runs tests adds their number, any other stage counts as one. The lines before it show how
long each stage took and what failed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import atari_steps
import failures
import instructions

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from build_ffi import usable_cores  # noqa: E402

BUILD = ROOT / "build"
BIN = Path(sys.executable).parent
CC = os.environ.get("CC", "gcc")

# One pytest worker more than the CI machine has cores, because many tests wait for processes. Each
# worker starts with its share of the tests and steals from others when it is done. So most tests of
# a file run in one worker, and the fixtures that they share are made once.
WORKERS = ("-n", "3", "--dist", "worksteal")
# where every test keeps a core busy
WORKER_PER_CORE = ("-n", "2", "--dist", "worksteal")

# Tests that fork pytest hundreds of times run by themselves. A fork, with the end of its child,
# takes 25 ms of the processor's time where pytest has imported all tests with torch and JAX, and 8
# ms where it has imported only these, which takes it a second.
FORKING = ("tests/faults", "tests/workers")
OTHERS = ("tests", *(f"--ignore={folder}" for folder in (*FORKING, "tests/apis/cluster")))
# by file: each of the two pytest workers starts a cluster
CLUSTER = ("-n", "2", "--dist", "loadfile", "-m", "cluster", "tests/apis/cluster")
# make check runs the quick tests in these parts side by side, each in a process of its own: so a
# file is collected once, and what a process does once (imports, JAX's and Procgen's first use) is
# done in the parts that need it. They take 42, 40, 30, 23 and 17 s of 89.
QUICK_PARTS = {
    "quick-apis": ["tests/apis", "tests/contract"],
    "quick-parity": ["tests/parity"],
    # all that the others lack
    "quick-others": ["tests"],
    "quick-forking": [*FORKING],
    "quick-tools": ["tests/tools", "tests/translator"],
}
QUICK_PARTS["quick-others"] += [
    f"--ignore={folder}"
    for name, part in QUICK_PARTS.items()
    if name != "quick-others"
    for folder in part
]
# Lets glibc ask for huge pages for its heap, which halves what a fork of a large pytest costs.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

# Every test run ends with the ten slowest tests of half a second or more.
DURATIONS = ("--durations=10", "--durations-min=0.5")

# Tests that do not run under the sanitizers: those that run none of our C code, those that compile
# C themselves or link the shipped module's objects, where no sanitizer is (tests/c/test_c.py and
# the check of a translated class run sanitizers themselves), and those that repeat another test
# with many more settings.
NOT_FOR_SANITIZERS = [
    *("package/*", "c/test_c.py", "core/test_base_math.py", "core/test_registered.py"),
    "translator/*",
    *("parity/test_atari_core.py", "parity/test_atari_screen.py", "parity/test_atari_roms.py"),
    *("parity/test_atari_facts.py", "parity/test_atari_microroms.py"),
    *("parity/test_atari_line_cache.py", "parity/test_atari_translation.py"),
    "parity/test_atari_superinstructions.py",
    *("parity/test_vector_env.py", "parity/test_mujoco_switches.py"),
    # tests of Python code, and tests whose workers die by signals that a sanitizer handles itself
    *("apis/cluster/*", "apis/jax/*", "apis/pettingzoo/*", "apis/sb3/*", "apis/torch/*"),
    *("apis/gymnasium/test_backends.py", "apis/gymnasium/test_fus*.py"),
    *("apis/gymnasium/test_gymnasium_specs.py", "apis/gymnasium/test_odd_infos.py"),
    *("apis/gymnasium/test_process_vector_env*.py", "apis/gymnasium/test_vector_infos.py"),
    *("apis/dm_env/test_dm_env.py", "apis/envpool/test_envpool_programs.py", "benchmarks/*"),
    "apis/envpool/test_envpool_families.py",
    *("workers/test_dm_adapter.py", "workers/test_step_waits.py", "workers/test_worker*.py"),
    *("workers/test_interpreters.py", "faults/test_leases.py"),
    *("workers/test_prepared_resets.py", "workers/test_contexts.py", "workers/test_meta_world.py"),
    *("apis/minari/*", "apis/openenv/*", "faults/test_openenv_*.py"),
    # turns call no C code of their own. These files import torch with Stable-Baselines3, JAX, ONNX
    # Runtime and matplotlib, which takes each pytest worker up to 12 s under AddressSanitizer
    *("apis/mujoco_batch/test_batch_apis.py", "apis/turns/*", "core/test_pictures.py"),
    *("faults/test_worker_*.py", "parity/test_process_parity.py", "parity/test_atari_rules.py"),
    *("parity/test_mujoco_rendering.py", "parity/test_mpe*.py", "parity/test_atari_players.py"),
    # their C code runs in another process, which has no sanitizer
    *("parity/test_control_suite*.py", "parity/test_robotics*.py"),
    *("tools/test_check*.py", "tools/test_prove*.py", "tools/test_source*.py"),
    *("tools/test_cli.py", "tools/test_profile.py", "tools/test_script_paths.py"),
    *("tools/test_trace_report.py", "tools/test_compilable.py", "tools/test_tune*.py"),
    *("tools/test_python_files.py", "tools/test_start_faults.py"),
    # tests of sources, tables, names and installations
    *("families/test_atari_assembler.py", "families/test_atari_sources.py"),
    "families/test_mujoco_packages.py",
    *("tools/test_atari_builds.py", "tools/test_instructions.py", "tools/test_mosaic.py"),
    *("tools/test_interpreters_command.py", "tools/test_planted_defects.py"),
    *("tools/test_proofs.py", "tools/test_sampling.py", "tools/test_stages.py"),
    "faults/test_long_names.py",
]
LEFT_OUT = [f"--ignore-glob=tests/{name}" for name in NOT_FOR_SANITIZERS]
# TSan runs the tests in which data crosses threads. Restoring snapshots takes long and happens in
# the caller's thread. TSan ends a forked process that starts threads, so tests/faults/test_fork.py
# is left out. It sees no access of another process, so pools with workers run only where a second
# thread or a signal meets the caller; tests/c has their C code under TSan.
WORKERS_ALONE = "(ProcessPool or ProcessVectorEnv or worker) and not (another_thread or interrupt)"
THREAD_TESTS = [
    *("tests/contract", "tests/faults/test_env_errors.py", "tests/faults/test_interrupt.py"),
    *(
        "tests/faults/test_threads.py",
        "tests/core/test_async.py",
        "tests/core/test_state_machine.py",
    ),
    *(f"tests/apis/envpool/test_envpool_{name}.py" for name in ("api", "async", "make", "misuse")),
    *("--deselect", "tests/contract/test_every_id.py::test_a_snapshot_restores_an_environment"),
    *("-k", f"not ({WORKERS_ALONE})"),
]

# What runs on wheels: the APIs, the same bits as the references, and worker processes.
WHEEL_TESTS = ("tests/contract", "tests/parity", "tests/workers")
WHEEL_MARKS = "not slow and not cluster and not package and not sanitizers"

# A step of this game takes the wheel at most so many times the instructions of an installation from
# source; so many steps are counted, which takes some ten seconds.
COUNTED_GAME, COUNTED_STEPS, MAX_INSTRUCTIONS_RATIO = "pong", 60, 1.03

# The Makefile installs this version beside the newest one.
OLDER_MUJOCO = "3.6.0"

# For each sanitizer a C function with a defect, which Python calls, and words of the report that it
# must cause. A stage that does not notice the defect proves nothing.
PLANTED = {
    "address": (
        """
        #include <stdlib.h>
        int planted(int n) { char *p = calloc(1, 8); int v = p[n + 7]; free(p); return v; }
        """,
        "AddressSanitizer: heap-buffer-overflow",
    ),
    "undefined": ("int planted(int n) { return n + 2147483647; }", "signed integer overflow"),
    "thread": (
        """
        #include <pthread.h>
        static int shared;
        static void *add(void *arg) { ++shared; return arg; }
        int planted(int n) {
          pthread_t thread;
          pthread_create(&thread, NULL, add, NULL);
          shared += n;
          pthread_join(thread, NULL);
          return shared;
        }
        """,
        "ThreadSanitizer: data race",
    ),
}


class Failed(Exception):
    """A stage failed. Its output shows why; this is the short form.

    Attributes:
        stage: the stage's name, which `finish` sets.
    """

    stage = ""


passed = 0
failed = 0

LINES = re.MULTILINE | re.DOTALL


def run(*command: str | Path, cwd: Path = ROOT, **env: str) -> None:
    """Runs one command, without capturing its output; raises Failed if it fails."""
    words = [str(word) for word in command]
    check(subprocess.run(words, cwd=cwd, env={**os.environ, **env}, check=False))


def check(done: subprocess.CompletedProcess[Any]) -> None:
    """Raises Failed if a command failed."""
    if done.returncode:
        words = failures.clipped(" ".join(done.args))
        raise Failed(f"exit status {done.returncode}: {words}")


def run_together(*commands: Sequence[str | Path]) -> None:
    """Runs commands as `ended_together` does; raises Failed for the first that failed."""
    for done in ended_together(*commands):
        check(done)


def ended_together(
    *commands: Sequence[str | Path], **env: str
) -> list[subprocess.CompletedProcess[str]]:
    """Runs commands at the same time, one for each core; shows the output of each at its end.

    Returns them in this order. Give the longest first.
    """

    def captured(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in command]
        done = subprocess.run(
            words,
            cwd=ROOT,
            env={**os.environ, **env},
            stdout=PIPE,
            stderr=STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        print(done.stdout, end="", flush=True)
        return done

    with ThreadPoolExecutor(usable_cores()) as threads:
        return list(threads.map(captured, commands))


def pytest(
    name: str,
    *arguments: str,
    cwd: Path = ROOT,
    command: Sequence[str | Path] = (sys.executable, "-m", "pytest"),
    **env: str,
) -> None:
    """Runs pytest, by default our Python's, and adds its counts to the totals."""
    report = new_report(name)
    try:
        prefix = [word for word in env.pop("PREFIX", "").split() if word]
        run(*prefix, *command, *reporting(report), *arguments, cwd=cwd, **env)
    except Failed as reason:
        raise Failed(f"{reason}\n{failures.summary(report)}") from None
    finally:
        count(report)


def pytest_together(parts: dict[str, list[str]], *arguments: str, **env: str) -> None:
    """Runs pytest on parts of the tests side by side, and adds their counts to the totals.

    Args:
        parts: by name, which tests each takes; the longest first.
        arguments: of all of them.
    """
    reports = [new_report(name) for name in parts]
    command = (sys.executable, "-m", "pytest")
    commands = [
        [*command, *reporting(report), *arguments, *paths]
        for report, paths in zip(reports, parts.values(), strict=True)
    ]
    ended = ended_together(*commands, **env)
    for report in reports:
        count(report)
    for done, report in zip(ended, reports, strict=True):
        try:
            check(done)
        except Failed as reason:
            raise Failed(f"{reason}\n{failures.summary(report)}") from None


def new_report(name: str) -> Path:
    """Returns the file that gets the report of a run of pytest; there is none yet."""
    report = BUILD / "reports" / f"{name}.xml"
    report.unlink(missing_ok=True)
    return report


def reporting(report: Path) -> list[str]:
    """Returns the options of every run of pytest."""
    return ["-q", *DURATIONS, f"--junitxml={report}"]


def count(report: Path) -> None:
    """Adds the counts of a run of pytest to the totals, if it has written its report."""
    global passed, failed
    if report.exists():
        for suite in ElementTree.parse(report).iter("testsuite"):
            bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped = int(suite.get("skipped", 0))
            passed += int(suite.get("tests", 0)) - bad - skipped
            failed += bad


def c_sources() -> list[str]:
    folders = [ROOT / name for name in ("csrc", "parallel_pool", "tests", "examples", "benchmarks")]
    files = [path for folder in folders for path in folder.rglob("*")]
    return sorted(str(path) for path in files if path.suffix in (".c", ".h", ".inl", ".def"))


# ------------------------------------------------------------------------------------ stages --


def lint() -> None:
    """Style and types of Python and C, and the form of workflows."""
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    # macOS too: names of os and others that only Linux has must be looked for before their use
    run_together(
        [BIN / "mypy"],
        [BIN / "mypy", "--platform", "darwin", "--cache-dir", ".mypy_cache/darwin"],
        [BIN / "clang-format", "--dry-run", "-Werror", *c_sources()],
        [BIN / "ruff", "check", "."],
        [BIN / "ruff", "format", "--check", "--quiet", "."],
        [sys.executable, ".ci/core_stub.py", "--check"],
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows],
    )


def format() -> None:
    """Repairs the style that lint checks."""
    run(BIN / "ruff", "check", "--fix", "--quiet", ".")
    run(BIN / "ruff", "format", "--quiet", ".")
    run(sys.executable, ".ci/core_stub.py")
    run(BIN / "clang-format", "-i", *c_sources())


def quick() -> None:
    """The tests that take a moment."""
    marks = "not package and not cluster and not slow and not sanitizers"
    pytest_together(QUICK_PARTS, "-m", marks, **HUGE_PAGES)


def tests() -> None:
    """All tests of Python and, through tests/c/test_c.py, of C with its sanitizers."""
    options = [f"--proofs={revision()}", "-m", "not package and not cluster"]
    pytest("tests-forking", *WORKERS, *options, *FORKING, **HUGE_PAGES)
    pytest("tests", *WORKERS, *options, *OTHERS, **HUGE_PAGES)


def prove() -> None:
    """Runs the proven tests whose sources have changed, and writes tests/proofs.json."""
    proving = ["--proofs=all", "--prove"]
    marks = ["-m", "not package and not cluster"]
    pytest("prove-forking", *WORKERS, *proving, *marks, *FORKING, **HUGE_PAGES)
    pytest("prove", *WORKERS, *proving, *marks, *OTHERS, **HUGE_PAGES)
    pytest("prove-cluster", *CLUSTER, *proving)
    pytest("prove-integration", *WORKER_PER_CORE, *proving, "integration/tests")


def mujoco() -> None:
    """MuJoCo's quick tests on an older version."""
    env = {"PYTHONPATH": str(Path(sys.prefix) / f"mujoco-{OLDER_MUJOCO}")}
    check = f"import mujoco; assert mujoco.__version__ == {OLDER_MUJOCO!r}, mujoco.__file__"
    run(sys.executable, "-c", check, **env)
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/*/test_mujoco*.py"))
    # what differs between versions shows after a few steps
    pytest("mujoco", *WORKER_PER_CORE, "-m", "not slow", *files, **env)


def package() -> None:
    """The tests of sdist and wheel, and of their installation into an empty environment."""
    # only files that have such tests: to collect all takes ten seconds in each pytest worker
    every = sorted(ROOT.glob("tests/**/test_*.py"))
    files = [str(path) for path in every if "pytest.mark.package" in path.read_text()]
    pytest("package", *WORKER_PER_CORE, "-m", "package", *files)


def cluster() -> None:
    """The tests on Ray clusters of several nodes."""
    pytest("cluster", *CLUSTER, f"--proofs={revision()}")


def wheels() -> None:
    """The sdist and the wheels of a release into dist/, each built twice with the same bytes."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(sys.executable, ".ci/wheels.py", "--twice")
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted((ROOT / "dist").iterdir()))


def cost() -> None:
    """A step of Pong takes the wheel at most 3 % more instructions than `pip install .` does."""
    wheel = unpack(built_wheel(platform.machine()))
    source = BUILD / "trees" / "source"
    try:
        count = atari_steps.count(wheel, COUNTED_GAME, COUNTED_STEPS)
        install_sdist(source)
        wanted = atari_steps.count(source, COUNTED_GAME, COUNTED_STEPS)
    except instructions.Unavailable as reason:
        print(f"skipped: {reason}")
        return
    compared = f"{count:,.0f} instructions a step of the wheel, {wanted:,.0f} built from source"
    print(f"{COUNTED_GAME}: {compared}: x {count / wanted:.4f}")
    if count > wanted * MAX_INSTRUCTIONS_RATIO:
        raise Failed(f"{compared}: more than x {MAX_INSTRUCTIONS_RATIO}")


def installed() -> None:
    """Contract, parity and worker tests on the wheel in dist/ for this machine."""
    tree = unpack(built_wheel(platform.machine()))
    pytest("installed", *WORKERS, "-m", WHEEL_MARKS, *WHEEL_TESTS, cwd=tree, PYTHONPATH=str(tree))


def aarch64() -> None:
    """The same under qemu on the wheel for aarch64, and C's tests; says so where this can't run."""
    foreign_tests("aarch64", "aarch64")
    in_c = [sys.executable, ".ci/foreign_tests.py", "c", "aarch64"]
    pytest("aarch64-c", *WORKER_PER_CORE, "-m", "not slow", "tests/c/test_c.py", command=in_c)


def bullseye() -> None:
    """The same on Debian 11, whose C library is of 2020; says so where this can't run."""
    foreign_tests("bullseye", platform.machine())


def docs() -> None:
    """The documentation site: no warning, no broken link, every public name described."""
    run(sys.executable, ".ci/site", PYTHONPATH=str(Path(sys.prefix) / "docs-site"))


def integration() -> None:
    """The tests with real clients."""
    pytest("integration", *WORKER_PER_CORE, f"--proofs={revision()}", "integration/tests")


def address() -> None:
    """The Python tests under ASan and UBSan."""
    under_sanitizer(
        "address,undefined",
        {"address-forking": [*FORKING, *LEFT_OUT], "address": [*OTHERS, *LEFT_OUT]},
        # ASan looks up C++'s throw when it starts, but Python, a C program, has not loaded it
        LD_PRELOAD=f"{runtime('libasan.so')} {runtime('libstdc++.so.6')}",
        # The interpreter itself frees some memory only at exit. EnvPool, if installed, mixes C++'s
        # allocation functions, which does not concern our C code.
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:alloc_dealloc_mismatch=0",
        UBSAN_OPTIONS="print_stacktrace=1",
        # CPython's allocator would hide single objects from the sanitizer
        PYTHONMALLOC="malloc",
    )


def thread() -> None:
    """The Python tests under TSan."""
    suppressions = ROOT / ".ci" / "tsan.supp"
    under_sanitizer(
        "thread",
        {"thread": THREAD_TESTS},
        PREFIX=without_address_randomisation(),
        LD_PRELOAD=runtime("libtsan.so"),
        TSAN_OPTIONS=f"suppressions={suppressions}:halt_on_error=1:exitcode=66",
    )


STAGES: dict[str, Callable[[], None]] = {
    stage.__name__: stage
    for stage in (
        *(lint, quick, tests, cluster, mujoco, package, docs, integration, address, thread),
        *(format, prove, wheels, cost, installed, aarch64, bullseye),
    )
}
# Stages in brackets run side by side, because the first two wait half of the time: for Ray, and for
# pip and a compiler. With integration beside them, the three take a third longer than in turn.
GROUPS: dict[str, list[str | tuple[str, ...]]] = {
    "all": [
        *("lint", "tests", ("cluster", "package", "docs"), "mujoco"),
        *("integration", "address", "thread"),
    ],
    "check": ["lint", "quick"],
    "release": ["wheels", "cost", "installed", "bullseye", "aarch64"],
}

# ----------------------------------------------------------------------------------- helpers --


def build_tree(name: str, **env: str) -> Path:
    """Makes a second tree with the same files and its own build of the engine; returns its path."""
    tree = BUILD / "trees" / name
    shutil.rmtree(tree, ignore_errors=True)
    run(sys.executable, "build_ffi.py", "--quiet", "build", "--build-lib", tree, **env)
    add_tests(tree)
    return tree


def revision() -> str:
    """Returns the commit, which chooses the sample of proven tests; "none" without git."""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "none"


def built_wheel(machine: str) -> Path:
    """Returns the wheel in dist/ for a machine of Linux."""
    found = sorted((ROOT / "dist").glob(f"*linux*_{machine}.whl"))
    if len(found) != 1:
        raise Failed(f"dist/ has {len(found)} wheels for {machine}: run the stage wheels")
    return found[0]


def unpack(wheel: Path) -> Path:
    """Makes a tree of a wheel's package and this checkout's tests; returns its path."""
    tree = BUILD / "trees" / wheel.name
    shutil.rmtree(tree, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tree)
    add_tests(tree)
    return tree


def install_sdist(folder: Path) -> None:
    """Installs the sdist in dist/ into a folder as pip does for users, with the compiler's flags of
    build_ffi.py alone."""
    shutil.rmtree(folder, ignore_errors=True)
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    # pip would keep the result, and take it again for another sdist of the same name
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps"]
    options = ["--disable-pip-version-check", "--no-build-isolation", "--target", folder]
    run(*pip, *options, sdist, CFLAGS="", LDFLAGS="")


def add_tests(tree: Path) -> None:
    """Puts links to what tests need beside the package in a tree."""
    for entry in ("tests", "benchmarks", "examples", "csrc", "pyproject.toml", "build_ffi.py"):
        if (ROOT / entry).exists():
            (tree / entry).symlink_to(ROOT / entry)


def foreign_tests(place: str, machine: str) -> None:
    """Runs the tests of wheels in one of the places of .ci/foreign_tests.py."""
    program = [sys.executable, ".ci/foreign_tests.py"]
    run(*program, "prepare", place)
    command = [*program, place, unpack(built_wheel(machine))]
    pytest(place, *WORKER_PER_CORE, "-m", WHEEL_MARKS, *WHEEL_TESTS, command=command)


def under_sanitizer(sanitizers: str, runs: dict[str, list[str]], **env: str) -> None:
    """Builds the engine with these sanitizers, checks that they notice defects, and runs tests.

    Args:
        runs: of pytest, one after another: by name, which tests it takes.
    """
    name = sanitizers.partition(",")[0]
    tree = build_tree(name, PP_SANITIZE=sanitizers)
    env = {**env, "PYTHONPATH": str(tree)}
    for defect in sanitizers.split(","):
        notice_planted(defect, sanitizers, tree, env)
    # into files, because pytest captures what a worker writes, and loses it when the worker dies
    for options in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
        env[options] = f"{env.get(options, '')}:log_path={tree / 'report'}"
    proofs = ROOT / "tests" / "proofs.json"
    before = proofs.read_bytes() if proofs.exists() else b"{}\n"
    try:
        marks = "not package and not cluster and not slow"
        for each, paths in runs.items():
            options = [f"--proofs={revision()}", f"--sanitized={sanitizers}={tree / 'report'}"]
            options += ["-m", marks]
            pytest(each, *WORKER_PER_CORE, *options, *paths, cwd=tree, **env)
    finally:
        reports = sorted(tree.glob("report.*"))
        for report in reports:
            print(report.read_text(errors="replace"))
    if reports:
        # a process that outlived its tests may have written one
        proofs.write_bytes(before)
        first = failures.head(reports[0].read_text(errors="replace").splitlines(), 2000)
        raise Failed(f"{len(reports)} sanitizer reports, though the tests passed\n{first}")


def notice_planted(defect: str, sanitizers: str, tree: Path, env: dict[str, str]) -> None:
    """Fails unless the sanitizer ends a Python that calls the planted defect."""
    source, report = PLANTED[defect]
    planted, library = tree / f"{defect}.c", tree / f"{defect}.so"
    planted.write_text(source)
    flags = ["-g", "-fPIC", "-shared", "-pthread", f"-fsanitize={sanitizers}"]
    run(CC, *flags, "-fno-sanitize-recover=undefined", planted, "-o", library)
    script = f"import ctypes; ctypes.CDLL({str(library)!r}).planted(1)"
    command = [*env.get("PREFIX", "").split(), sys.executable, "-c", script]
    done = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    if done.returncode == 0 or report not in done.stderr:
        raise Failed(f"the planted {defect} defect went unnoticed:\n{done.stderr}")


def runtime(library: str) -> str:
    """Returns the path of a sanitizer's runtime. It must load before Python's first allocation."""
    found = subprocess.run(
        [CC, f"-print-file-name={library}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_absolute():
        raise Failed(f"{CC} has no {library}: install its sanitizer runtimes")
    return found


def without_address_randomisation() -> str:
    """Returns a command prefix for TSan: gcc's refuses the address randomisation of new kernels."""
    prefix = f"setarch {platform.machine()} -R"
    try:
        works = subprocess.run([*prefix.split(), "true"], capture_output=True, check=False)
    except OSError:
        return ""
    return prefix if works.returncode == 0 else ""


def finish(name: str) -> Failed | None:
    """Runs one stage; returns how it failed, or None."""
    global passed, failed
    counted = passed + failed
    try:
        STAGES[name]()
    except Failed as reason:
        failed += failed == 0
        reason.stage = name
        return reason
    # a stage that runs no tests counts as one
    passed += passed + failed == counted
    return None


def finish_together(names: Sequence[str]) -> Failed | None:
    """Runs stages side by side, and shows their output one after the other.

    Returns how the first of them failed that did, or None.
    """
    started = [start(name) for name in names]
    reasons = [show(name, *each) for name, each in zip(names, started, strict=True)]
    return next((reason for reason in reasons if reason), None)


def start(name: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Starts this program with a stage; returns the process and the file that gets its output."""
    output = BUILD / "reports" / f"{name}.txt"
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w") as file:
        command = [sys.executable, __file__, name]
        return subprocess.Popen(command, stdout=file, stderr=STDOUT), output


def show(name: str, process: subprocess.Popen[bytes], output: Path) -> Failed | None:
    """Waits for the end of a stage and shows its output; returns how it failed, or None."""
    global passed, failed
    process.wait()
    text = output.read_text(errors="replace")
    # what main() prints last
    last = re.search(r"(?:^== \w+ failed: (.*)\n)?^(\d+) passed, (\d+) failed\n\Z", text, LINES)
    print(text[: last.start()] if last else text, end="", flush=True)
    passed += int(last[2]) if last else 0
    failed += int(last[3]) if last else 1
    if process.returncode == 0 and last:
        return None
    reason = Failed((last and last[1]) or f"it ended early, with status {process.returncode}")
    reason.stage = name
    return reason


def main(names: list[str]) -> int:
    if not names:
        for stage in STAGES.values():
            print(f"{stage.__name__:12} {stage.__doc__}")
        return 2
    stages = [stage for name in names for stage in GROUPS.get(name, [name])]
    # warnings are errors, whoever calls this
    os.environ["PP_WERROR"] = "1"
    # without cached byte code, each of hundreds of processes would compile all that it imports
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    times: list[str] = []
    began = time.monotonic()
    for number, stage in enumerate(stages, 1):
        group = (stage,) if isinstance(stage, str) else stage
        for name in group:
            print(f"== {number}/{len(stages)} {name}: {STAGES[name].__doc__}", flush=True)
        before = time.monotonic()
        reason = finish(stage) if isinstance(stage, str) else finish_together(stage)
        times.append(f"{' with '.join(group)} {time.monotonic() - before:.0f} s")
        print(f"== {times[-1]}", flush=True)
        if reason:
            break
    print(f"== {', '.join(times)}: {time.monotonic() - began:.0f} s in all")
    if reason:
        print(f"== {reason.stage} failed: {reason}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
