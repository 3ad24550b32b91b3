"""The command `tune`: its options, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from parallel_pool._command import ended_by_sigterm, positive
from parallel_pool._tuner.search import MIN_GAIN_ROUNDS, Gain
from parallel_pool._tuner.tune import FailedScriptError, Result, tune

# seconds of a measurement by default, and of all together
SECONDS, LIMIT = 3.0, 116.0
DESCRIPTION = """Runs SCRIPT for some seconds with other numbers of threads or worker processes of
its pools, and of torch's threads, all in turns; prints what to change, and the gain as measured. A
number among the script's arguments that may change is written as --num-envs '{num_envs:16}' (also
batch_size); that changes what the script does. Each process does what the script does, files that
it writes included, until it is ended in the middle."""


def add_tune(parser: argparse.ArgumentParser, script: Callable[[str], Path]) -> None:
    """Adds the options; `script` reads the path of a script."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "--seconds", type=positive, default=SECONDS, metavar="S", help="of each measurement (3)"
    )
    parser.add_argument(
        "--limit", type=positive, default=LIMIT, metavar="S", help="of all together (116)"
    )
    parser.add_argument("script", type=script, metavar="SCRIPT", help="a file of Python")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="of the script")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Tunes a script; returns the exit status."""
    say = partial(print, flush=True)
    try:
        with ended_by_sigterm():
            result = tune(options.script, options.arguments, options.seconds, options.limit, say)
    except FailedScriptError as error:
        print(f"parallel_pool tune: {options.script}: {error}", file=sys.stderr)
        return 1
    _show(result)
    return 0


def _show(result: Result) -> None:
    """Prints what to change."""
    setting, gain, facts = result
    if not gain.rounds:
        print(
            "\nNo other setting was measured: there is none, or all failed, or --limit is too"
            " short."
        )
        return
    if gain.rounds < MIN_GAIN_ROUNDS:
        print(
            f"\nThere was time for one round only, in which {setting} was the fastest:"
            f" {_times(gain)}. Raise --limit."
        )
        return
    if not gain.is_worth_it:
        print("\nThe script is best as it is: no setting is faster by more than noise.")
        print(f"The best of the others, {setting}: {_times(gain)}.")
        return
    print(f"\nChange this, for {_times(gain)}:")
    was = {f"num_{facts['unit']}s": facts["count"], "math_threads": facts["math_threads"]}
    for line in setting.lines(facts["place"], was):
        print(f"  {line}")
    if setting.numbers:
        print(
            "Another number of environments or rows changes what the script does: compare what it"
            " learns, too."
        )


def _times(gain: Gain) -> str:
    spread = f"{gain.low:.2f} to {gain.high:.2f}, {gain.rounds} round{'s' * (gain.rounds != 1)}"
    return f"{gain.median:.2f} times the speed ({spread})"
