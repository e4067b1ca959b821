"""docs/results.md from a full reproduction: tables and figures as they came out.

    swirl reproduce all --output reproduction          # under two hours on two cores; goes on where it stopped
    python studies/results_page.py reproduction        # seconds: nothing is computed again

Figures go to docs/results/<experiment>/, made small (half size, 256 colours); tables of more than 40 rows are left in
the reproduction's folder.
"""

import argparse
from importlib import import_module
from io import BytesIO
from pathlib import Path

from PIL import Image

from swirl.archive import versions
from swirl.reproduce.ledger import Ledger
from swirl.reproduce.page import Drawing, Experiment, to_markdown
from swirl.reproduce.run import EXPERIMENTS
from swirl.reproduce.settings import FULL

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# Results: the paper, reproduced

Made by `swirl reproduce all` and `python studies/results_page.py` on two CPU cores; {versions}. Every choice was made
on folds of training sessions; test sessions were scored by the finished models. Ours stands beside the published
figures, and each part says where they differ and why. Scores are nats per step.
"""


def small(figure: object) -> bytes:
    """A figure as a light PNG."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=110, facecolor="white")  # type: ignore[attr-defined]
    made = BytesIO()
    Image.open(drawn).convert("RGB").quantize(256, kmeans=2).save(made, format="PNG", optimize=True)
    return made.getvalue()


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reproduction", type=Path)
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args()
    parts = [HEAD.format(versions=", ".join(f"{name} {number}" for name, number in versions().items()))]
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
        parts.append(to_markdown(experiment, figures=f"results/{name}", level=2, most_rows=40))
    (options.docs / "results.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
