"""`check`: arguments that are not what one expects, and rules at their limits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool import testing
from parallel_pool._command import read_options
from parallel_pool._contract import speed
from parallel_pool._engine import registry
from parallel_pool._source import cache, start
from parallel_pool._testing import command, supervisor
from parallel_pool._testing.messages import Job


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CFLAGS", "-O1")
    monkeypatch.chdir(tmp_path)


def change(*pairs: tuple[str, str]) -> str:
    """Writes a start in C with changes; returns the id."""
    task_id = start.write(Path("my_env.c"))
    text = Path("my_env.c").read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    Path("my_env.c").write_text(text)
    return task_id


# -------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "value", ["{[]: 1}", "{[1]}", "{1, 2}", "[1j]", "(" * 5000, "-" * 10_000 + "1"]
)
def test_an_option_that_is_no_literal_is_a_text(value: str) -> None:
    assert read_options([f"name={value}"]) == {"name": value}


@pytest.mark.slow
def test_python_may_start_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout is that of a check, not that of the process."""
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep(6)\n")
    monkeypatch.syspath_prepend(tmp_path)
    lines: list[supervisor.Line] = []
    assert supervisor.run(Job(task_id="Nothing-v7"), 4.0, lines.append) == ""
    assert [line.text.partition(":")[0] for line in lines] == ["no environment 'Nothing-v7'"]
    monkeypatch.setattr(supervisor, "START", 0.5)
    assert supervisor.run(Job(task_id="Nothing-v7"), 0.5, lines.append) == "endless"
    assert lines[1].text == supervisor.NO_START


@pytest.mark.slow
@pytest.mark.parametrize("timeout", ["inf", "1e300"])
def test_a_check_may_take_for_ever(timeout: str, capsys: pytest.CaptureFixture[str]) -> None:
    # it ends soon, as there is no such environment
    assert cli.main(["check", "Nothing-v7", "--timeout", timeout]) == 1
    assert "no environment 'Nothing-v7'" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("option", ["power=abc", "nothing=1"])
def test_a_wrong_option_of_a_class_is_a_line(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["new", "cart_env.py"]) == 0
    assert cli.main(["check", "cart_env.py", "--option", option]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "FAIL" in line]
    assert any("the class and its translation" in line for line in lines), lines


# ------------------------------------------------------------------------------------------- rules

WAIT = """
static void wait(void) {
  struct timespec now, begun;
  timespec_get(&begun, TIME_UTC);
  do timespec_get(&now, TIME_UTC);
  while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 20000000);
}

static int reset("""


@pytest.mark.slow
def test_the_speed_of_long_steps_is_measured_soon() -> None:
    """Of 20 ms; a check has a minute."""
    task_id = change(
        ('#include "pp_env.h"', '#include <time.h>\n\n#include "pp_env.h"'),
        ("static int reset(", WAIT.lstrip()),
        ("int has_stopped =", "wait();\n  int has_stopped ="),
    )
    parallel_pool.load_source("my_env.c")
    begun = time.monotonic()
    text = speed.report(registry.find(task_id), {})
    assert time.monotonic() - begun < 20
    assert " M ns a step, no step_many; " in text


STEP_MANY = """
static int step_many(void *shared, const pp_run *run) {
  (void)shared;
  for (int32_t i = 0; i < run->count; i++) {
    float *obs = (float *)run->fields[0];
    cart *it = (cart *)(void *)(run->states + (size_t)i * run->state_stride);
    run->reward[i] = 0;
    run->terminated[i] = 1;
    if (obs) obs[2 * i] = (float)it->position, obs[2 * i + 1] = (float)it->speed;
    if (run->fields[1]) ((double *)run->fields[1])[i] = fabs(it->position);
  }
  return PP_OK;
}

/* parallel_pool finds"""


@pytest.mark.slow
def test_episodes_of_one_step_keep_the_rules() -> None:
    """As those of a bandit."""
    task_id = change(
        ("/* parallel_pool finds", STEP_MANY.lstrip()),
        (".observe = observe,", ".observe = observe,\n    .step_many = step_many,"),
    )
    text = Path("my_env.c").read_text()
    body = text.index("static int step(pp_env *env")
    end = text.index("\n}\n", body)
    step = (
        "static int step(pp_env *env, const void *action, pp_result *result) {\n"
        "  (void)env, (void)action, (void)between, (void)top_speed, (void)end;\n"
        "  result->terminated = 1;\n  return PP_OK;"
    )
    Path("my_env.c").write_text(text[:body] + step + text[end:])
    parallel_pool.load_source("my_env.c")
    (rule,) = [each for each in testing.NATIVE_CHECKS if "of ended episodes" in each.name]
    rule(task_id)


def test_a_process_may_end_by_any_signal() -> None:
    assert supervisor.crash(-11, "", "", None).startswith("the process ended with SIGSEGV: ")
    assert supervisor.crash(-40, "", "", None).startswith("the process ended with signal 40: ")


class OldReset(gymnasium.Env[Any, Any]):
    """Its reset returns an observation alone."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, size: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-1, 1, (size,), np.float32)

    def reset(self, **_: Any) -> Any:
        return np.zeros(self.observation_space.shape, np.float32)

    def step(self, action: Any) -> Any:
        return self.reset(), 0.0, False, False, {}


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_a_reset_without_infos_breaks_a_rule(size: int) -> None:
    with pytest.raises(testing.ContractError, match="return observation and info"):
        testing.check(lambda: OldReset(size))


@pytest.mark.slow
def test_sanitizers_that_could_not_look_have_not_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start.write(Path("my_env.c"))
    build = cache.build

    def lost(source: Path, *, sanitize: bool = False) -> cache.Built:
        made = build(source)
        return made._replace(library=Path("lost.so")) if sanitize else made

    monkeypatch.setattr(cache, "build", lost)
    monkeypatch.setattr("parallel_pool._source.toolchain.Compiler.runtime", lambda self, name: "x")
    assert cli.main(["check", "my_env.c"]) == 1
    printed = capsys.readouterr().out
    assert "  FAIL  sanitizers find nothing: they could not look: " in printed
    assert printed.count("FAIL") == 1


def test_a_speed_that_could_not_be_measured_is_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command.print_line(supervisor.Line("speed", False, "the process ended"))
    command.print_line(supervisor.Line("speed", True, "7 ns a step"))
    expected = "  FAIL  speed: the process ended\n  speed 7 ns a step\n"
    assert capsys.readouterr().out == expected


def test_a_compiler_without_one_of_the_sanitizers_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fedora has a package for each."""
    start.write(Path("my_env.c"))
    monkeypatch.setattr(
        "parallel_pool._source.toolchain.Compiler.runtime",
        lambda self, name: None if name == "libubsan.so" else f"/{name}",
    )
    command.sanitize(Job(), Path("my_env.c"), 1.0, None)
    words = "has no libubsan.so: install it (Debian: libgcc-dev, Fedora: libubsan), or let CC name"
    assert words in capsys.readouterr().out
