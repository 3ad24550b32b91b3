"""The APIs in which users see a pool: a package for each, and modules that several of them use."""
