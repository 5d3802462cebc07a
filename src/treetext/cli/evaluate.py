"""`treetext evaluate`."""

from typing import Annotated

import typer

from treetext.cli.common import (
    DataOption,
    DataSetOption,
    JsonOption,
    ModelArgument,
    Split,
    load_data,
    note,
    open_data,
    percent,
    progress,
    show,
    show_json,
    show_tables,
)
from treetext.cli.common import table as new_table
from treetext.cli.threads import ThreadsOption, use_threads


def evaluate(
    model: ModelArgument,
    data: DataOption = None,
    split: Annotated[
        Split | None, typer.Option(help="Part of the data (default: test, or all of a file given by --data).")
    ] = None,
    settings: DataSetOption = None,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model on labelled texts.

    The texts are the test data of its recipe (default), or others by --data. Prints accuracy, macro-F1, log loss and
    calibration error, the scores of each class, and which classes are taken for which; and, for a model with n-grams
    beside its trees, the accuracy of each part alone.
    """
    use_threads(threads)
    from treetext.evaluation import baseline
    from treetext.evaluation import evaluate as score
    from treetext.models import load_model
    from treetext.show import CALIBRATION, points, score_tables, scored_texts

    loaded = load_model(model)
    recipe, part = load_data(loaded, data, settings, split, "--data"), split or Split.TEST
    with progress() as bars:
        corpus, seen = open_data(loaded, recipe, part.value, bars)
        evaluation = score(loaded, corpus, part.value, bars.more)
    for line in [*corpus.notes, *corpus.cut(part.value)]:
        note(line)
    words = baseline("bag of words", loaded.about, corpus, part.value)
    if as_json:
        origin = {"model": model, "data": corpus.name, "fingerprint": corpus.fingerprint, "seen": seen}
        show_json({**origin, **evaluation.to_dict(), "bag_of_words": words.accuracy})
        return
    about = new_table("", "")
    about.show_header = False
    about.add_row("data", scored_texts(corpus.name, evaluation.split))
    about.add_row("texts", f"{evaluation.documents:,}")
    about.add_row("without words", f"{evaluation.empty:,} (predicted: the most frequent class)")
    about.add_row("accuracy", percent(evaluation.accuracy))
    if parts := evaluation.parts:
        about.add_row("n-grams alone", percent(parts.ngrams))
        about.add_row("trees alone", percent(parts.trees))
        about.add_row("the trees add", points(parts.gain))
    about.add_row("most frequent class", percent(evaluation.majority))
    about.add_row("bag of words", percent(words.accuracy) + (f" ({words.reason})" if words.reason else ""))
    about.add_row("macro-F1", percent(evaluation.macro_f1))
    about.add_row("log loss", f"{evaluation.log_loss:.3f} nats")
    about.add_row("calibration error", f"{percent(evaluation.ece)} ({CALIBRATION})")
    if evaluation.never_predicted:
        about.add_row("never predicted", evaluation.missing())
    show(about)
    show_tables(score_tables(evaluation))
