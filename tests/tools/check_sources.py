"""What `check` and the prover are made of: paths for the mark `proven` of their tests.

Both compile, translate, step and compare environments, natively and in processes. They reach no API
but Gymnasium's and PettingZoo's, and none of the other commands.
"""

OF_CHECK = (
    "csrc",
    *("parallel_pool/__init__.py", "parallel_pool/__main__.py", "parallel_pool/_command.py"),
    *("parallel_pool/_include.py", "parallel_pool/_lazy.py", "parallel_pool/_native.py"),
    *("parallel_pool/errors.py", "parallel_pool/testing.py"),
    *("parallel_pool/_apis/common", "parallel_pool/_apis/gymnasium"),
    "parallel_pool/_apis/pettingzoo",
    *("parallel_pool/_contract", "parallel_pool/_engine", "parallel_pool/_families"),
    *("parallel_pool/_prover", "parallel_pool/_source", "parallel_pool/_testing"),
    *("parallel_pool/_tracing", "parallel_pool/_translator", "parallel_pool/_workers"),
)
