"""Compares compiled programs with Python: `python -m integration.compare.same_in_jax [ID ...]`.

Each native id is stepped by one program and by Python's calls, with the same seeds and actions. All
columns of all steps must have the same bits. It prints what differs, and how many ids were equal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import jax

from parallel_pool._engine import registry
from tests.support.jax_scans import compare


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m integration.compare.same_in_jax", description=__doc__
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="all native ids, if none is named")
    parser.add_argument("--steps", type=int, default=1000, help="of each environment (1000)")
    options = parser.parse_args(arguments)
    ids = options.ids or sorted(registry.definitions())
    start, wrong = time.monotonic(), 0
    with jax.enable_x64(True):
        for env in ids:
            try:
                compare(env, options.steps, num_envs=2)
            except AssertionError as error:
                wrong += 1
                print(f"{env}: {error}", flush=True)
    seconds = time.monotonic() - start
    print(f"{len(ids) - wrong} of {len(ids)} ids equal over {options.steps} steps, {seconds:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
