"""The demonstration's own page: what was true beside what was found.  It needs no library that the report needs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.io.atomic_write import write_text
from swirl.report.writing import ASSETS
from swirl.text import minus
from swirl.workflows.demo.figures import Picture
from swirl.workflows.html import Block, Markup, Section, Text, embedded, escaped, page

COLUMNS = {
    "test_log_likelihood": ("Score", "{:.4f}"),
    "accuracy": ("Right mode", "{:.1%}"),
    "reward_canonical": ("Reward", "{:.3f}"),
    "reward_paper": ("Reward, as fitted", "{:.3f}"),
    "seconds": ("Seconds", "{:.1f}"),
}
SECTIONS = {  # name → in the contents, heading, lead, caption
    "scores": (
        "Scores",
        "How close did each model come?",
        "Scored on sessions that no model had seen, beside the truth’s own score.",
        "Every restart of every model (boxes: quartiles, whiskers 1.5 · IQR): held-out log-likelihood, segmentation "
        "accuracy and reward correlation (canonical gauge). Dashed: the truth’s own score on the same sessions.",
    ),
    "rewards": (
        "Rewards",
        "What did it want?",
        "The rewards that the agent followed, and those that S-2 read off its steps.",
        "Rewards r(sₜ, sₜ₋₁), each map stretched over 0 to 1. Each cell is split by the previous location (key on the "
        "right); light grey: no such move. Different rewards can lead to the same behaviour, and no recording tells "
        "them apart. The second row is the smallest reward with the same behaviour as the true one: S-2 is to be "
        "compared with that.",
    ),
    "segments": (
        "When it switched",
        "When did it change its mind?",
        "One test session, step by step.",
        "The true modes and the most likely ones of each model (Viterbi), with visits to water and home; below, S-2’s "
        "probability of each mode.",
    ),
    "switching": (
        "Where it switched",
        "Where did it change its mind?",
        "The true agent leaves its water mode mostly at the water, and its home mode at home.",
        "Probability of leaving each mode at each location: true (top) and found by S-2 (bottom).",
    ),
}
# The look is the report's; figures are drawn on white, so they keep a light card where the page is dark.
STYLE = """
.card { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: .8rem; display: block; width: fit-content; max-width: 100%; }
.card img { display: block; width: 100%; height: auto; }
.models { grid-template-columns: max-content minmax(0, 1fr); } .models dt { color: var(--ink); font-weight: 600; } .models dd { margin: 0; }
.scores th { white-space: normal; } tr.truth > * { font-style: italic; } tr.best > * { font-weight: 650; }
.next { list-style: none; padding: 0; margin: 0 0 .4rem; } .next pre { user-select: all; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 1.1rem; } .next span { display: inline-block; max-width: 100%; }
@media screen and (max-width: 46rem) {
  .scores { font-size: .8rem; width: 100%; } .scores thead th { font-size: .72rem; } .scores th, .scores td { padding: .3rem .15rem; } .scores tr > :first-child { padding-left: 0; }
  .models { gap: .5rem .9rem; }
  .card { padding: .3rem; margin: 0 -.5rem; max-width: calc(100% + 1rem); }
}
"""  # noqa: E501
THEME = """document.documentElement.dataset.theme = \
matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";"""


