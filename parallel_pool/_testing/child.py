"""Child: the process that runs the checks, so that a crash or an endless step ends only it.

It ends with its parent process, whatever it is doing: no killed `check` leaves a loop behind.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from parallel_pool._contract import guards, speed, suite
from parallel_pool._contract.check_names import FORGED, STOPPING
from parallel_pool._contract.notes import Notes
from parallel_pool._engine import registry
from parallel_pool._engine.specs import Definition
from parallel_pool._native import lib
from parallel_pool._prover.contract_error import ContractError
from parallel_pool._testing.messages import LOAD, SPEED, Job
from parallel_pool.errors import EnvError, PoolError


def main(job_text: str, pipe: int, note_file: int, parent: int) -> None:
    """Runs the checks of a job, and reports each to the parent process, and that all are done."""
    if lib.pp_worker_exit_with(parent) < 0:
        sys.exit(f"process {parent} has ended, or too many threads run to wait for its end")

    def report(**line: Any) -> None:
        os.write(pipe, (json.dumps(line) + "\n").encode())

    run(Job(**json.loads(job_text)), Notes(note_file), report)
    report(end=True)


def run(job: Job, notes: Notes, report: Callable[..., None]) -> None:
    """Runs the checks of a job."""
    report(check=LOAD)
    notes.write("the library's constructors" if job.library else "")
    options = dict(job.options or {})
    found = outcome(lambda: find(job).configure(registry.fill_options(find(job), options)))
    if not found["done"]:
        report(**found)
        return
    definition = find(job)
    report(done=True)
    few = job.sanitized
    for check in suite.NATIVE_CHECKS:
        notes.write("")
        report(check=check.name)
        more: dict[str, Any] = {"few": few}
        if check.name in (STOPPING, FORGED):
            more |= {"told": notes.callback, "zone": 0 if job.sanitized else guards.ZONE}
        found = outcome(partial(check, definition, options=options, **more))
        report(**found)
        if check.name == STOPPING:
            if not found["done"]:
                return
            few = few or suite.is_expensive(definition, options=options)
    if job.speed:
        report(check=SPEED)
        report(done=True, text=speed.report(definition, options))


def find(job: Job) -> Definition:
    """Returns the definition of a job."""
    if not job.library:
        return registry.find(job.task_id)
    return registry.open_library(job.library, job.symbol)[0]


def outcome(run: Callable[[], Any]) -> dict[str, Any]:
    """Runs a check; returns the line that reports it."""
    try:
        run()
    except (ContractError, EnvError) as error:
        return {"done": False, "text": str(error)}
    except (ValueError, TypeError) as error:
        return {"done": False, "text": str(error)}
    except (PoolError, MemoryError) as error:
        return {"done": False, "text": f"{type(error).__name__}: {error}"}
    return {"done": True}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
