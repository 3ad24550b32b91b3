"""Command: `python -m parallel_pool serve`, which serves environments by OpenEnv's protocol."""

from __future__ import annotations

import argparse
import os
import resource
import sys
from typing import TYPE_CHECKING

from parallel_pool._command import count, ended_by_sigterm, positive, read_options
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import quote
from parallel_pool.errors import PoolError

if TYPE_CHECKING:
    from parallel_pool._apis.leases.lease_pool import LeasePool
    from parallel_pool._apis.openenv.app import OpenEnvApp

SESSIONS, HOST, PORT = 8, "127.0.0.1", 8000
# the token, which others could see among the arguments of a command
VARIABLE = "PARALLEL_POOL_TOKEN"
# descriptors of a worker and of a session's connection, and of everything else
FILES_EACH, FILES_MORE = 9, 256
# seconds that a call may go on when its client has gone, and that workers have when all ends
GRACE, CLOSE_TIMEOUT = 1.0, 1.0
BACKENDS = ("auto", "native", "process")


def add_serve(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `serve`."""
    command.add_argument(
        "target", metavar="ENV", help="an id, or MODULE:NAME of a class or function that makes one"
    )
    command.add_argument(
        "--sessions", type=count, default=SESSIONS, metavar="N", help=f"at once ({SESSIONS})"
    )
    command.add_argument(
        "--backend",
        choices=BACKENDS,
        default="auto",
        help="of an id: native environments if there are any, else worker processes (auto)",
    )
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of an id's environment; may be given several times",
    )
    command.add_argument("--workers", type=count, metavar="N", help="processes (one a session)")
    command.add_argument("--name", help="of the environment, for clients (ENV)")
    command.add_argument("--host", default=HOST, help=f"address to bind ({HOST})")
    command.add_argument("--port", type=int, default=PORT, metavar="N", help=f"({PORT}); 0: any")
    command.add_argument(
        "--no-token",
        action="store_true",
        help=f"lets every program of this machine connect; else ${VARIABLE}, or one that is drawn",
    )
    for name, seconds, help_text in (
        ("step", 30, "of a step"),
        ("reset", 60, "of a reset"),
        ("idle", 3600, "without a message, after which a session ends"),
    ):
        command.add_argument(
            f"--{name}-timeout",
            type=positive,
            default=seconds,
            metavar="S",
            help=f"seconds {help_text} ({seconds})",
        )
    command.add_argument(
        "--max-message", type=count, default=1 << 20, metavar="N", help="bytes of a message (1 MiB)"
    )
    command.add_argument(
        "--rate", type=positive, default=5000, metavar="N", help="messages a second (5000)"
    )
    command.set_defaults(run=serve)


def serve(options: argparse.Namespace) -> int:
    """Serves environments until a signal ends it; returns the exit status."""
    from parallel_pool._apis.openenv import server

    raise_limit(options.sessions)
    with ended_by_sigterm():
        try:
            pool = make_pool(options)
        except Exception as error:
            # the environment may raise anything; the cause then has the worker's traceback
            return refuse(error.__cause__ or error)
        try:
            app = make_app(pool, options)
            server.serve(
                app, host=options.host, port=options.port, on_start=lambda url: greet(app, url)
            )
        except (PoolError, OSError, TypeError, ValueError) as error:
            return refuse(error)
        finally:
            pool.close(timeout=CLOSE_TIMEOUT)
    return 0


def refuse(error: BaseException) -> int:
    """Says why nothing is served; returns the exit status."""
    print(f"serve: {error}", file=sys.stderr)
    return 1


def make_pool(options: argparse.Namespace) -> LeasePool:
    """Makes the environments."""
    from parallel_pool._apis.common import env_specs
    from parallel_pool._apis.common.env_fn import EnvFn
    from parallel_pool._apis.leases.lease_pool import LeasePool
    from parallel_pool._workers.pool_arguments import function_of

    given = read_options(options.option)
    target, sessions, backend = options.target, options.sessions, options.backend
    is_native = target in registry.definitions()
    if backend == "native" or (backend == "auto" and is_native):
        registry.find(target)
        if options.workers is not None:
            raise ValueError(
                f"--workers {options.workers}: {quote(target)} is stepped by threads: leave it out,"
                " or choose --backend process"
            )
        return LeasePool(target, sessions, grace=GRACE, **given)
    make = function_of(target)
    if make is not target:
        if given:
            raise ValueError(f"--option {options.option[0]}: is for ids: {quote(target)} is none")
        return LeasePool([make] * sessions, num_workers=options.workers, grace=GRACE)
    spec = env_specs.find(target)
    make = EnvFn(env_specs.of_python(spec), {"disable_env_checker": True, **given}, ())
    return LeasePool([make] * sessions, num_workers=options.workers, grace=GRACE)


def make_app(pool: LeasePool, options: argparse.Namespace) -> OpenEnvApp:
    """Makes the application."""
    from parallel_pool._apis.openenv.app import NEW, OpenEnvApp

    return OpenEnvApp(
        pool,
        name=options.name or options.target.replace("/", "."),
        token=None if options.no_token else os.environ.get(VARIABLE, NEW),
        step_timeout=options.step_timeout,
        reset_timeout=options.reset_timeout,
        idle_timeout=options.idle_timeout,
        max_message=options.max_message,
        rate=options.rate,
    )


def greet(app: OpenEnvApp, url: str) -> None:
    """Says where clients connect, and with which token if nobody knows it yet."""
    secret = "" if app.token is None or VARIABLE in os.environ else f"  token {app.token}"
    print(f"serving {app.name} to {app.pool.num_envs} sessions at {url}{secret}", flush=True)


def raise_limit(sessions: int) -> None:
    """Allows as many open files as so many sessions need, if the system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sessions * FILES_EACH + FILES_MORE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
