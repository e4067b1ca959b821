"""docs/results.md from a full reproduction: tables and figures as they came out.

    swirl reproduce all --output reproduction          # hours on two cores; goes on where it stopped
    git show HEAD:docs/results.md > before.md
    python studies/results_page.py reproduction --before before.md     # seconds: nothing is computed again
    python studies/results_page.py                     # the page as it is, with the panels of studies/panels.py anew

Figures go to docs/results/<experiment>/, as large as print wants them, in 256 colours; tables of more than 40 rows are
left in the reproduction's folder. With --before, each experiment ends with its headline figures that changed, old
beside new.
"""

import argparse
import json
import re
from importlib import import_module
from io import BytesIO
from pathlib import Path

import panels
from PIL import Image

from swirl.estimators.save_load import versions
from swirl.reproduce.cache import Ledger
from swirl.reproduce.page import Experiment, to_markdown
from swirl.reproduce.run import EXPERIMENTS
from swirl.reproduce.scale import FULL
from swirl.text import minus
from swirl.workflows.html import Drawing

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# Results: the paper, reproduced

Made by `swirl reproduce all` and `python studies/results_page.py`{where}; {versions}. Every choice was made
on folds of training sessions; test sessions were scored by the finished models. Ours stands beside the published
figures, and each part says where they differ and why. Scores are nats per step.
"""
QUESTION = "**Which model should one use?**"
WHICH = """**Which model should one use?** It depends on the question, and no one model wins all of them.

- *Labyrinth, what does it want, and when?* Goals that you name (`rewards.Goals((116, 0), kinds=3, place_history=1)`,
  with the priors of [the study](studies/labyrinth_goals.md)): direct runs to water and home with F1 {water:.2f} and
  {home:.2f} (published S-2 0.79 and 0.58) at {score:.4f} nats per step (published −0.7178), and the same modes from
  two halves of the sessions (ARI {twice:.3f}).
- *Labyrinth, what comes next?* Counts without any mode, of order 7 ({counts:.4f}), or a shared habit with mode goals
  (below), which is hardly ahead. *Where is it going*, to the water or out? Counts again: {counted:.3f} nats, published
  S-2 {published:.3f}, goals {forecast:.3f}; knowing nothing, {base:.3f}. So on this recording goals are a description:
  [habit or goal?](studies/habit_or_goal.md) says so too.
- *Gridworld*, where rewards of histories are the truth: S-2.
- *Spontaneous behaviour*, where states are syllables and no place can be walked to: a shared habit with mode goals. Of
  its 32 starts {near} are within 5 nats of the best, and they cut the test sessions alike (mean ARI {alike:.2f}; S-1
  {other:.2f}); fits to two halves of the sessions do not ({halves:.2f}).
"""
PANELS = {"Gridworld": "gridworld", "Water-restricted": "labyrinth", "Spontaneous": "spontaneous"}
"""How the part of an experiment begins, and its panel."""
BEGIN, END = "<!-- every measure -->", "<!-- end of every measure -->"
MEASURES = (
    "Nobody should read the next-step score alone: also where it is going, whether modes agree with what was done, and "
    "whether they come out twice (fits to the even and to the odd training sessions); published parameters are the "
    "authors' own. By [studies/panels.py](studies/panels.md)."
)
HEADLINES = (
    *("ours", "ours, action", "best start", "first split", "second split", "clean reading", "score", "test score"),
    *("F1, water runs", "F1, home runs", "mutual information", "adjusted Rand", "mean ARI", "test LL", "accuracy"),
    *("reward r, canonical", "reward r, paper's", "ARI, every two runs", "outside the simulated 95 %"),
)
"""Columns whose changes are told."""

Cells = dict[tuple[str, str, str, str], str]


def cells(markdown: str) -> Cells:
    """The headline cells of every table of a page: (experiment, section, row, column) and what stands there.

    >>> page = "## Maze\\n### Scores\\n| model | score |\\n|:---|---:|\\n| S-1 | −0.7 |"
    >>> cells(page)
    {('Maze', 'Scores', 'S-1', 'score'): '−0.7'}
    """
    found: Cells = {}
    experiment = section = ""
    head: list[str] = []
    for line in markdown.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if line.startswith("## "):
            experiment = line[3:]
        elif line.startswith("### "):
            section = line[4:]
        elif row and not head:
            head = row
        elif row and not line.startswith("|:"):
            for name, value in zip(head, row, strict=False):
                if name in HEADLINES:
                    found.setdefault((experiment, section, row[0], name), value)
        if not row:
            head = []
    return found


def changes(before: str, now: str, experiment: str, why: str) -> str:
    """Headline figures of an experiment that changed, old beside new; nothing where none did."""
    old, new = cells(before), cells(now)
    rows = [
        f"| {section} | {row} | {column} | {old[key]} | {value} |"
        for key, value in new.items()
        for at, section, row, column in [key]
        if at == experiment and key in old and old[key] != value
    ]
    if not rows:
        return ""
    table = ["| section | row | column | before | now |", "|:---|:---|:---|---:|---:|", *rows]
    return "\n".join(["### What changed since the page before", "", why, "", *table, ""])


def small(figure: object) -> bytes:
    """A figure as a light PNG, at the 300 dots to the inch that print wants."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=300, facecolor="white")  # type: ignore[attr-defined]
    made = BytesIO()
    Image.open(drawn).convert("RGB").quantize(256, kmeans=2).save(made, format="PNG", optimize=True, dpi=(300, 300))
    return made.getvalue()


