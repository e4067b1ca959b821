"""Files in, files out.

Readers (one format each: `session_table`, `moseq`, `tracks`, `nwb`, `episodes`) return `Trajectories`, with notes on
what was done on the way.  Writers: netCDF, tables, NWB, MATLAB.  Nothing is unpickled, and a file is written whole or
not at all.
"""
