"""The findings as lines for people."""

from typing import Any

from swirl.doctor.installed import OPTIONAL


def worded(findings: dict[str, Any]) -> str:
    """Return the findings of `examine` as lines for people.

    >>> found = {"swirl": "1.0", "python": "3.11", "platform": "Linux", "packages": {}, "devices": ["cpu"]}
    >>> found |= {"cores": 2, "checks": {"devices": {"passed": True, "detail": "1 device", "do": "add one"}}}
    >>> print(worded(found | {"healthy": True}))
    swirl             1.0
    python            3.11  (Linux)
    device            cpu
    cores             2
    <BLANKLINE>
    devices           advice  1 device
                              → add one
    <BLANKLINE>
    1 piece of advice: see the arrow above.
    All is well.
    """
    lines = [("swirl", findings["swirl"]), ("python", f"{findings['python']}  ({findings['platform']})")]
    for name, found in findings["packages"].items():
        lines.append((name, found or OPTIONAL.get(name, "MISSING")))
    lines += [("device", device) for device in findings["devices"]]
    lines.append(("cores", findings["cores"]))
    text = [f"{name:<18}{value}" for name, value in lines]
    text.append("")
    advice = 0
    for name, check in findings["checks"].items():
        state = "FAILED" if not check["passed"] else "advice" if check["do"] else "ok"
        advice += state == "advice"
        text.append(f"{name:<18}{state:<8}{check['detail']}")
        if check["do"]:
            text.append(f"{'':<26}→ {check['do']}")
    text.append("")
    if advice:
        what = "1 piece of advice: see the arrow" if advice == 1 else f"{advice} pieces of advice: see the arrows"
        text.append(f"{what} above.")
    text.append("All is well." if findings["healthy"] else "Something is wrong: see FAILED above.")
    return "\n".join(text)
