"""The process that `benchmarks.studies.api_steps` starts: plays a loop over public names.

It runs as a script under a checkout's interpreter, with the checkout on PYTHONPATH and the parts of
the loop as JSON, and imports nothing of the benchmarks.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any

PLAY = """
def play(batches):
    for i in range(batches):
        action = actions[i % 8]
        {step}
"""


def main(parts: dict[str, Any]) -> None:
    """Makes the environments; then plays, for each line of stdin, the number of batches in it."""
    out = sys.stdout

    def send(data: dict[str, Any]) -> None:
        print(json.dumps(data), file=out, flush=True)

    with redirect_stdout(sys.stderr):
        names: dict[str, Any] = {"rows": parts["rows"]}
        imports = "import gymnasium\nimport numpy as np\nimport parallel_pool\n"
        exec(imports + parts["setup"], names)
        exec(
            f"rng = np.random.default_rng(1)\nactions = [{parts['actions']} for _ in range(8)]",
            names,
        )
        exec(PLAY.format(step=parts["step"]), names)
        send({"children": []})
        for line in sys.stdin:
            names["play"](int(line))
            # of all rows together
            send({"steps": int(line)})
        names["envs"].close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
