"""Every figure of one fit, each with the numbers that it draws.

A figure is made by a function of a `Fit` that returns it with its table; one that has nothing to draw raises
`DoesNotApply` and says why.  `catalogue` lists them.
"""
