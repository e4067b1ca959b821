"""The paper's three experiments, from data to pages: `swirl reproduce gridworld | labyrinth | spontaneous | all`.

`scale`      how much is computed
`cache`      fits and tables in files: nothing is computed twice
`gridworld`, `labyrinth`, `spontaneous`    the experiments; text.md in each has the words of its page
`fit_checks` every start scored; whether fits ended, agree, and behave as the animals did
`robustness` recordings with errors put in (App. B)
`page`       published figures, sections, tables and figures, and the folder that they become
`run`        the command
"""