def write_page(
    path: Path,
    rows: list[dict[str, Any]],
    n_scored: int,
    fits: Mapping[str, SWIRL],
    sentences: Mapping[str, str],
    pictures: Mapping[str, Picture],
    commands: Mapping[str, str],
    *,
    seed: int,
    found: str,
    with_report: bool,
) -> None:
    """Write the page to `path`, with the figures inside it.

    Parameters
    ----------
    rows
        Of the table, the truth's first.
    sentences
        What each model may do.
    commands
        What to try next: words → command.
    found
        Which of S-2's modes is which.
    with_report
        Whether report.html stands beside it.
    """
    truth, s2 = rows[0], next(row for row in rows if row["model"] == "S-2")
    report = (
        ' <a href="report.html">The report on S-2</a> is the page that you would get of your own recordings, where no '
        "truth is known."
        if with_report
        else ""
    )
    sections = [
        Section(
            "Summary",
            [
                Markup(f"""<p class="lead">An agent walks a 5 × 5 grid. In its <em>water</em> mode it is rewarded for
arriving at the water and for leaving it again; in its <em>home</em> mode for being at home. It tends to switch at the
water and at home. The models saw only its steps, neither its modes nor its rewards.</p>
<ul class="tiles">{_tile(s2, "accuracy", "{:.1%}", "of steps in the right mode")}
{_tile(truth, "accuracy", "{:.1%}", "with the true model")}
{_tile(s2, "reward_canonical", "{:.2f}", "correlation with the true reward")}</ul>
<p>{escaped(found)}{report}</p>"""),
                Text(
                    f"The data are simulated (seed {seed}), so everything about this agent is known: this page sets "
                    "what the models found beside it."
                ),
            ],
            name="summary",
        ),
        Section(
            "The models",
            [
                Text("From no change of mind at all to one that depends on the place.", "lead"),
                _list("dl", "models", (f"<dt>{n}</dt><dd>{escaped(_sentence(sentences[n]))}</dd>" for n in fits)),
            ],
            name="models",
        ),
    ]
    for name, (short, heading, lead, caption) in SECTIONS.items():
        blocks: list[Block] = [Text(lead, "lead")]
        blocks += _table(rows, n_scored) if name == "scores" else []
        blocks += [_figure(pictures[name], caption)] if name in pictures else []
        sections.append(Section(heading, blocks, short, name))
    endings = (f"<li><strong>{n}</strong>: {escaped(minus(model.fit_report_))}</li>" for n, model in fits.items())
    sections.append(Section("How the fits ended", [_list("ul", "plain", endings)], "The fits", "fits"))
    steps = (f"<li>{escaped(words)}<pre>{_wrapped(command)}</pre></li>" for words, command in commands.items())
    try_next = (
        "The demo left its data and its fit beside this page, as commands read them. In the folder where you ran it, "
        "try:"
    )
    sections.append(Section("What next", [Text(try_next, "lead"), _list("ul", "next", steps)], name="next"))
    made_with = ", ".join(f"{name} {number}" for name, number in versions().items())
    text = page(
        "What was true, and what was found",
        sections,
        footer=f"Made with {made_with}.",
        brand=Markup('<p class="brand">swirl<span> demo</span></p>'),
        style=(ASSETS / "style.css").read_text(encoding="utf-8") + STYLE,
        script=THEME,
    )
    write_text(path, text, overwrite=True)


def _list(tag: str, kind: str, items: Iterable[str]) -> Markup:
    return Markup(f'<{tag} class="{kind}">{"".join(items)}</{tag}>')


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _wrapped(command: str) -> str:
    """Where the screen is narrow, lines break between the words of a command only: not after the hyphens of an option.

    >>> _wrapped("swirl fit --modes 3")
    '<span>swirl</span> <span>fit</span> <span>--modes</span> <span>3</span>'
    """
    return " ".join(f"<span>{escaped(word)}</span>" for word in command.split(" "))


def _tile(row: dict[str, Any], key: str, form: str, label: str) -> str:
    return f"<li><b>{_number(row[key], form)}</b><span>{label}</span></li>"


def _number(value: float | None, form: str) -> str:
    return "—" if value is None else minus(form.format(value)).replace("%", " %")


def _table(rows: list[dict[str, Any]], n_scored: int) -> list[Block]:
    best = max(rows[1:], key=lambda row: row["test_log_likelihood"])["model"]
    head = "".join(f'<th scope="col">{title}</th>' for title, _ in COLUMNS.values())
    body = ""
    for row in rows:
        kind = "truth" if row["model"] == "truth" else "best" if row["model"] == best else ""
        cells = "".join(f"<td>{_number(row[key], form)}</td>" for key, (_, form) in COLUMNS.items())
        body += f'<tr class="{kind}"><th scope="row">{row["model"]}</th>{cells}</tr>'
    table = (
        f'<div class="table"><table class="scores"><thead><tr><th scope="col">Model</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    note = (
        f"Score: log-likelihood of the {n_scored:,} test steps, nats per step, each given its past "
        "alone; higher is better. Right mode: share of steps whose most likely mode (Viterbi) is the true one. "
        "Reward: correlation with the true reward, both in their least-norm form; as fitted is the paper’s measure. "
        "Seconds: fitting all restarts, compilation included."
    )
    return [Markup(table), Text(note, "small")]


def _figure(picture: Picture, caption: str) -> Markup:
    wide, narrow = embedded(picture.file.read_bytes()), embedded(picture.narrow)
    text = escaped(caption)
    return Markup(
        f'<figure><picture class="card"><source media="(max-width: 46rem)" srcset="{narrow}">'
        f'<img alt="{text}" src="{wide}" style="max-width: {110 * picture.width:.0f}px"></picture>'
        f"<figcaption>{text}</figcaption></figure>"
    )
