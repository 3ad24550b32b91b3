"""The contract suite: it finds each mistake, and `check` says which, where and what to do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool import testing
from parallel_pool._contract import twins
from parallel_pool._contract.check_names import ADD_CHECK
from parallel_pool._engine import registry
from parallel_pool._source import start, toolchain
from parallel_pool._testing import supervisor
from tests.support.sampling import sampled, thinned
from tests.support.timeouts import TEST_TIMEOUT, has_ended, wait_for
from tests.tools.check_sources import OF_CHECK

pytestmark = pytest.mark.proven(*OF_CHECK, "docs/writing-an-environment.md")

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "writing-an-environment.md"
FIRST = "callbacks write all of their rows, and nothing else"
LAST = "forged snapshots are refused or do no harm"


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a test loads is known to that test alone, in a folder and a cache of its own."""
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    start.write(Path("my_env.c"))


def change(*pairs: tuple[str, str]) -> None:
    text = Path("my_env.c").read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    Path("my_env.c").write_text(text)


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Runs the command; returns its exit status and what it printed."""
    status = cli.main(["check", "my_env.c", *arguments])
    printed = capsys.readouterr()
    return status, printed.err + printed.out


def runs_sanitizers() -> bool:
    return toolchain.compiler(cpp=False).runtime("libasan.so") is not None


@pytest.mark.slow
def test_a_start_passes(capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = check(capsys, "--option", "push=0.3")
    assert status == 0, printed
    assert printed.startswith("my_env.c: pp_env_my_env\n") and "FAIL" not in printed
    assert [f"  ok    {each}" for each in testing.NATIVE_CHECKS] == [
        line for line in printed.splitlines() if line.startswith("  ok    ") and "sanit" not in line
    ]
    speed = r"  speed \S+( k)? ns a step, no step_many; \S+ [kM] steps/s on \d+ thr"
    assert re.search(speed, printed)
    if runs_sanitizers():
        assert "  ok    sanitizers find nothing" in printed


# What the page shows: a heading, the change of the start (or several), and further arguments.
MISTAKES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "A syntax error": (("it->speed = 0;", "it->speed = 0"), ()),
    "An old ABI": ((".abi = PP_ENV_ABI", ".abi = 2"), ()),
    "An observation outside its space": (
        ("between(-end, it->position + 0.2 * it->speed, end)", "it->position + 0.2 * it->speed"),
        (),
    ),
    "A write past the row": (
        ("obs[1] = (float)it->speed;", "obs[2] = (float)it->speed;"),
        (),
    ),
    "An endless step": (
        ("int has_crashed =", "while (it->position < 0) continue;\n  int has_crashed ="),
        ("--timeout", "2"),
    ),
    "An index that a snapshot brings": (
        [
            ("  double speed;\n", "  double speed;\n  int64_t wind; /* an index of winds */\n"),
            (
                "static const double end = 2",
                "static const double winds[] = {0.01, 0, -0.01}, end = 2",
            ),
            (
                "direction * env->options[PUSH].f;",
                "direction * env->options[PUSH].f + winds[it->wind];\n"
                "  it->wind = (it->wind + 1) % 3;",
            ),
            ("it->speed = 0;", "it->speed = 0;\n  it->wind = 0;"),
        ],
        (),
    ),
}


def section(heading: str) -> list[str]:
    """Returns the lines of the last block below a heading of the page: what the user sees."""
    text = PAGE.read_text()
    part = text[text.index(f"### {heading}\n") :].split("\n### ")[0].split("\n## ")[0]
    return re.findall(r"^```text\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)[-1].splitlines()


def plain(text: str) -> str:
    """Returns text without what depends on the locale and the version."""
    text = re.sub("[\u2018\u2019]", "'", text)
    return re.sub(r"ABI \d+ and \d+ bytes, this engine ABI \d+ and \d+ bytes", "ABI", text)


@pytest.mark.quick(1)
@pytest.mark.parametrize("mistake", sampled(MISTAKES, {"A syntax error", "A write past the row"}))
def test_the_page_shows_what_a_mistake_prints(
    mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edits, arguments = MISTAKES[mistake]
    change(*(edits if isinstance(edits, list) else [edits]))
    status, printed = check(capsys, *arguments)
    assert status == 1
    shown = section(mistake)
    assert shown[0] == f"$ python -m parallel_pool check my_env.c {' '.join(arguments)}".rstrip()
    assert len(shown) > 1
    for line in shown[1:]:
        if "sanitizers" in line and not runs_sanitizers():
            continue
        # what follows on some lines depends on the machine
        assert plain(line.removesuffix(" ...")) in plain(printed), line


LONG = """
static void wait(void) {
  struct timespec now, begun;
  timespec_get(&begun, TIME_UTC);
  do timespec_get(&now, TIME_UTC);
  while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 2000000);
}

