"""EM and all it needs: messages, the E-step's engines, the M-step's container, starts, sampling, online filtering.

Nothing here knows files, estimators or users' options: arrays and components in, counts and posteriors out.
"""
