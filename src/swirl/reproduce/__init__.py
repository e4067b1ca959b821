"""The paper's three experiments, from data to pages: `swirl reproduce gridworld | labyrinth | spontaneous | all`.

`settings`   how much is computed
`ledger`     fits and tables in files: nothing is computed twice
`published`  the figures that stand beside ours
`gridworld`, `labyrinth`, `spontaneous`    the experiments
`page`       sections, tables and figures, and the folder that they become
`run`        the command
"""
