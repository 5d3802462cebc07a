"""The table of speed: seconds for single test pairs of SNLI, for four models in turns."""

import time
from typing import Any

from studies.liu_lapata_2018.grid import GRID
from studies.liu_lapata_2018.published import SPEED
from studies.markdown import NOT_RUN, markdown
from studies.runs import Places, Say, model_of, recipe_of, version_of
from treetext.data import open_corpus
from treetext.training import new_model

RUNS = {kind: GRID.run(f"snli/ours-{kind}") for kind in SPEED}
TITLES = {kind: GRID.tables["snli"].rows[kind] for kind in SPEED}


def measure_speed(places: Places, _: dict[str, Any], say: Say) -> dict[str, Any]:
    """Time the trained models, and untrained ones in place of those that do not exist."""
    recipes = {kind: recipe_of(run, places) for kind, run in RUNS.items()}
    corpus = open_corpus(recipes["none"].data)
    trained = {kind: model for kind, run in RUNS.items() if (model := model_of(run, places)) is not None}
    models = {kind: trained.get(kind) or new_model(recipe, corpus) for kind, recipe in recipes.items()}
    pairs = [corpus.encoded.document(row) for row in corpus.rows["test"].tolist()]
    say(f"{len(pairs):,} pairs, one at a time")
    seconds: dict[str, list[float]] = {kind: [] for kind in models}
    for model in models.values():
        model.predict(pairs[:20])
    for pair in pairs:
        for kind, model in models.items():
            start = time.perf_counter()
            model.predict([pair])
            seconds[kind].append(time.perf_counter() - start)
    times: dict[str, Any] = {
        kind: {"max": max(taken), "average": sum(taken) / len(taken), "trained": kind in trained}
        for kind, taken in seconds.items()
    }
    return {**times, "of": {RUNS[kind].name: version_of(RUNS[kind], places) for kind in trained}}


def shown_speed(saved: dict[str, Any] | None) -> str:
    """A table with a row for each model, with the paper's figures in parentheses."""
    rows = []
    for kind, title in TITLES.items():
        slowest, average = SPEED[kind]
        paper = f"{average / SPEED['none'][1]:.2f}"
        if saved is None:
            rows.append([title, *[NOT_RUN] * 3])
        else:
            mine = saved[kind]
            ratio = mine["average"] / saved["none"]["average"]
            rows.append([
                title, f"{mine['max']:.4f} ({slowest:.4f})", f"{mine['average']:.4f} ({average:.4f})",
                f"{ratio:.2f} ({paper})",
            ])  # fmt: skip
    header = ["", "seconds, slowest pair", "seconds, average", "average, relative to no attention"]
    return markdown(header, rows) + _note(saved)


def _note(saved: dict[str, Any] | None) -> str:
    """A note on the machine and on untrained models."""
    if saved is None:
        return ""
    said = [f"On {saved['machine']['processor']}, {saved['machine']['threads']} threads; the paper on a GPU."]
    untrained = [title for kind, title in TITLES.items() if not saved[kind]["trained"]]
    if untrained:
        said.append(f"Untrained: {'; '.join(untrained)}.")
    return f"\n{' '.join(said)}\n"
