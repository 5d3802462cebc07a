"""The paper's two tables of trees, for trained models, with diagnostics and the agreement with treebanks."""

from typing import Any

from studies.liu_lapata_2018.grid import GRID
from studies.liu_lapata_2018.published import DOCUMENT_TREES, SENTENCE_TREES
from studies.markdown import NOT_RUN, markdown
from studies.runs import Places, Say, model_of, recipe_of
from treetext.data import open_corpus, read_treebank
from treetext.evaluation import agreement, analyse
from treetext.show import Table, agreement_tables

EWT, GUM = "ud_english_ewt", "gum"
SENTENCE_RUN = GRID.run("snli/ours-nonprojective")
DOCUMENT_RUNS = {name: GRID.run(f"{name}/ours-both") for name in DOCUMENT_TREES}
ROWS = {
    "projective": "projective trees, %",
    "height": "height",
    **{f"depth_{depth}": f"nodes at depth {depth}, %" for depth in range(1, 6)},
    "star": "vacuous: all hang from the root, %",
    "hub": "vacuous: all hang from one node, %",
    "leaves": "leaves, %",
    "root_first": "root is first, %",
    "entropy": "entropy, % of its maximum",
}
SHOWN = ("model", "untrained", "random")


def sentence_trees(places: Places, _: dict[str, Any], say: Say) -> dict[str, Any]:
    """The agreement of trees over words with SNLI's parses and with a treebank."""
    model = model_of(SENTENCE_RUN, places)
    tables = []
    for treebank, published in ((GRID.sources["snli"].path, SENTENCE_TREES), (EWT, None)):
        if model is not None and treebank is not None and (places.data / treebank).exists():
            say(f"agreement of trees over words with {treebank}")
            tables += agreement_tables(agreement(model, read_treebank(places.data / treebank)), published)
    return {"tables": [table.to_dict() for table in tables]}


def document_trees(places: Places, before: dict[str, Any], say: Say) -> dict[str, Any]:
    """Figures of the trees over the sentences of test documents, and their agreement with discourse trees."""
    results: dict[str, Any] = {"figures": before.get("figures", {}), "tables": before.get("tables", [])}
    for name, run in DOCUMENT_RUNS.items():
        model = model_of(run, places)
        if model is None:
            continue
        say(f"trees of sentences of {GRID.sources[name].title}")
        analysis = analyse(model, open_corpus(recipe_of(run, places).data), ablation=False)
        if analysis.sentences is not None:
            results["figures"][name] = {
                of: {figure: figures[figure].value for figure in ROWS}
                for of, figures in analysis.sentences.figures.items()
                if of in SHOWN
            }
    model = model_of(DOCUMENT_RUNS["debates"], places)
    if model is not None:
        results["tables"] = []
        if (places.data / GUM).exists():
            say("agreement of trees over sentences with GUM")
            tables = agreement_tables(agreement(model, read_treebank(places.data / GUM)))
            results["tables"] = [table.to_dict() for table in tables]
    return results


def shown_tables(saved: dict[str, Any] | None) -> str:
    """The saved tables in Markdown."""
    if not saved or not saved["tables"]:
        return f"{NOT_RUN}: it takes a trained model\n"
    return "\n".join(Table(**table).to_markdown() for table in saved["tables"])


def shown_documents(saved: dict[str, Any] | None) -> str:
    """A table with a column for each data set, with figures of the paper, untrained models and random trees."""
    figures = (saved or {}).get("figures", {})
    rows = []
    for figure, title in ROWS.items():
        cells = []
        for name, paper in DOCUMENT_TREES.items():
            beside = f" ({paper[figure]:g})" if figure in paper else ""
            if name not in figures:
                cells.append(NOT_RUN + beside)
            else:
                scale = 1 if figure == "height" else 100
                mine, *others = (figures[name][of][figure] for of in SHOWN)
                known = " / ".join("–" if x is None else f"{scale * x:.1f}" for x in others)
                cells.append(f"{scale * mine:.1f}{beside}; {known}")
        rows.append([title, *cells])
    header = ["", *(GRID.sources[name].title for name in DOCUMENT_TREES)]
    note = "Our model (the paper); the same model untrained / random trees.\n\n"
    gum = "\n" + shown_tables(saved) if saved and saved["tables"] else ""
    return note + markdown(header, rows) + gum
