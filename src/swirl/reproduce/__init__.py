"""The paper's three experiments, from data to pages: `swirl reproduce gridworld | labyrinth | spontaneous | all`.

`scale`      how much is computed
`cache`      fits and tables in files: nothing is computed twice
`published`  the figures that stand beside ours
`gridworld`, `labyrinth`, `spontaneous`    the experiments
`fit_checks` whether fits ended, and behave as the animals did
`robustness` recordings with errors put in (App. B)
`page`       sections, tables and figures, and the folder that they become
`run`        the command
"""
