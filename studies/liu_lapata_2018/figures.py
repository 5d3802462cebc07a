"""The paper's figures: trees of a few sentences and documents of the user's data, chosen by a rule.

Sentences: of SNLI's test pairs, in their order, the first four different premises of 8 to 12 words. Documents: in the
order of the test data, the first of 4 to 8 sentences; of Yelp, the first such with a projective tree and the first with
a non-projective one; of the Czech reviews, the first.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from studies.grid import Run
from studies.liu_lapata_2018.trees import DOCUMENT_RUNS, SENTENCE_RUN
from studies.runs import Places, Say, model_of, recipe_of
from treetext.data import open_corpus
from treetext.models import Model, Parsed
from treetext.show import document_svg, sentence_svg
from treetext.trees import Tree

SENTENCES, WORDS, SENTENCES_OF_A_DOCUMENT = 4, range(8, 13), range(4, 9)
AT_ONCE = 64
WANTED: dict[str, list[tuple[str, Callable[[Tree], bool]]]] = {
    "yelp": [("projective", lambda tree: tree.projective), ("non-projective", lambda tree: not tree.projective)],
    "czech": [("first", lambda _: True)],
}


def draw_figures(places: Places, before: dict[str, Any], say: Say) -> dict[str, Any]:
    """Draw the figures whose models exist, into the directory of results."""
    folder = places.results / "figures"
    drawn = [*_sentences(places), *_documents(places)]
    for name, picture in drawn:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
        say(f"{folder / name}.svg")
    names = [name for name, _ in drawn]
    anew = {name.partition("-")[0] for name in names}
    return {"figures": [name for name in before.get("figures", []) if name.partition("-")[0] not in anew] + names}


def shown_figures(saved: dict[str, Any] | None) -> str:
    """A list of the figures. They are not shown, because we may not publish the texts in them."""
    names = (saved or {}).get("figures") or []
    listed = "\n".join(f"- `{Path('figures') / name}.svg`" for name in names)
    return f"{__doc__.partition(chr(10))[2].strip()}\n\n" + (listed or "not run: it takes trained models") + "\n"


def _sentences(places: Places) -> Iterator[tuple[str, str]]:
    seen: list[list[str]] = []
    for parsed in _parsed(SENTENCE_RUN, places):
        sentence = parsed.sentences[0]
        if sentence.tree is None or len(sentence.words) not in WORDS or sentence.words in seen:
            continue
        seen.append(sentence.words)
        yield f"snli-{len(seen)}", sentence_svg(sentence.words, sentence.tree, sentence.weights)
        if len(seen) == SENTENCES:
            return


def _documents(places: Places) -> Iterator[tuple[str, str]]:
    for name, rules in WANTED.items():
        open_rules = dict(rules)
        for parsed in _parsed(DOCUMENT_RUNS[name], places):
            if parsed.tree is None or len(parsed.sentences) not in SENTENCES_OF_A_DOCUMENT:
                continue
            fit = next((rule for rule, fits in open_rules.items() if fits(parsed.tree)), None)
            if fit is not None:
                del open_rules[fit]
                texts = [" ".join(sentence.words) for sentence in parsed.sentences]
                yield f"{name}-{fit}", document_svg(texts, parsed.tree, parsed.weights)
            if not open_rules:
                break


def _parsed(run: Run, places: Places) -> Iterator[Parsed]:
    """The test texts in their order, parsed by the model of a run; empty if there is no such model."""
    model: Model | None = model_of(run, places)
    if model is not None and run.cell.source.path is not None:
        corpus = open_corpus(recipe_of(run, places).data)
        rows = corpus.rows["test"].tolist()
        for start in range(0, len(rows), AT_ONCE):
            yield from model.parse([corpus.encoded.document(row) for row in rows[start : start + AT_ONCE]])
