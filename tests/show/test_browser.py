"""Somebody clicks through a report, in Chromium."""

import json

import numpy as np
import pytest

from tests.show.browser import chromium, every, new_page, wait
from tests.show.making import LABELS, NASTY, documents, evaluation, parsed, random_tree
from treetext.evaluation import score
from treetext.models import Evidence
from treetext.show import Document, report_page
from treetext.show.documents import is_projective

COUNT = 12


@pytest.fixture(scope="module")
def made():
    chance = np.random.default_rng(1)
    some = documents(COUNT, lambda i: [["word", f"number{j}", "."] for j in range(1 + i % 6)], chance)
    some[0] = Document(
        parsed(NASTY), LABELS[0], "<i>file</i>, row 1", [[-1, *range(8)], [1, -1, 1], [-1, 0, 0, 0, 0]], [-1, 0, 0]
    )
    some[1] = Document(parsed([]), LABELS[1])
    evidence = [Evidence("<b>", "words", 0.5), Evidence(" go", "characters", -0.1239)]
    some[2] = some[2]._replace(parsed=some[2].parsed._replace(evidence=evidence))
    return some


@pytest.fixture(scope="module")
def page(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    path = folder / "a report.html"
    curve = [{"epoch": i, "loss": 1 / i, "dev_accuracy": 0.5} for i in (1, 2)]
    about = {"recipe_name": "made up", "epoch": 2, "curve": curve}
    path.write_text(report_page(evaluation(made), made, about=about), encoding="utf-8")
    with chromium() as browser, new_page(browser, path.as_uri()) as found:
        yield found


@pytest.fixture(autouse=True)
def _fresh(page):
    # So that it can be seen that they are made again.
    page.evaluate("['list', 'document'].forEach((name) => document.getElementById(name).replaceChildren())")
    page.click("#filters button[type=reset]")
    wait(page, f"document.querySelectorAll('#list tr').length === {COUNT}")


def opened(page, number):
    wait(page, f"document.querySelector('#document h3')?.innerText === 'Document {number}'")


def choose(page, name, value):
    field = page.locator(f"#filters [name={name}]")
    field.fill(value) if name == "text" else field.select_option(value)


def test_ngrams(page, made):
    page.click("#list tr:nth-child(3) button")
    opened(page, 3)
    label = made[2].parsed.label
    assert every(page, "#document .evidence dt", "textContent") == [f"N-grams for {label}", f"N-grams against {label}"]
    told = every(page, "#document .evidence dd", "textContent")
    assert told == ["“<b>” +0.50", "“ go” characters −0.12"]
    page.click("#list tr:nth-child(4) button")
    opened(page, 4)
    assert page.locator(".evidence").count() == 0


def test_filters(page, made):
    def listed(**filters):
        for name, value in filters.items():
            choose(page, name, value)
        found = page.locator("#list tr").count()
        assert page.inner_text("#count") == f"{found} of {COUNT} documents"
        return found

    wrong = [document for document in made if document.label != document.parsed.label]
    assert listed(right="wrong") == len(wrong) > 0
    assert listed(label="0") == sum(document.label == LABELS[0] for document in wrong)
    page.click("#filters button[type=reset]")
    wait(page, f"document.querySelectorAll('#list tr').length === {COUNT}")
    kinds = [is_projective(document.parsed) for document in made]
    assert (listed(tree="projective"), listed(tree="crossing")) == (kinds.count(True), kinds.count(False))
    assert listed(tree="", text="NUMBER 7") == 1
    assert listed(text="no such thing") == 0
    assert page.inner_text("#nothing") == "No document matches."


def test_the_next_document_is_one_that_passes_the_filters(page, made):
    right = [number for number, document in enumerate(made, start=1) if document.label == document.parsed.label]
    assert right[:3] == [1, 3, 5]
    page.click("#list tr:nth-child(4) button")
    opened(page, 4)
    choose(page, "right", "right")
    assert every(page, "#list button", "dataset.number") == [str(number - 1) for number in right]
    page.click("#document .step:last-child")
    opened(page, 5)
    page.click("#document .step:first-child")
    opened(page, 3)
    assert every(page, "#list [aria-current=true]", "dataset.number") == ["2"]
    page.click("#document .step:first-child")
    opened(page, 1)
    assert every(page, "#document .step", "disabled") == [True, False]


def test_a_document_opens_with_its_trees(page, made):
    page.click("#list tr:nth-child(6) button")
    opened(page, 6)
    assert page.locator("#document .beside li").count() == 6
    assert page.locator("#document section.sentence svg").count() == 6
    arcs = [tree.arcs for tree in (made[5].parsed.tree, *(s.tree for s in made[5].parsed.sentences))]
    assert page.locator("#document .arc:not(.root)").count() == sum(map(len, arcs))
    assert page.evaluate("document.activeElement.innerText") == "Document 6", "so that a screen reader goes on there"
    assert page.evaluate("location.hash") == "#document-6"
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
    assert page.inner_text("#document .told").startswith("Point at a sentence")
    page.hover(first)
    wait(page, f"document.querySelector('{told}').innerText.startsWith('“word” — likely heads:')")
    assert f"{round(100 * float(best))}%" in page.inner_text(told)
    page.hover("h1")
    wait(page, f"document.querySelector('{told}').innerText === ''")
    page.evaluate(f"document.querySelector('{first}').focus()")
    assert "“word” — likely heads" in page.inner_text(told)
    page.keyboard.press("ArrowRight")
    assert "“number0” — likely heads" in page.inner_text(told)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("“number0”; head: ")
    assert page.evaluate(f"document.querySelectorAll('{first}[tabindex=\"0\"]').length") == 6, "one stop for each tree"
    page.keyboard.press("Escape")
    assert page.inner_text(told) == ""


def test_keyboard_alone(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    page.evaluate("document.querySelector('.listed').focus()")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.number") == "0", "the open one"
    assert every(page, "#list button", "tabIndex").count(0) == 1, "one stop for all"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened(page, 3)
    page.evaluate("document.querySelector('#document .beside .node').focus()")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait(page, "document.activeElement.closest('section.sentence')?.getAttribute('aria-label') === 'Sentence 2'")


def test_any_text_is_only_text(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    texts = [" ".join(words) for words in NASTY]
    assert every(page, "#document .beside .text", "textContent") == texts
    words = every(page, "#document svg .node text:first-of-type", "textContent")
    assert words == [word for sentence in NASTY for word in sentence]
    assert page.locator("main b, main i, main img, main script").count() == 0
    assert page.inner_text("#list tr:first-child td") == LABELS[0]
    right_to_left = every(page, "section.sentence:nth-of-type(2) .node", "getBoundingClientRect().x")
    assert right_to_left == sorted(right_to_left, reverse=True)


def test_gold_trees_and_tables(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    assert page.locator("#document .beside .gold:not(.root)").count() == 2
    assert page.locator("#document section.sentence .gold").count() == 9 + 3 + 5
    assert "heads agree with the gold tree" in page.inner_text("#document .remark")
    page.click("#document section.sentence summary")
    wait(page, "document.querySelector('#document section.sentence table')")
    assert page.locator("#document section.sentence:nth-of-type(1) tbody tr").count() == 9
    assert "Gold head" in page.inner_text("#document section.sentence table")


def test_heat_maps(page, made):
    page.click("#list tr:first-child button")
    opened(page, 1)
    page.click("#document section.sentence:nth-of-type(2) details:nth-child(2) summary")
    heat = "#document section.sentence:nth-of-type(2) .heat"
    wait(page, f"document.querySelector('{heat}')")
    sentence = made[0].parsed.sentences[1]
    names = [f"“{word}”" for word in sentence.words]
    shares = np.rint(100 * np.vstack([sentence.weights.roots, sentence.weights.arcs])).astype(int)
    expected = {
        f"{head} → {name}: {share}%"
        for head, row in zip(["root", *names], shares.tolist(), strict=True)
        for name, share in zip(names, row, strict=True)
        if share
    }
    titles = set(every(page, f"{heat} title", "textContent"))
    assert expected <= titles
    assert all(title.endswith(": 0%") for title in titles - expected), "arcs of the trees"
    assert page.locator(f"{heat} .chosen").count() == page.locator(f"{heat} .frame.gold").count() == 3


def test_shapes_are_told_as_in_python(page):
    chance = np.random.default_rng(5)
    trees = [random_tree(chance, n) for n in range(1, 9) for _ in range(12)]
    sentences = [{"words": ["w"] * len(tree), "heads": tree.heads, "weights": None} for tree in trees]
    text = json.dumps({"heads": None, "weights": None, "sentences": sentences})
    told = page.evaluate(
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
    assert "This text has no words" in page.inner_text("#document")


def test_the_page_ends_with_what_is_on_it(page):
    """However long the list of documents is: it scrolls on its own."""
    page.click("#list tr:nth-child(2) button")
    opened(page, 2)
    page.evaluate("list.append(...Array.from({ length: 200 }, () => list.firstChild.cloneNode(true)))")
    end = page.evaluate("document.body.getBoundingClientRect().bottom + scrollY")
    assert page.evaluate("document.documentElement.scrollHeight") <= max(900, end + 1)


def test_light_and_dark(page):
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 22, 27)"]


def test_narrow_screens(page):
    """Words that do not fit in a line stand below each other, so that nothing is to be scrolled."""
    page.click("#list tr:first-child button")
    opened(page, 1)
    first = "#document section.sentence:nth-of-type(1)"
    assert page.locator(f"{first} .beside").count() == 0
    page.set_viewport_size({"width": 360, "height": 700})
    wait(page, f"document.querySelector('{first} .beside')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert every(page, f"{first} .text", "textContent") == NASTY[0]
    assert page.locator(f"{first} .arc").count() == 2 * len(NASTY[0])
    page.set_viewport_size({"width": 1200, "height": 900})
    wait(page, f"!document.querySelector('{first} .beside')")


def test_paper(page):
    """All tables are open, and long drawings are in parts; afterwards all is as before."""
    page.evaluate(
        """addEventListener("beforeprint", () => {
            window.printed = [document.querySelectorAll("section > details:not([open])").length,
                [...document.querySelectorAll("#document section.sentence:nth-of-type(1) .beside")].map(
                    (part) => part.querySelectorAll("li").length)];
        })"""
    )
    page.click("#list tr:first-child button")
    opened(page, 1)
    folded = page.locator("section > details:not([open])").count()
    assert folded > 0
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.printed") == [0, [6, 3]]
    assert page.locator("section > details:not([open])").count() == folded
    assert page.locator("#document section.sentence:nth-of-type(1) .beside").count() == 0
    page.emulate_media(media="print")
    assert "Point at" not in page.inner_text("#document"), "nobody points at paper"
    page.emulate_media(media="screen")
    assert "Point at" in page.inner_text("#document")


def test_an_address_opens_its_document(page):
    page.evaluate("location.hash = '#document-5'")
    opened(page, 5)


@pytest.mark.parametrize("count", [2, 5, 20])
def test_pictures_of_scores_can_be_read(page, tmp_path, count):
    """Numbers stay within their cells, names left of the matrix and above it, and the picture within the page."""
    chance = np.random.default_rng(0)
    labels = [f"a category with a long name, {i}" if i % 2 else f"class {i}" for i in range(count)]
    targets = chance.integers(count, size=50_000)
    shares = chance.dirichlet(np.ones(count), 50_000)
    shares[np.arange(50_000), targets] += 1
    found = score("test", labels, targets, shares / 2)
    path = tmp_path / "report.html"
    path.write_text(report_page(found, documents(2, lambda _: [["a"]], chance, labels)), encoding="utf-8")
    with new_page(page.context.browser, path.as_uri()) as shown:
        inside = """(all) => all.every((found) => {
            const [outer, inner] = [found.querySelector("rect"), found.querySelector("text")]
                .map((part) => part.getBoundingClientRect());
            return outer.left <= inner.left && inner.right <= outer.right;
        })"""
        cells = "#scores ~ * g:has(.cell)"
        assert shown.locator(cells).count() == count**2
        assert shown.eval_on_selector_all(cells, inside)
        within = """(all) => all.every((svg) => [...svg.querySelectorAll("text")].every((text) => {
            const [outer, inner] = [svg, text].map((part) => part.getBoundingClientRect());
            return outer.left - 1 <= inner.left && inner.right <= outer.right + 1
                && outer.top - 1 <= inner.top && inner.bottom <= outer.bottom + 1;
        }))"""
        assert shown.eval_on_selector_all("#scores ~ * svg", within)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 1200
