"""The demonstration's report: one HTML file with the table and the figures inside it."""

import base64
import html
from pathlib import Path
from typing import Any

from swirl.archive import versions
from swirl.model import SWIRL

NOTES = (
    "LL: log p(action | past) per step, from the forward filter alone. Accuracy: share of steps whose Viterbi mode is "
    "right. Reward: correlation with the true reward, in its gauge-free (canonical) form and in the paper's measure "
    "(fitted gauge). Seconds: fitting all restarts, compilation included."
)
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .35rem .9rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; } tr.truth td { font-style: italic; }
tr.best td { font-weight: 600; } figure { margin: 2rem 0; }
img { max-width: 100%; background: white; padding: .5rem; border-radius: 6px; box-sizing: border-box; }
figcaption, .small { font-size: .87rem; opacity: .8; } li { margin: .3rem 0; }
"""
COLUMNS = {
    "test_log_likelihood": ("test LL (nats/step)", "{:.4f}"),
    "accuracy": ("accuracy", "{:.1%}"),
    "reward_canonical": ("reward, canonical", "{:.3f}"),
    "reward_paper": ("reward, paper", "{:.3f}"),
    "seconds": ("seconds", "{:.1f}"),
}


def write_report(
    path: Path,
    rows: list[dict[str, Any]],
    n_scored: int,
    fits: dict[str, SWIRL],
    figures: dict[str, str],
    seed: int,
) -> None:
    """Write the report to `path`; figures are read from the same folder and embedded."""
    best = max(rows[1:], key=lambda row: row["test_log_likelihood"])["model"]
    occupancy = " and ".join(f"{share:.0%}" for share in fits["S-2"].occupancy_)
    endings = "".join(
        f"<li><strong>{name}</strong>: {html.escape(model.fit_report_)}</li>" for name, model in fits.items()
    )
    pictures = "".join(_figure(path.parent / file, caption) for file, caption in figures.items())
    made_with = ", ".join(f"{name} {number}" for name, number in versions().items())
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>swirl demo</title><style>{STYLE}</style></head><body>
<h1>What does the agent want, and when does it change its mind?</h1>
<p>An agent walks a 5 × 5 grid. In its <em>water</em> mode it is rewarded for arriving at the water and for leaving it
again; in its <em>home</em> mode for being at home. It tends to switch at the water and at home. The models saw only
its steps, neither its modes nor its rewards, and are tested on sessions they did not see (seed {seed}).</p>
{_table(rows, best)}
<p class="small">{n_scored:,} test steps scored. {html.escape(NOTES)}</p>
{pictures}
<h2>How the fits ended</h2>
<ul>{endings}</ul>
<p>S-2 spends {occupancy} of the training steps in its two modes.</p>
<p class="small">Made with {html.escape(made_with)}.</p>
</body></html>
"""
    path.write_text(page, encoding="utf-8")


def _table(rows: list[dict[str, Any]], best: str) -> str:
    head = "".join(f"<th>{title}</th>" for title, _ in COLUMNS.values())
    body = ""
    for row in rows:
        kind = "truth" if row["model"] == "truth" else "best" if row["model"] == best else ""
        cells = "".join(
            f"<td>{'—' if row[key] is None else form.format(row[key])}</td>" for key, (_, form) in COLUMNS.items()
        )
        body += f'<tr class="{kind}"><td>{row["model"]}</td>{cells}</tr>'
    return f'<div class="table"><table><tr><th>model</th>{head}</tr>{body}</table></div>'


def _figure(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    text = html.escape(caption)
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'
