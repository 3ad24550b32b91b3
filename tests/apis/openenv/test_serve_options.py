"""`python -m parallel_pool serve`: options that do not go together."""

from __future__ import annotations

import socket

import pytest

from parallel_pool import __main__ as cli


def test_threads_need_no_workers(capsys: pytest.CaptureFixture[str]) -> None:
    # a port that is taken, so that nothing is served in any case
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        assert cli.main(["serve", "CartPole-v1", "--workers", "2", "--port", port]) == 1
    expected = "serve: --workers 2: 'CartPole-v1' is stepped by threads: leave it out"
    assert expected in capsys.readouterr().err
