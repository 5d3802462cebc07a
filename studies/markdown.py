"""Tables in Markdown, and the text of their cells."""

import warnings
from collections.abc import Iterable, Sequence
from statistics import mean, stdev, variance

NOT_RUN = "not run"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean, the standard deviation and the number of values."""
    if not values:
        return NOT_RUN
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}, n = {len(values)}"


def difference(values: Sequence[float], others: Sequence[float], digits: int = 1) -> str:
    """The difference of the means, with Welch's 95% interval (1947) if both sides have two or more values."""
    if not values or not others:
        return NOT_RUN
    middle = f"{mean(values) - mean(others):+.{digits}f}"
    if len(values) < 2 or len(others) < 2:
        return f"{middle}, one seed"
    if not variance(values) + variance(others):
        return f"{middle}, no deviation"
    from scipy.stats import ttest_ind  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # raised if all values of one side are equal
        interval = ttest_ind(values, others, equal_var=False).confidence_interval(0.95)
    return f"{middle} ({interval.low:+.{digits}f} to {interval.high:+.{digits}f})"
