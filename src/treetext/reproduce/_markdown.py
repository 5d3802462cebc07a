"""Tables in Markdown, and what their cells say."""

from collections.abc import Iterable, Sequence
from statistics import mean, stdev

NOT_RUN = "not run"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Mean, deviation and number."""
    if not values:
        return NOT_RUN
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}, n = {len(values)}"
