"""Gives the engine random bytes: `python -m tests.fuzz [INPUTS] [--seed SEED] [--program NAME]`.

Each tests/c/fuzz_*.c runs under Address- and UBSan, with the same inputs for the same seed. A
report names the input.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.support import c_programs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("inputs", nargs="?", type=int, default=1_000_000, help="of each program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", choices=c_programs.FUZZ, help="only this one")
    arguments = parser.parse_args()
    for name in [arguments.program] if arguments.program else c_programs.FUZZ:
        program = c_programs.program(name, "asan")
        start = time.monotonic()
        done = c_programs.run(
            program, "asan", str(arguments.inputs), str(arguments.seed), timeout=None
        )
        if done.returncode:
            print(done.stdout + done.stderr)
            return 1
        seconds = time.monotonic() - start
        print(f"{name}: {arguments.inputs:,d} inputs, no fault, {seconds:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
