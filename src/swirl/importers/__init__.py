"""Users' files, read as plain arrays per session (`Sessions`), which `Trajectories.from_…` takes in.

One format per file: `tables` (CSV, Parquet, pandas), `syllables` and `moseq`, `tracks`, `places` and `visits`
(positions that become states), `nwb`, `episodes`.  Nothing here knows models or environments, and nothing is unpickled.
"""
