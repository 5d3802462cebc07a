"""Tables in Markdown, and what their cells say."""

from collections.abc import Iterable, Sequence
from statistics import mean, stdev, variance

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


def difference(values: Sequence[float], others: Sequence[float], digits: int = 1) -> str:
    """Of the means, with the 95% interval of Welch (1947) where there are two values or more on both sides."""
    if not values or not others:
        return NOT_RUN
    middle = mean(values) - mean(others)
    if len(values) < 2 or len(others) < 2:
        return f"{middle:+.{digits}f}, one seed"
    from scipy.stats import t  # slow to import

    parts = [variance(of) / len(of) for of in (values, others)]
    error = sum(parts)
    if error:
        freedom = error**2 / sum(part**2 / (len(of) - 1) for part, of in zip(parts, (values, others), strict=True))
        error = float(t.ppf(0.975, freedom)) * error**0.5
    return f"{middle:+.{digits}f} ({middle - error:+.{digits}f} to {middle + error:+.{digits}f})"
