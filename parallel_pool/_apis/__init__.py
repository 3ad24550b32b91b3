"""The APIs in which users see a pool: one package each, and what several of them share."""
