"""Somebody clicks through a report, in Chromium."""

import json

import numpy as np
import pytest

from tests.show.browser import Browser, needs_chromium
from tests.show.making import LABELS, NASTY, documents, evaluation, parsed, random_tree
from treetext.show import Document, report_page
from treetext.show._documents import is_projective

pytestmark = needs_chromium
COUNT = 12


@pytest.fixture(scope="module")
def made():
    chance = np.random.default_rng(1)
    some = documents(COUNT, lambda i: [["word", f"number{j}", "."] for j in range(1 + i % 6)], chance)
    some[0] = Document(
        parsed(NASTY), LABELS[0], "<i>file</i>, row 1", [[-1, *range(8)], [1, -1, 1], [-1, 0, 0, 0, 0]], [-1, 0, 0]
    )
    some[1] = Document(parsed([]), LABELS[1])
    return some


@pytest.fixture(scope="module")
def page(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    path = folder / "a report.html"
    curve = [{"epoch": i, "loss": 1 / i, "dev_accuracy": 0.5} for i in (1, 2)]
    about = {"recipe_name": "made up", "epoch": 2, "curve": curve}
    path.write_text(report_page(evaluation(made), made, about=about), encoding="utf-8")
    with Browser(folder / "profile") as browser:
        browser.open(path.as_uri())
        yield browser
        assert browser.problems == [], "nothing is fetched, and nothing fails"


@pytest.fixture(autouse=True)
def _fresh(page):
    # So that it can be seen that they are made again.
    page.run("for (const name of ['list', 'document']) document.getElementById(name).replaceChildren()")
    page.click("#filters button[type=reset]")
    page.wait(f"document.querySelectorAll('#list tr').length === {COUNT}")


def opened(page, number):
    page.wait(f"document.querySelector('#document h3')?.innerText === 'Document {number}'")


def test_filters(page, made):
    def listed(**filters):
        for name, value in filters.items():
            page.choose(name, value)
        found = page.count("#list tr")
        assert page.text("#count") == f"{found} of {COUNT} documents"
        return found

    wrong = [document for document in made if document.label != document.parsed.label]
    assert listed(right="wrong") == len(wrong) > 0
    assert listed(label="0") == sum(document.label == LABELS[0] for document in wrong)
    page.click("#filters button[type=reset]")
    page.wait(f"document.querySelectorAll('#list tr').length === {COUNT}")
    kinds = [is_projective(document.parsed) for document in made]
    assert (listed(tree="projective"), listed(tree="crossing")) == (kinds.count(True), kinds.count(False))
    assert listed(tree="", text="NUMBER 7") == 1
    assert listed(text="no such thing") == 0
    assert page.text("#nothing") == "No document is like that."


def test_the_next_document_is_one_that_passes_the_filters(page, made):
    right = [number for number, document in enumerate(made, start=1) if document.label == document.parsed.label]
    assert right[:3] == [1, 3, 5]
    page.click("#list tr:nth-child(4) button")
    opened(page, 4)
    page.choose("right", "right")
    assert page.all("#list button", "dataset.number") == [str(number - 1) for number in right]
    page.click("#document .step:last-child")
    opened(page, 5)
    page.click("#document .step:first-child")
    opened(page, 3)
    assert page.all("#list [aria-current=true]", "dataset.number") == ["2"]
    page.click("#document .step:first-child")
    opened(page, 1)
    assert page.all("#document .step", "disabled") == [True, False]


def test_a_document_opens_with_its_trees(page, made):
    page.click("#list tr:nth-child(6) button")
    opened(page, 6)
    assert page.count("#document .beside li") == 6
    assert page.count("#document section.sentence svg") == 6
    arcs = [tree.arcs for tree in (made[5].parsed.tree, *(s.tree for s in made[5].parsed.sentences))]
    assert page.count("#document .arc:not(.root)") == sum(map(len, arcs))
    assert page.run("document.activeElement.innerText") == "Document 6", "so that a screen reader goes on there"
    assert page.run("location.hash") == "#document-6"
    page.click("#document .step:last-child")
    opened(page, 7)
    page.click("#document .step:first-child")
    opened(page, 6)


def test_marginals_by_mouse_and_keyboard(page, made):
    page.click("#list tr:nth-child(6) button")
    opened(page, 6)
    first = "#document section.sentence svg .node"
    told = "#document section.sentence .told"
    sentence = made[5].parsed.sentences[0]
    best = max([sentence.weights.roots[0], *sentence.weights.arcs[:, 0]])
    assert page.text("#document .told").startswith("Point at a sentence")
    page.point(first)
    page.wait(f"document.querySelector('{told}').innerText.startsWith('“word” — likely heads:')")
    assert f"{round(100 * float(best))}%" in page.text(told)
    page.point("h1")
    page.wait(f"document.querySelector('{told}').innerText === ''")
    page.run(f"document.querySelector('{first}').focus()")
    assert "“word” — likely heads" in page.text(told)
    page.press("ArrowRight")
    assert "“number0” — likely heads" in page.text(told)
    assert page.run("document.activeElement.getAttribute('aria-label')").startswith("“number0”; head: ")
    assert page.run(f"document.querySelectorAll('{first}[tabindex=\"0\"]').length") == 6, "one stop for each tree"
    page.press("Escape")
    assert page.text(told) == ""


def test_keyboard_alone(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    page.run("document.querySelector('.listed').focus()")
    page.press("Tab")
    assert page.run("document.activeElement.dataset.number") == "0", "the open one"
    assert page.all("#list button", "tabIndex").count(0) == 1, "one stop for all"
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    opened(page, 3)
    page.run("document.querySelector('#document .beside .node').focus()")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait("document.activeElement.closest('section.sentence')?.getAttribute('aria-label') === 'Sentence 2'")


def test_any_text_is_only_text(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    texts = [" ".join(words) for words in NASTY]
    assert page.all("#document .beside .text", "textContent") == texts
    words = page.all("#document svg .node text:first-of-type", "textContent")
    assert words == [word for sentence in NASTY for word in sentence]
    assert page.count("main b, main i, main img, main script") == 0
    assert page.text("#list tr:first-child td") == LABELS[0]
    right_to_left = page.all("section.sentence:nth-of-type(2) .node", "getBoundingClientRect().x")
    assert right_to_left == sorted(right_to_left, reverse=True)


def test_gold_trees_and_tables(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    assert page.count("#document .beside .gold:not(.root)") == 2
    assert page.count("#document section.sentence .gold") == 9 + 3 + 5
    assert "heads as in the gold tree" in page.text("#document .remark")
    page.click("#document section.sentence summary")
    page.wait("document.querySelector('#document section.sentence table')")
    assert page.count("#document section.sentence:nth-of-type(1) tbody tr") == 9
    assert "Gold head" in page.text("#document section.sentence table")


def test_heat_maps(page, made):
    page.click("#list tr:first-child button")
    opened(page, 1)
    page.click("#document section.sentence:nth-of-type(2) details:nth-child(2) summary")
    heat = "#document section.sentence:nth-of-type(2) .heat"
    page.wait(f"document.querySelector('{heat}')")
    sentence = made[0].parsed.sentences[1]
    names = [f"“{word}”" for word in sentence.words]
    shares = np.rint(100 * np.vstack([sentence.weights.roots, sentence.weights.arcs])).astype(int)
    expected = {
        f"{head} → {name}: {share}%"
        for head, row in zip(["root", *names], shares.tolist(), strict=True)
        for name, share in zip(names, row, strict=True)
        if share
    }
    titles = set(page.all(f"{heat} title", "textContent"))
    assert expected <= titles
    assert all(title.endswith(": 0%") for title in titles - expected), "arcs of the trees"
    assert page.count(f"{heat} .chosen") == page.count(f"{heat} .frame.gold") == 3


def test_shapes_are_told_as_in_python(page):
    chance = np.random.default_rng(5)
    trees = [random_tree(chance, n) for n in range(1, 9) for _ in range(12)]
    sentences = [{"words": ["w"] * len(tree), "heads": tree.heads, "weights": None} for tree in trees]
    text = json.dumps({"heads": None, "weights": None, "sentences": sentences})
    told = page.run(
        f"""trees.parsed({text}, {{atOnce: Infinity}})
            .map((part) => part.querySelector("h5")?.textContent).filter(Boolean)"""
    )
    assert told == [
        f"{i} {'projective' if tree.projective else 'non-projective'}, height {tree.height}"
        for i, tree in enumerate(trees, start=1)
    ]
    assert 20 < sum(tree.projective for tree in trees) < 80


def test_a_text_without_words(page):
    page.click("#list tr:nth-child(2) button")
    opened(page, 2)
    assert "A text without words" in page.text("#document")


def test_light_and_dark(page):
    colours = []
    for scheme in ("light", "dark"):
        page.colours(scheme)
        colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 22, 27)"]


def test_narrow_screens(page):
    """Words that do not fit in a line stand below each other, so that nothing is to be scrolled."""
    page.click("#list tr:first-child button")
    opened(page, 1)
    first = "#document section.sentence:nth-of-type(1)"
    assert page.count(f"{first} .beside") == 0
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=False)
    page.wait(f"document.querySelector('{first} .beside')")
    assert page.run("document.documentElement.scrollWidth") <= 360
    assert page.all(f"{first} .text", "textContent") == NASTY[0]
    assert page.count(f"{first} .arc") == 2 * len(NASTY[0])
    page.call("Emulation.clearDeviceMetricsOverride")
    page.wait(f"!document.querySelector('{first} .beside')")


def test_paper(page):
    """All tables are open, and long drawings are in parts; afterwards all is as before."""
    page.run(
        """addEventListener("beforeprint", () => {
            window.printed = [document.querySelectorAll("section > details:not([open])").length,
                [...document.querySelectorAll("#document section.sentence:nth-of-type(1) .beside")].map(
                    (part) => part.querySelectorAll("li").length)];
        })"""
    )
    page.click("#list tr:first-child button")
    opened(page, 1)
    folded = page.count("section > details:not([open])")
    assert folded > 0
    assert page.pdf().startswith(b"%PDF")
    assert page.run("window.printed") == [0, [6, 3]]
    assert page.count("section > details:not([open])") == folded
    assert page.count("#document section.sentence:nth-of-type(1) .beside") == 0


def test_an_address_opens_its_document(page):
    page.run("location.hash = '#document-5'")
    opened(page, 5)