def which_model() -> str:
    """What to use for which question, with the figures of the studies."""
    found = json.loads((Path(__file__).parent / "results" / "labyrinth_goals.json").read_text(encoding="utf-8"))
    split = found["splits"]["0"]
    rows, twice = split["rows"], split["two halves of the sessions"]["mean ARI"]
    goals, counts = rows["goals"], rows["counts of order 7"]["score"]
    panel = json.loads((Path(__file__).parent / "results" / "panels.json").read_text(encoding="utf-8"))
    out, starts = panel["labyrinth"]["water or exit"], panel["spontaneous"]["starts"]
    shared = next(row for row in panel["spontaneous"]["rows"] if row["model"] == "habit + goals")
    told = WHICH.format(
        water=goals["F1 water"], home=goals["F1 home"], score=goals["score"], twice=twice, counts=counts,
        counted=out["rows"]["counts"][0], published=out["rows"]["published S-2"][0], forecast=out["rows"]["goals"][0],
        base=out["base rate"], near=starts["habit + goals"]["within 5 nats"],
        alike=starts["habit + goals"]["mean ARI"], other=starts["S-1"]["mean ARI"], halves=shared["same_twice"],
    )  # fmt: skip
    return minus(told)


def with_panels(page: str) -> str:
    """The page with what to use, and every measure at the end of each experiment, in the place of what was there."""
    first, last = page.index(QUESTION), page.index("\n## ")
    page = page[:first] + which_model() + page[last:]
    found = json.loads((Path(__file__).parent / "results" / "panels.json").read_text(encoding="utf-8"))
    parts = re.split(r"(?m)^(?=## )", re.sub(rf"(?s){BEGIN}.*?{END}\n*", "", page))
    for i, part in enumerate(parts):
        name = next((name for title, name in PANELS.items() if part.startswith(f"## {title}")), None)
        if name in found:
            lines = [BEGIN, "### Every measure, side by side", "", MEASURES, "", *panels.section(found[name]), END, ""]
            parts[i] = part.rstrip("\n") + "\n\n" + minus("\n".join(lines)) + "\n"
    return "".join(parts).rstrip("\n") + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reproduction", type=Path, nargs="?", help="left out: only what studies/panels.py found anew")
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--before", type=Path, help="the page as it was, to tell what changed")
    parser.add_argument("--why", default="", help="why it changed, in a sentence or two")
    parser.add_argument("--where", default="", help="on which machines it was computed")
    options = parser.parse_args()
    whole = options.docs / "results.md"
    if options.reproduction is None:
        whole.write_text(with_panels(whole.read_text(encoding="utf-8")), encoding="utf-8")
        return
    before = options.before.read_text(encoding="utf-8") if options.before else ""
    made = ", ".join(f"{name} {number}" for name, number in versions().items())
    parts = [HEAD.format(where=f", {options.where}" if options.where else "", versions=made), which_model()]
    for name, module in EXPERIMENTS.items():
        ledger = Ledger(options.reproduction / "fits" / name)
        if not ledger.folder.exists():
            continue
        experiment: Experiment = import_module(module).run(FULL, ledger)
        experiment.about["seconds of computing"] = round(sum(ledger.seconds.values()))
        folder = options.docs / "results" / name
        folder.mkdir(parents=True, exist_ok=True)
        for block in experiment.blocks:
            if isinstance(block, Drawing):
                (folder / f"{block.name}.png").write_bytes(small(block.figure))
        part = to_markdown(experiment, figures=f"results/{name}", level=2, max_rows=40)
        parts.append(part + "\n" + changes(before, part, experiment.title, options.why) if before else part)
    whole.write_text(with_panels("\n".join(parts)), encoding="utf-8")


if __name__ == "__main__":
    main()
