"""The command that makes environments of other Pythons: python -m tests.support.interpreters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import interpreters

# no machine has it
VERSION = "3.99"
SHIM = """\
#!/bin/sh
echo "pyenv: python3.99: command not found" >&2
exit 127
"""
# stands for an interpreter: it says its version and makes an environment with a pip
PYTHON = """\
#!/bin/sh
case "$1" in
  -c) echo 3.99 ;;
  -m) mkdir -p "$3/bin" && printf '#!/bin/sh\\necho "$@" > "%s/asked"\\n' "$3" > "$3/bin/pip" &&
      chmod +x "$3/bin/pip" ;;
esac
"""


def write(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose PATH has pyenv's shim of a version that is not selected."""
    write(tmp_path / ".pyenv/shims" / f"python{VERSION}", SHIM)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / '.pyenv/shims'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setattr(interpreters, "WANTED", {VERSION: ("numpy<2", "cffi")})
    return tmp_path


def test_it_passes_over_a_shim_that_does_not_run(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home / ".pyenv/versions" / f"{VERSION}.1" / "bin/python", PYTHON)
    interpreters.main(home / "made")
    made = home / "made" / VERSION
    assert capsys.readouterr().out == f"OTHER_PYTHONS={made / 'bin/python'}\n"
    assert (made / "asked").read_text() == "install -q numpy<2 cffi\n"


def test_it_says_which_python_is_not_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interpreters.main(home / "made")
    assert capsys.readouterr() == ("OTHER_PYTHONS=\n", f"no Python {VERSION}\n")


def test_an_environment_that_can_not_be_made_is_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a system's Python without the module venv."""
    python = PYTHON.replace("-m) mkdir", '-m) mkdir -p "$3/bin"; exit 1; mkdir')
    write(home / ".pyenv/versions" / f"{VERSION}.1" / "bin/python", python)
    interpreters.main(home / "made")
    out, err = capsys.readouterr()
    assert out == "OTHER_PYTHONS=\n" and f"no environment of Python {VERSION}: " in err
    assert not (home / "made" / VERSION).exists()
