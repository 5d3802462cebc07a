"""The report: one self-contained HTML file with scores, statistics and trees."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treetext import __version__
from treetext.data import Corpus, Progress
from treetext.data.document import counted
from treetext.models import Model
from treetext.show.documents import Document, Packed, is_projective, packed, parsed_documents
from treetext.show.html import cell, html_table, table_plot
from treetext.show.plots import curve
from treetext.show.scores import points, scored_texts, scores_section
from treetext.show.tables import Table

if TYPE_CHECKING:
    from treetext.evaluation import Baseline, Evaluation

MOST_BYTES = 4_990_000
"""Size limit of a report; scores and tables are always shown, even if they take more."""
WARNING = (
    "A tree here is whatever helped the classifier. A plausible look proves nothing: compare each figure with those of"
    " the untrained model, random trees, chains and stars."
)


def report(
    model: Model,
    corpus: Corpus,
    split: str = "test",
    *,
    tables: Sequence[Table] = (),
    verdict: Sequence[str] = (),
    most: int = 500,
    seed: int = 0,
    progress: Progress | None = None,
) -> str:
    """An HTML page with a model's scores on a split and the trees it induces there.

    `tables` come from `analysis_tables`, `verdict` from the `Analysis`. If the split has more than `most` documents,
    the page shows a random sample of `most`; scores are of all documents.
    """
    from treetext.evaluation import baseline, evaluate, seen  # here: what draws trees needs no evaluation

    if most < 1:
        raise ValueError(f"most: expected 1 or more documents, got {most}")
    evaluation = evaluate(model, corpus, split, progress)
    rows = corpus.rows[split]
    # A random order even without a limit: if the file has no room for all, the first ones are a random sample.
    chosen = np.random.default_rng(seed).permutation(rows)[:most]
    documents = parsed_documents(model, corpus, chosen.tolist(), progress)
    # Without the folders of this machine: a report may go to others.
    about = {**model.about, "data": Path(corpus.name).name, "facts": model.facts()}
    words, remark = baseline("bag of words", model.about, corpus, split), seen(model, corpus, split).remark
    return report_page(evaluation, documents, tables, about, verdict=verdict, bag_of_words=words, remark=remark)


def report_page(
    evaluation: "Evaluation",
    documents: Sequence[Document],
    tables: Sequence[Table] = (),
    about: Mapping[str, Any] | None = None,
    *,
    verdict: Sequence[str] = (),
    bag_of_words: "Baseline | None" = None,
    remark: str = "",
) -> str:
    """The page from plain values: scores, parsed documents, tables, the model's metadata, and sentences on its trees.

    `bag_of_words` is the accuracy of that baseline on the same texts. `remark` is what a reader of the scores should
    know about these texts.
    """
    about = about or {}
    texts = scored_texts(about.get("data") or "its data", evaluation.split)
    title = f"{about.get('recipe_name') or 'A model'} on {texts}"
    script, style = (_part("trees.js") + _part("report.js"), _part("trees.css") + _part("report.css"))
    # Whatever is in the texts, no other script runs and nothing is fetched.
    policy = f"default-src 'none'; img-src data:; style-src {_trusted(style)}; script-src {_trusted(script)}"
    sections = {
        "scores": ("Scores", scores_section(evaluation)),
        "learning": ("Learning curves", _learning(about)),
        "trees": ("Statistics of the trees", _verdict(verdict) + _statistics(tables)),
        "documents": ("Documents", _browser(Packed([], [], None), documents, evaluation)),
        "about": ("About the model", _about(about)),
    }
    # Documents get the room that is left.
    used = len(script) + len(style) + sum(len(content.encode()) for _, content in sections.values())
    found = packed(documents, evaluation.labels, MOST_BYTES - used)
    data = {"labels": evaluation.labels, "documents": found.entries, "packed": found.contents}
    sections["documents"] = ("Documents", _browser(found, documents, evaluation))
    sections = {name: section for name, section in sections.items() if section[1]}
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, (heading, _) in sections.items())
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>{content}</section>'
        for name, (heading, content) in sections.items()
    )
    # "<" could end the script or start a comment, so JSON escapes it.
    embedded = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<meta name="generator" content="treetext {__version__}"><style>{style}</style></head>\n'
        f'<body><a class="skip" href="#documents">Skip to the documents</a><header><h1>{escape(title)}</h1>'
        f"<nav aria-label='Sections'><ul>{links}</ul></nav></header>\n"
        f"<main>{_figures(evaluation, documents, bag_of_words)}{_remark(remark)}<p>{WARNING}</p>{body}</main>\n"
        f'<script type="application/json" id="data">{embedded}</script>\n<script>{script}</script></body></html>\n'
    )


def _part(name: str) -> str:
    return (files("treetext.show") / "page" / name).read_text(encoding="utf-8")


def _trusted(text: str) -> str:
    """The source expression by which a content security policy allows an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _figures(evaluation: "Evaluation", documents: Sequence[Document], bag_of_words: "Baseline | None") -> str:
    """The main figures, at the top of the page."""
    low, high = _interval(evaluation.accuracy, evaluation.documents)
    majority = "–" if evaluation.majority is None else f"{100 * evaluation.majority:.1f}%"
    missing = f"<small>never predicted: {escape(evaluation.missing())}</small>" if evaluation.never_predicted else ""
    empty = f"<small>{evaluation.empty:,} without words: predicted as the most frequent class</small>"
    over = "sentences" if any(document.parsed.tree for document in documents) else "words"
    found = [kind for kind in (is_projective(document.parsed) for document in documents) if kind is not None]
    share = f"{100 * sum(found) / len(found):.1f}%" if found else "–"
    told = f"over {over}, in {counted(len(found), 'document')}" if found else "this model has no trees"
    figures = {
        "Accuracy": f"{100 * evaluation.accuracy:.1f}%<small>95% interval {100 * low:.1f} to {100 * high:.1f}</small>",
        "Most frequent class": f"{majority}<small>of the training data: accuracy of always predicting it</small>",
        "Bag of words": "–" if bag_of_words is None else _baseline(bag_of_words),
        "Macro-F1": f"{100 * evaluation.macro_f1:.1f}%{missing}",
        "Texts": f"{evaluation.documents:,}{empty if evaluation.empty else ''}",
        "Projective trees": f"{share}<small>{told}</small>",
    }
    if alone := evaluation.parts:
        told = f"trees alone {100 * alone.trees:.1f}%; the trees add {points(alone.gain)}"
        figures["N-grams alone"] = f"{100 * alone.ngrams:.1f}%<small>{told}</small>"
    parts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items())
    return f'<dl class="figures">{parts}</dl>'


