"""Files in, files out.

Readers (one format each: `session_table`, `moseq`, `tracks`, `nwb`, `episodes`) give plain arrays per session
(`imported.Sessions`), which `Trajectories.from_…` takes in.  Writers: netCDF, tables, NWB, MATLAB.  Nothing is
unpickled, and a file is written whole or not at all.
"""
