"""Side-by-side measurements of parallel_pool and its rivals: `python -m parallel_pool bench`."""