def _remark(remark: str) -> str:
    return f"<p><strong>{escape(remark[0].upper() + remark[1:])}.</strong></p>" if remark else ""


def _baseline(baseline: "Baseline") -> str:
    if baseline.accuracy is None:
        return f"–<small>{baseline.reason}</small>"
    return f"{100 * baseline.accuracy:.1f}%<small>accuracy of a logistic regression on tf-idf</small>"


def _learning(about: Mapping[str, Any]) -> str:
    epochs = about.get("curve") or []
    if not epochs:
        return ""
    numbers, kept = [epoch["epoch"] for epoch in epochs], int(about.get("epoch") or 0)
    loss = curve("Training loss by epoch", numbers, [epoch["loss"] for epoch in epochs], kept)
    accuracy = curve(
        "Dev accuracy by epoch", numbers, [100 * epoch["dev_accuracy"] for epoch in epochs], kept, unit="%"
    )
    table = html_table(
        "Epochs",
        ["Epoch", "Loss", "Dev accuracy, percent"],
        [[str(e["epoch"]), f"{e['loss']:.4f}", f"{100 * e['dev_accuracy']:.1f}"] for e in epochs],
    )
    return (
        f"<p>The model is from epoch {kept} (ring).</p>"
        f'<div class="side-by-side">{loss}{accuracy}</div><details><summary>As a table</summary>{table}</details>'
    )


