"""Somebody clicks through a report, in Chromium."""

import numpy as np
import pytest

from tests.show.browser import CHROMIUM, Browser
from tests.show.making import LABELS, NASTY, documents, evaluation, parsed
from treetext.show import Document, report_page
from treetext.show._documents import is_projective

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium")
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
    path.write_text(report_page(evaluation(made), made), encoding="utf-8")
    with Browser(folder / "profile") as browser:
        browser.open(path.as_uri())
        yield browser
        assert browser.problems == [], "nothing is fetched, and nothing fails"


@pytest.fixture(autouse=True)
def _fresh(page):
    page.run("document.querySelector('#list').replaceChildren()")  # so that it can be seen that it is made again
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


def test_a_document_opens_with_its_trees(page, made):
    page.click("#list tr:nth-child(6) button")
    opened(page, 6)
    assert page.count("#document .sentences li") == 6
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
    page.run("document.querySelector('#list button').focus()")
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    opened(page, 3)
    page.run("document.querySelector('#document .sentences .node').focus()")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait("document.activeElement.closest('section.sentence')?.getAttribute('aria-label') === 'Sentence 2'")


def test_any_text_is_only_text(page):
    page.click("#list tr:first-child button")
    opened(page, 1)
    texts = [" ".join(words) for words in NASTY]
    assert page.all("#document .sentences .text", "textContent") == texts
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
    page.click("#document section.sentence .as-table summary")
    page.wait("document.querySelector('#document section.sentence table')")
    assert page.count("#document section.sentence:nth-of-type(1) tbody tr") == 9
    assert "Gold head" in page.text("#document section.sentence table")


def test_a_text_without_words(page):
    page.click("#list tr:nth-child(2) button")
    opened(page, 2)
    assert "A text without words" in page.text("#document")


def test_light_dark_narrow_and_print(page):
    colours = []
    for scheme in ("light", "dark"):
        page.colours(scheme)
        colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 22, 27)"]
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=False)
    assert page.run("document.documentElement.scrollWidth") <= 360
    page.call("Emulation.clearDeviceMetricsOverride")
    assert page.pdf().startswith(b"%PDF")


def test_an_address_opens_its_document(page):
    page.run("location.hash = '#document-5'")
    opened(page, 5)
