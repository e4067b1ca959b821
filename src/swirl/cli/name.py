"""`swirl name`: what the modes of a fit are called from now on."""

from math import isnan
from typing import Annotated

import typer

from swirl.cli.options import Fit, Json, Quiet

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl name fit.nc water home explore")
def name(
    fit: Fit,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="One for each mode, in their order; none: show them.", show_default=False),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Name the modes of a fit, once the report has shown what they are.

    Only the names in the file change. The report, figures and exported tables use them from then on.
    """
    from swirl.cli.output import show_json
    from swirl.workflows.load import open_fit

    model = open_fit(fit)
    if names:
        model.name_modes(names).save(fit, overwrite=True)
    known = model.mode_names_
    shares = model.mode_shares
    if as_json:
        show_json({"names": known, "mode_shares": shares})
    elif not quiet:
        for i, share in enumerate(shares):
            expected = "" if isnan(share) else f"  expected at {share:.0%} of the steps"
            typer.echo(f"mode {i}  {'(no name)' if known is None else known[i]}{expected}")