def _verdict(sentences: Sequence[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def _statistics(tables: Sequence[Table]) -> str:
    """The tables, each folded below its plot if it has one."""
    parts = []
    for table in tables:
        plot = table_plot(table)
        rows = [[cell(value) for value in row] for row in table.rows]
        numbers = html_table(table.title, table.columns, rows, table.note)
        parts.append(f"{plot}<details><summary>Numbers as a table</summary>{numbers}</details>" if plot else numbers)
    return "".join(parts)


def _browser(found: Packed, documents: Sequence[Document], evaluation: "Evaluation") -> str:
    there, shown = evaluation.documents, len(found.entries)
    why = "drawn at random" + (", as many as fit in this file" if shown < len(documents) else "")
    remark = f"<p>{shown:,} of the {there:,} texts, {why}.</p>" if shown < there else ""
    if found.kept is not None:
        likeliest = "likeliest head" if found.kept == 1 else f"{found.kept} likeliest heads"
        remark += f"<p>To save room, each word has marginals only of its {likeliest}.</p>"
    labels = [(str(i), escape(label)) for i, label in enumerate(evaluation.labels)]
    over = "Tree over sentences" if any(document.parsed.tree for document in documents) else "Trees over words"
    trees = [("projective", "projective"), ("crossing", "with crossing arcs")]
    filters = (
        _select("label", "Label", labels)
        + _select("predicted", "Predicted", labels)
        + _select("right", "Prediction", [("right", "right"), ("wrong", "wrong")])
        + (_select("tree", over, trees) if any(entry["projective"] is not None for entry in found.entries) else "")
    )
    return (
        f'{remark}<noscript><p role="alert">The list of documents needs JavaScript; the rest of the page does not.</p>'
        f'</noscript><form id="filters" hidden aria-label="Filters">{filters}'
        '<label>Beginning or source contains<input type="search" name="text" autocomplete="off"></label>'
        '<button type="reset">Show all</button><output id="count" aria-live="polite"></output></form>'
        '<div class="listed" role="region" aria-label="List of documents" tabindex="0"><table>'
        '<caption class="unseen">Documents; the button in each row opens one</caption><thead><tr>'
        '<th scope="col">Text</th><th scope="col">Label</th><th scope="col">Predicted</th>'
        '<th scope="col" class="number">Sentences</th><th scope="col">Projective</th></tr></thead>'
        '<tbody id="list"></tbody></table><p id="nothing" hidden>No document matches.</p></div>'
        '<article id="document" aria-label="The open document" hidden></article>'
    )


def _select(name: str, title: str, options: Sequence[tuple[str, str]]) -> str:
    choices = "".join(f'<option value="{value}">{text}</option>' for value, text in [("", "any"), *options])
    return f'<label>{title}<select name="{name}">{choices}</select></label>'


def _about(about: Mapping[str, Any]) -> str:
    names = {
        "recipe_name": "Recipe", "seed": "Seed", "epoch": "Epoch that was kept",
        "seconds": "Training time, seconds", "fingerprint": "Fingerprint of the training data",
    }  # fmt: skip
    about = {**about, "epoch": about.get("epoch") or None}  # 0 where a model is not trained by gradients
    rows = [[title, str(about[name])] for name, title in names.items() if about.get(name) is not None]
    rows += [[name, str(value)] for name, value in about.get("facts", {}).items()]
    return html_table("Origin of the model", ["", ""], rows, words=True) if rows else ""


def _interval(share: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval of a share."""
    middle, width = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    scale = 1 + z * z / count
    return max(0.0, (middle - width) / scale), min(1.0, (middle + width) / scale)
