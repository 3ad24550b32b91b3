"""The module whose private names parallel_pool reads by `getattr`."""
