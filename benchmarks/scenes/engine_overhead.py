"""Measures what the engine adds to an environment step: builds and runs overhead.c.

overhead.c is compiled with the flags of the shipped module. It measures the CPU time of one thread,
which other load disturbs little.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness.toolchain import toolchain
from parallel_pool._bench.outcome import Bar, Outcome, Row
from parallel_pool._bench.rounds import Spread

SOURCES = tuple(Path(__file__).with_name(name) for name in ("overhead.c", "bare_loop.c"))
NAME, TITLE = "engine-overhead", "Engine overhead over a bare loop, CartPole-v1, 1024 envs, from C"
BAR_NS = 12.0


def build(program: Path) -> None:
    """Compiles the engine, sharing objects with the module's build, and links it to overhead.c."""
    import build_ffi

    with toolchain() as tools:
        table = tools.folder / "generated" / "env_table.c"
        build_ffi.write_if_changed(table, build_ffi.environment_table())
        sources = [*build_ffi.c_files(), table, *SOURCES]
        objects = [tools.compile(source, tools.own_flags) for source in sources]
        libraries = [*build_ffi.numpy_libraries(), "-lm", "-ldl"]
        tools.run([*tools.cc, "-pthread", *objects, *libraries, "-o", program])


def measure(rounds: int) -> dict[str, Any]:
    """Returns what overhead.c prints: nanoseconds of thread time per environment step."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "overhead"
        build(program)
        command = [str(program), "CartPole-v1", "1024", str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def run(rounds: int) -> Outcome:
    """Measures the overhead; the spread is that of the middle 80 % of the rounds."""
    found = measure(rounds)
    bare, added = found["bare_ns"], found["added_ns"]
    rows = [
        Row("bare loop over the callbacks", "1 thread", "only", Spread(bare, bare, bare)),
        Row(
            "added by the engine",
            "1 thread",
            "ours",
            Spread(added, found["added_low_ns"], found["added_high_ns"]),
        ),
    ]
    bars = [Bar("added", BAR_NS, added, at_least=False, unit=" ns")]
    return Outcome(NAME, TITLE, "ns of thread time per env step", 1, found["rounds"], rows, bars)


if __name__ == "__main__":
    print(json.dumps(measure(31)))
