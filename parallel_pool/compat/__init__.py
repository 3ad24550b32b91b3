"""The APIs in which users see a pool: one module with names for each.

Their code is in `_apis`. Three more modules serve Gymnasium: `gymnasium_hook`, and the entry points
in its registry.
"""
