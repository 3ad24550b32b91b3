"""The APIs in which users see a pool: one package each, and modules that several of them share."""
