"""What was recorded and inferred, written for other programs; each file is written whole or not at all.

One format per file: `tables` (pandas, CSV, Parquet), `nwb` (NWB files with EthogramBouts), `matlab` (MATLAB .mat).
`bouts` says when a bout stops, alike in tables and NWB; the care of writing itself is in `swirl.writing`.
"""
