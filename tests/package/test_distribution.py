"""What else hands the package to users: the conda recipe, the Dockerfile and the notebook."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

import parallel_pool

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def normal(requirements: list[str]) -> set[str]:
    """Returns requirements without spaces: conda writes `numpy >=1.26`, pip takes more forms."""
    return {requirement.replace(" ", "") for requirement in requirements}


def test_the_conda_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = yaml.safe_load((ROOT / ".ci" / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == parallel_pool.__version__
    project = PROJECT["project"]
    wanted = [*project["dependencies"], f"python {project['requires-python']}"]
    assert normal(recipe["requirements"]["run"]) == normal(wanted)
    # conda-forge chooses the version of NumPy that it builds with
    build = {word for word in normal(PROJECT["build-system"]["requires"]) if "numpy" not in word}
    assert build < normal(recipe["requirements"]["host"])
    assert recipe["about"]["summary"] == project["description"]


def test_the_notebook_holds_the_programs_of_the_readme() -> None:
    """tests/package/test_docs.py runs those."""
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    notebook = json.loads((ROOT / "examples" / "colab.ipynb").read_text())
    cells = ["".join(it["source"]) for it in notebook["cells"] if it["cell_type"] == "code"]
    install, *others = cells
    assert install == "%pip install --quiet 'parallel_pool[atari]'"
    assert others == [program.rstrip("\n") for program in programs]


def test_the_image_installs_extras_that_exist() -> None:
    text = (ROOT / "examples" / "Dockerfile").read_text()
    (extras,) = re.findall(r"'parallel_pool\[(.*?)\]'", text)
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