static int step_many(void *shared, const pp_run *run) { return (void)shared, (void)run, PP_OK; }

static int reset("""


@pytest.mark.quick(1)
@pytest.mark.parametrize("has_step_many", [True, False])
@pytest.mark.parametrize("what", ["reset", "step"])
def test_step_many_is_not_for_steps_of_milliseconds(what: str, has_step_many: bool) -> None:
    anchors = {"reset": "it->speed = 0;", "step": "int has_stopped ="}
    change(
        ('#include "pp_env.h"', '#include <time.h>\n\n#include "pp_env.h"'),
        ("static int reset(", LONG.lstrip()),
        (anchors[what], f"wait();\n  {anchors[what]}"),
        (".observe = observe,", f".observe = observe,{' .step_many = step_many,' * has_step_many}"),
    )
    (env,) = parallel_pool.load_source("my_env.c")
    (rule,) = [each for each in testing.NATIVE_CHECKS if "short" in each.name]
    if not has_step_many:
        rule(env)
        return
    with pytest.raises(
        testing.ContractError, match=rf"^a {what} takes ([2-9]|\d\d+)\..* ms, and step_many"
    ):
        rule(env)


# A state that a snapshot can harm: an integer in it, and how step uses the integer.
def add_integer(use: str, *more: tuple[str, str]) -> None:
    change(
        ("  double speed;\n", "  double speed;\n  int64_t count;\n"),
        ("it->speed = 0;", "it->speed = 0;\n  it->count = 1;"),
        ("int has_stopped =", f"{use}\n  int has_stopped ="),
        *more,
    )


CHECK_STATE = """
static int check_state(const pp_env *env, const pp_saved *saved) {
  const cart *it = (const cart *)saved->state;
  return pp_state_check_range(env, "count", it->count, 0, 1) ? PP_OK : PP_ERR_ARGUMENT;
}

/* parallel_pool finds"""

# what goes wrong, by use of the integer, and words of the message
FORGED = {
    "SIGSEGV": (
        "it->speed += 0.01 * lows[it->count];",
        "the process ended with SIGSEGV in step after a forged snapshot (",
    ),
    "a write beyond the reward": (
        "result->reward[it->count & 2] = 0;",
        "): step: result->reward has 8 bytes, and the byte 9 behind them was written",
    ),
    "an endless loop": (
        "for (volatile int64_t i = 0; i < it->count; i++) {}",
        "step after a forged snapshot (",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("harm", sampled(FORGED, {"a write beyond the reward"}))
def test_a_forged_snapshot_needs_check_state(harm: str, capsys: pytest.CaptureFixture[str]) -> None:
    use, words = FORGED[harm]
    add_integer(use)
    status, printed = check(capsys, "--timeout", "5")
    assert status == 1
    (line,) = [each for each in printed.splitlines() if each.startswith(f"  FAIL  {LAST}: ")]
    assert words in line and line.endswith(ADD_CHECK), line
    # an endless loop of seconds is ended by the rule, a longer one by the deadline
    if harm == "an endless loop":
        assert "did not return within 5 s" in line or "s of the processor's time" in line


@pytest.mark.slow
def test_check_state_refuses_what_does_harm(capsys: pytest.CaptureFixture[str]) -> None:
    add_integer(
        "it->speed += 0.01 * lows[it->count];",
        ("/* parallel_pool finds", CHECK_STATE.lstrip()),
        (".observe = observe,", ".observe = observe,\n    .check_state = check_state,"),
        ('#include "pp_env.h" ', '#include "base/state_check.h"\n#include "pp_env.h" '),
    )
    status, printed = check(capsys)
    assert status == 0, printed
    assert f"  ok    {LAST}" in printed


def test_a_check_that_changes_the_state_is_found() -> None:
    last = "  return pp_state"
    assert last in CHECK_STATE
    spoiled = CHECK_STATE.replace(last, "  ((cart *)saved->state)->count = 1;\n" + last)
    add_integer(
        "",
        ("/* parallel_pool finds", spoiled.lstrip()),
        (".observe = observe,", ".observe = observe,\n    .check_state = check_state,"),
        ('#include "pp_env.h" ', '#include "base/state_check.h"\n#include "pp_env.h" '),
    )
    (task_id,) = parallel_pool.load_source("my_env.c")
    with pytest.raises(testing.ContractError, match="check_state changes what it checks"):
        testing.NATIVE_CHECKS[-1](task_id)


# Further mistakes: changes of the start, the check that must find it, and words of the message.
OTHERS: list[tuple[list[tuple[str, str]], str, str]] = [
    (
        [
            ("static const double end = 2", "static int count;\nstatic const double end = 2"),
            ("it->speed = between", "it->position += 1e-6 * count++;\n  it->speed = between"),
        ],
        "the same seed gives the same results",
        "env->rng",
    ),
    ([("obs[1] = (float)it->speed;", "")], FIRST, "observe does not write all of obs"),
    (
        [("if (distance) *distance", "if (distance && obs) *distance")],
        FIRST,
        "observe writes another distance if the other fields are null",
    ),
    (
        [("obs[0] = (float)it->position;", "obs[-1] = 0, obs[0] = (float)it->position;")],
        FIRST,
        "before them was written: compare with the field",
    ),
    (
        [("it->speed = 0;", "it->speed = 0;\n  it[1].position = 1;")],
        FIRST,
        "reset writes beyond the state of environment 0, which has 16 bytes",
    ),
    (
        [("(void)is_reset;", "((cart *)env->state)->position *= 0.999;\n  (void)is_reset;")],
        FIRST,
        "writes another value in a second call",
    ),
    (
        [
            ("(void)is_reset;", "((cart *)env->state)->speed += 0.01 * is_reset;"),
            ("obs[1] = (float)it->speed;", "obs[1] = 0;"),
        ],
        "observe changes nothing",
        "observe changes the state",
    ),
    (
        [("-fabs(it->position);", "log(it->position);")],
        "rewards are numbers",
        "the reward of environment",
    ),
    (
        [
            ("static const double end = 2", "static double kept;\nstatic const double end = 2"),
            ("it->position = pp_rng", "kept = it->position = pp_rng"),
            ("it->speed = between(", "it->position += 1e-3 * kept;\n  it->speed = between("),
        ],
        "neighbours change nothing",
        "is there a variable outside of the state",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("edits", "rule", "words"), thinned(OTHERS, 3))
def test_a_mistake_breaks_its_rule(edits: Any, rule: str, words: str) -> None:
    change(*edits)
    (task_id,) = parallel_pool.load_source("my_env.c")
    (broken,) = [each for each in testing.NATIVE_CHECKS if each.name == rule]
    with pytest.raises(testing.ContractError, match=re.escape(words)):
        broken(task_id)
    with pytest.raises(testing.ContractError):
        testing.check(task_id)


STEP_MANY = """
static int step_many(void *shared, const pp_run *run) {
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    cart *it = (cart *)(void *)(run->states + (size_t)i * run->state_stride);
    float *obs = (float *)run->fields[0];
    it->position += 0.001;
    run->reward[i] = 0;
    if (obs) obs[2 * i] = (float)it->position, obs[2 * i + 1] = (float)it->speed;
    if (run->fields[1]) ((double *)run->fields[1])[i] = fabs(it->position);
  }
  BEYOND
  return PP_OK;
}

/* parallel_pool finds"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beyond", "rule", "words"),
    [
        ("", "step_many returns what step returns", "step_many among 5 environments: environment"),
        (
            "((float *)run->fields[0])[2 * run->count] = 1;",
            FIRST,
            "step_many: the row of obs has 8 bytes, and the byte 1 behind them was written",
        ),
        ("run->reward[run->count] = 1;", FIRST, "run->reward of one environment has 8 bytes"),
        (
            "run->terminated[-1] = 3;",
            FIRST,
            "terminated of one environment has 1 byte",
        ),
    ],
)
def test_step_many_is_compared_with_step(beyond: str, rule: str, words: str) -> None:
    text = STEP_MANY.replace("BEYOND", beyond)
    change(
        ("/* parallel_pool finds", text.lstrip()),
        (".observe = observe,", ".observe = observe,\n    .step_many = step_many,"),
    )
    (task_id,) = parallel_pool.load_source("my_env.c")
    (broken,) = [each for each in testing.NATIVE_CHECKS if each.name == rule]
    with pytest.raises(testing.ContractError, match=re.escape(words)):
        broken(task_id)


CRASHES = {
    "SIGSEGV": ("it = 0;", "member access within null pointer of type 'struct cart'"),
    "SIGABRT": ("abort();", None),
    "status 3": ("exit(3);", None),
    "status 0": ("exit(0);", None),
    "overflow": ("{ int n = (int)direction + 2147483647; it->speed += n % 2; }", "signed integer"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(CRASHES, {"SIGSEGV", "status 0"}))
def test_a_crash_is_a_sentence(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    statement, found = CRASHES[kind]
    change(
        ("int has_stopped =", f"{statement}\n  int has_stopped ="),
        ("#include <math.h>", "#include <math.h>\n#include <stdlib.h>"),
    )
    status, printed = check(capsys)
    if kind != "overflow":
        assert status == 1
        assert f"the process ended with {kind} in step of environment 0: " in printed
    if found and runs_sanitizers():
        assert status == 1
        assert re.search(rf"FAIL  sanitizers find nothing: my_env\.c:\d+:\d+: .*{found}", printed)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_child_ends_with_a_check_that_is_killed(number: int, tmp_path: Path) -> None:
    """Even if it is in a loop without an end."""
    looping = tmp_path / "looping"
    change(
        (
            "int has_stopped =",
            f'fclose(fopen("{looping}", "w"));\n  for (;;);\n  int has_stopped =',
        ),
        ("#include <math.h>", "#include <math.h>\n#include <stdio.h>"),
    )
    command = [sys.executable, "-m", "parallel_pool", "check", "my_env.c"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
        wait_for(looping.exists)
        (child,) = children(process.pid)
        assert not has_ended(child)
        process.send_signal(number)
        assert process.wait(TEST_TIMEOUT) == -number
        try:
            wait_for(lambda: has_ended(child))
        except AssertionError:
            os.kill(child, signal.SIGKILL)
            raise


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--option", "push"), "--option push: give NAME=VALUE"),
        (("--option", "push=7"), r"push=7\.0: choose 0\.01 to 1"),
        (("--option", "pull=7"), "mine/MyEnv-v0 has no option pull: it has push"),
        (("--timeout", "0"), "--timeout 0: give seconds above 0"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed = check(capsys, *arguments)
    assert status == 1 and re.search(message, printed), printed


@pytest.mark.slow
def test_ids_and_libraries_are_checked_without_sanitizers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["build", "my_env.c", "--out", "my_env.so"]) == 0
    assert cli.main(["check", "my_env.so"]) == 0
    assert "sanitizers: not run, they need the source" in capsys.readouterr().out
    assert toolchain.exported(Path("my_env.so")) == ["pp_env_my_env"]
    assert cli.main(["check", "test/Nothing-v0"]) == 1
    assert "no environment 'test/Nothing-v0'" in capsys.readouterr().out
    assert cli.main(["check", "none.py"]) == 1
    assert "none.py can't be read: name a Python file" in capsys.readouterr().err
    assert cli.main(["check", "none.so"]) == 1
    assert "none.so can't be read: No such file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_class_in_python_is_checked_and_compared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["new", "cart_env.py"]) == 0
    assert "cart_env.py defines CartEnv-v0" in capsys.readouterr().out
    # the sanitizers have tests of their own
    monkeypatch.setattr("parallel_pool._source.toolchain.Compiler.runtime", lambda self, name: None)
    assert cli.main(["check", "cart_env.py", "--option", "power=0.2"]) == 0
    printed = capsys.readouterr().out
    assert "FAIL" not in printed
    assert "ok    the class and its translation return the same, bit by bit" in printed
    assert cli.main(["build", "cart_env.py", "--out", "cart.so"]) == 0
    assert "translated and compiled" in capsys.readouterr().out
    assert toolchain.exported(Path("cart.so")) == ["pp_env_cartenv_v0"]
    Path("cart_env.py").write_text("import gymnasium\n")
    assert cli.main(["build", "cart_env.py"]) == 1
    assert "cart_env.py defines no environment" in capsys.readouterr().err


@pytest.mark.slow
def test_a_difference_between_a_class_and_its_translation_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class changes after its translation, as if the translator were wrong."""
    assert cli.main(["new", "odd_env.py"]) == 0
    compare = twins.compare

    def of_another(cls: Any, task_id: str, **settings: Any) -> None:
        monkeypatch.setattr(cls, "_get_info", lambda self: {"distance": 0.5})
        compare(cls, task_id, **settings)

    monkeypatch.setattr(twins, "compare", of_another)
    monkeypatch.setattr("parallel_pool._source.toolchain.Compiler.runtime", lambda self, name: None)
    assert cli.main(["check", "odd_env.py"]) == 1
    printed = capsys.readouterr().out
    assert re.search(
        r"FAIL  the class and its translation .*: reset: info is\n\{'distance'", printed
    )


@pytest.mark.slow
def test_a_compiler_without_sanitizers_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parallel_pool._source.toolchain.Compiler.runtime", lambda self, name: None)
    status, printed = check(capsys)
    assert status == 0
    assert re.search(r"  --    sanitizers: not run, \S+ has no libasan\.so: install it", printed)


def test_reports_of_sanitizers_are_read() -> None:
    report = """
==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x7f bp 0x7f sp 0x7f
WRITE of size 4 at 0x60 thread T0
    #0 0x7f in observe /home/me/my_env.c:85
    #1 0x7f in ffi_call (/usr/lib/libffi.so.8+0x10)
"""
    undefined = "/my folder/my env.c:7:1: runtime error: division by zero"
    assert supervisor.sanitizer_report(f"x\n{undefined}\n", None) == undefined.replace(
        "runtime error: ", ""
    )
    source = Path("my_env.c")
    spaced = report.replace("/home/me/my_env.c", "/my folder/my_env.c")
    assert supervisor.sanitizer_report(spaced, source).startswith("my_env.c:85, in observe: ")
    expected = "my_env.c:85, in observe: heap-buffer-overflow (WRITE of size 4)"
    assert supervisor.sanitizer_report(report, source) == expected
    assert supervisor.sanitizer_report("Traceback", source) == ""


# ------------------------------------------------------------------------------------ Python --


class Walk(gymnasium.Env[Any, Any]):
    """A walk; its subclasses each break a rule."""

    observation_space = gymnasium.spaces.Box(-100, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at, self.steps = float(self.np_random.uniform()), 0
        return self.look(), {}

    def step(self, action: Any) -> Any:
        self.at += 1 if action else -1
        self.steps += 1
        return self.look(), 1.0, self.steps == 20, False, {}

    def look(self) -> Any:
        return np.array([self.at], np.float32)


class Wide(Walk):
    def look(self) -> Any:
        return np.array([self.at])


class Lucky(Walk):
    def look(self) -> Any:
        return np.array([np.random.default_rng().uniform()], np.float32)


class Shared(Walk):
    places: dict[str, float] = {}  # noqa: RUF012

    def look(self) -> Any:
        Shared.places["last"] = self.places.get("last", 0) * (self.steps > 0) + self.at / 100
        return np.array([Shared.places["last"]], np.float32)


class Nan(Walk):
    def step(self, action: Any) -> Any:
        return self.look(), float("nan"), False, False, {}


class Old(Walk):
    def step(self, action: Any) -> Any:
        return self.look(), 1.0, False, {}


@pytest.mark.slow
def test_python_environments_are_checked() -> None:
    testing.check(Walk)
    for each in testing.PYTHON_CHECKS:
        each(Walk)
    for kind, words in (
        (Wide, "its dtype, shape or values differ"),
        (Lucky, "a second environment with the same seed"),
        (Shared, "environment 0 among 3"),
        (Nan, "the reward of step 1 is nan"),
        (Old, "return observation, reward, terminated, truncated, info"),
        (dict, "the function made a dict: make a gymnasium.Env"),
    ):
        with pytest.raises(testing.ContractError, match=re.escape(words)):
            testing.check(kind)
    with pytest.raises(TypeError, match="give an id, or a function"):
        testing.check(3)
    with pytest.raises(ValueError, match="no environment 'Nothing-v7'"):
        testing.check("Nothing-v7")


@pytest.mark.slow
def test_a_built_in_environment_is_checked() -> None:
    testing.check("CartPole-v1")
