"""The APIs a pool is seen through: one file each, and what several of them share."""
