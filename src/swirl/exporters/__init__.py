"""What was recorded and inferred, written for other programs; each file is written whole or not at all.

One format per file: `tables` (pandas, CSV, Parquet), `nwb`, `matlab`.  `writing` holds the care of writing itself.
"""
