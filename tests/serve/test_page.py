"""Somebody uses the page, in Chromium, with a real server behind it."""

import json
import re
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.models.building import documents_with_ngrams
from tests.serve.looking import SHOWN, TEXT, answered, serving, show
from tests.show.browser import every, new_page, wait
from tests.show.making import NASTY


def words(sentence):
    return " ".join(sentence.words)


def test_the_files_of_the_page(address):
    """All that it needs is there, and nothing in it is kept from running by its own policy."""

    def got(path, method="GET"):
        try:
            return urlopen(Request(address + path, method=method))
        except HTTPError as error:
            return error

    with got("") as answer:
        html = answer.read().decode()
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert not re.search(r"<style|<script>|\son\w+=|\sstyle=|//", html)
    files = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', html)
    assert len(files) == 6
    for file in files:
        with got(file) as found, got(file, "HEAD") as head:
            assert (found.status, head.status) == (200, 200)
            kind = {"css": "text/css", "js": "text/javascript"}[file.rpartition(".")[2]]
            assert found.headers["content-type"] == f"{kind}; charset=utf-8"
            assert (len(found.read()), head.read()) == (int(head.headers["content-length"]), b"")
    statuses = {("", "HEAD"): 200, ("", "POST"): 405, ("static", "GET"): 404, ("static/", "GET"): 404}
    statuses |= {("static/../page.js", "GET"): 404, ("static/_page.py", "GET"): 404}
    for request, status in statuses.items():
        with got(*request) as answer:
            assert answer.status == status, request


def test_type_and_submit(page, document_model):
    [expected] = document_model.parse([TEXT])
    show(page)
    probability = f"{100 * expected.probability:.1f}%"
    assert page.inner_text("#label") == f"{expected.label} {probability}"
    assert page.inner_text("#status") == f"{expected.label}, {probability}: 3 sentences, 20 words"
    shares = expected.prediction.probabilities
    told = [f"{label}{100 * share:.1f}%" for label, share in shares.items()]
    assert every(page, "#classes li", "textContent") == told
    assert every(page, "#classes [aria-current] bdi", "textContent") == [expected.label]
    assert every(page, "#trees ol .text", "textContent") == [words(each) for each in expected.sentences]
    assert page.locator("#trees > section .arc:not(.root)").count() == 2
    assert page.inner_text("#model").split("\n")[:2] == ["Model", "somebody/else"]


def test_a_click_on_a_sentence_shows_its_tree(page, document_model):
    [expected] = document_model.parse([TEXT])
    show(page)
    for i in (1, 2, 0):
        page.click(f"#trees li:nth-child({i + 1}) button")
        sentence = expected.sentences[i]
        assert page.inner_text("#words h3").startswith(f"Sentence {i + 1} of 3")
        assert every(page, "#words .node text:first-of-type", "textContent") == sentence.words
        assert page.locator("#words .arc:not(.root)").count() == len(sentence.tree.arcs)
        assert page.evaluate("document.activeElement.parentElement.parentElement.ariaLabel") == f"Sentence {i + 1} of 3"
        assert page.locator("#trees ol [aria-current=true] .number").inner_text() == f"{i + 1}"
    page.click("text=Next →")
    assert page.inner_text("#words h3").startswith("Sentence 2 of 3")


def test_ngrams_stand_beside_the_trees(page, browser):
    """For models that know n-grams."""
    show(page)
    assert page.locator("#evidence").inner_text() == ""
    model = documents_with_ngrams()
    [expected] = model.parse([TEXT])
    with serving(model) as address, new_page(browser, address) as other:
        show(other)
        told = [f"“{each.ngram}”" for each in expected.evidence]
        assert len(told) == 10
        assert set(every(other, "#evidence dd bdi", "textContent")) == set(told)
        weights = [float(text.replace("−", "-")) for text in every(other, "#evidence dd b", "textContent")]
        assert sorted(weights) == sorted(round(each.weight, 2) for each in expected.evidence)
        sides = [f"N-grams {way} {expected.label}" for way in ("for", "against")]
        assert every(other, "#evidence dt", "textContent") == sides
        assert other.locator("#trees .arc").count()


def test_an_arc_tells_its_probability(page, document_model):
    sentence = document_model.parse([TEXT])[0].sentences[0]
    show(page)
    dependent = next(j for j, head in enumerate(sentence.tree.heads) if head >= 0)
    head = sentence.tree.heads[dependent]
    page.locator("#words svg").scroll_into_view_if_needed()
    x, y = page.evaluate(
        f"""(() => {{
            const line = document.querySelector("#words .arc[data-node='{dependent}'] .line");
            const point = line.getPointAtLength(line.getTotalLength() - 4).matrixTransform(line.getScreenCTM());
            return [point.x, point.y];
        }})()"""
    )
    page.mouse.move(x, y)
    share = sentence.weights.arcs[head, dependent]
    told = f"“{sentence.words[head]}” → “{sentence.words[dependent]}”: {round(100 * float(share))}%"
    expect(page.locator("#words .told")).to_have_text(told)


def test_switch_views(page, document_model):
    sentence = document_model.parse([TEXT])[0].sentences[0]
    show(page)
    assert page.locator("#trees .heat").count() == 0
    page.click("text=Marginals")
    assert page.locator("#trees .heat").count() == 2
    shares = np.rint(100 * np.vstack([sentence.weights.roots, sentence.weights.arcs])).astype(int)
    names = [f"“{word}”" for word in sentence.words]
    told = {
        f"{head} → {name}: {share}%"
        for head, row in zip(["root", *names], shares.tolist(), strict=True)
        for name, share in zip(names, row, strict=True)
        if share
    }
    assert told <= set(every(page, "#words .heat title", "textContent"))
    page.click("text=Next →")
    assert page.locator("#words .heat").count() == 1
    page.click("text=Best tree")
    assert page.locator("#trees .heat").count() == 0
    assert page.inner_text("#words h3").startswith("Sentence 2 of 3"), "the same sentence stays open"


@pytest.mark.parametrize("view", ["Best tree", "Marginals"])
def test_the_slider_hides_weak_arcs(view, page):
    show(page)
    page.click(f"text={view}")
    shares = [float(share) for share in every(page, "#trees [data-share]", "dataset.share")]
    for least in (0, 40, 100):
        page.locator("#least input").fill(str(least))
        assert page.inner_text("#least output") == f"{least}%"
        seen = page.locator("#trees [data-share]:visible").count()
        assert seen == sum(100 * share >= least for share in shares)
    page.locator("#least input").fill("40")
    page.click("text=Next →" if view == "Best tree" else "text=Best tree")
    shares = [float(share) for share in every(page, "#trees [data-share]", "dataset.share")]
    hidden = page.locator("#trees .weak").count()
    assert hidden == sum(100 * share < 40 for share in shares) > 0, "those drawn later, too"


def test_a_very_long_text(page):
    sentence = "it was a very good film and the dog saw the cat and the plot . "
    show(page, sentence * 300)
    assert page.inner_text("#status").endswith("300 sentences, 4800 words")
    assert page.evaluate("document.documentElement.scrollHeight") < 2500, "the list has its own scroll bar"
    page.click("#trees li:nth-child(299) button")
    assert page.inner_text("#words h3").startswith("Sentence 299 of 300")
    page.click("text=Marginals")
    assert page.locator("#trees .heat").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    show(page, "it was a film " * 72)
    assert page.inner_text("#status").endswith("1 sentence, 288 words")
    assert page.locator("#words .heat").count() == 1
    page.click("text=Best tree")
    assert page.locator("#words .arc").count() == 288
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert size[0] <= 1200
    assert size[1] < 2500


def test_markup_is_only_text(page):
    text = " ".join(part for sentence in NASTY for part in sentence)
    show(page, text)
    shown = "".join(every(page, "#trees ol .text, #words .node text:first-of-type", "textContent"))
    assert "<script>alert(1)</script>" in shown.replace(" ", "")
    assert "onerror" in shown
    assert page.locator("main script, main img, main b").count() == 0
    with page.expect_download() as saved:
        page.click("text=Save SVG >> nth=0")
    assert "<script" not in saved.value.path().read_text(encoding="utf-8")


def test_a_text_without_words(page):
    show(page, " \n ")
    assert page.inner_text("#trees") == "This text has no words: the model predicts the most frequent class."
    assert page.inner_text("#label") == "good 50.0%"


def test_nothing_is_asked_before_something_is_typed(page):
    page.click("#submit")
    assert page.locator(SHOWN).count() == 0
    assert page.inner_text("#status") == ""


def test_examples(page):
    page.wait_for_selector("#examples button")
    names = every(page, "#examples button", "textContent")
    assert len(names) == 3
    labels = []
    for name in names:
        page.click(f"#examples >> text={name}")
        answered(page)
        labels.append(page.input_value("textarea"))
    assert len(set(labels)) == 3


def test_an_address_carries_its_text(browser, page):
    text = "The dog & the cat? 100% good, ünïcödé 👩‍👩‍👧 #a=b+c.\nI saw it."
    show(page, text)
    link = page.url
    show(page)
    assert page.url != link
    page.go_back()
    answered(page)
    assert page.input_value("textarea") == text
    with new_page(browser, link) as other:
        other.wait_for_selector(SHOWN)
        assert other.input_value("textarea") == text
        assert other.inner_text("#label") == page.inner_text("#label")


def test_copies(address, browser, document_model):
    [expected] = document_model.parse([TEXT])
    with new_page(browser, address, permissions=["clipboard-read", "clipboard-write"]) as page:
        show(page)

        def copied(button):
            page.evaluate("navigator.clipboard.writeText('')")
            page.click(f"text={button}")
            wait(page, "navigator.clipboard.readText()")
            assert page.inner_text("#copied").startswith("Copied: ")
            return page.evaluate("navigator.clipboard.readText()")

        found = json.loads(copied("Copy JSON"))
        assert found["heads"] == list(expected.tree.heads)
        assert np.allclose(found["weights"]["arcs"], expected.weights.arcs, atol=1e-6)
        assert copied("Copy CoNLL-U") == expected.to_conllu()
        assert copied("Copy link") == page.url
        page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        page.click("text=Copy CoNLL-U")
        expect(page.locator("#copied")).to_have_text("Copied: CoNLL-U.")


@pytest.mark.parametrize("view", ["Best tree", "Marginals"])
def test_saved_pictures_need_nothing_else(view, page, browser, tmp_path, document_model):
    [expected] = document_model.parse([TEXT])
    show(page)
    page.click(f"text={view}")
    for place, tree, texts in (
        ("#trees > section", expected, [words(each) for each in expected.sentences]),
        ("#words", expected.sentences[0], expected.sentences[0].words),
    ):
        with page.expect_download() as saved:
            page.click(f"{place} >> text=Save SVG")
        file = tmp_path / saved.value.suggested_filename
        saved.value.save_as(file)
        root = ElementTree.parse(file).getroot()
        tags = [each.tag.rpartition("}")[2] for each in root.iter()]
        assert not {"class", "style", "tabindex"} & {name for each in root.iter() for name in each.attrib}
        shown = "".join(root.itertext())
        if view == "Best tree":
            assert tags.count("path") == 2 * len(tree.tree.heads), "a line and a tip"
            assert all(text in shown for text in texts)
        else:
            assert tags.count("rect") > len(tree.tree.heads)
        with new_page(browser, file.as_uri()) as picture:
            box = picture.evaluate("(({width, height}) => [width, height])(document.documentElement.getBBox())")
            assert min(box) > 50


def test_keyboard_alone(page):
    def press(*keys):
        for key in keys:
            page.keyboard.press(key)
        return page.evaluate("document.activeElement.id || document.activeElement.textContent")

    page.wait_for_selector("textarea")
    assert press("Tab") == "text-0"
    page.keyboard.type(TEXT)
    press("Control+Enter")
    page.wait_for_selector(SHOWN)
    assert press("Tab") == "submit"
    press("Tab", "Tab", "Tab", "Tab")
    assert page.evaluate("document.activeElement.value") == "tree"
    press("ArrowRight")
    assert page.locator("#trees .heat").count() == 2
    press("ArrowLeft")
    press("Tab", "ArrowRight")
    assert page.inner_text("#least output") == "1%"
    assert [press("Tab") for _ in range(3)] == ["json", "conllu", "link"]
    assert press("Tab") == "Save SVG"
    assert press("Tab").startswith("1")
    assert press("ArrowDown").startswith("2")
    assert press("Enter").startswith("Sentence 2 of 3")
    assert [press("Tab") for _ in range(3)] == ["← Previous", "Next →", "Save SVG"]
    press("Shift+Tab", "Enter")
    assert page.inner_text("#words h3").startswith("Sentence 3 of 3")
    assert page.evaluate("document.activeElement.tagName") != "BODY", "the focus is not lost"


def test_what_is_spoken(page):
    """Every control has a name, and what changes is announced."""
    show(page)
    nameless = """[...document.querySelectorAll("button, input, textarea")].filter((found) =>
        !(found.ariaLabel || found.textContent.trim() || found.labels?.length)).length"""
    assert page.evaluate(nameless) == 0
    assert page.get_by_role("textbox", name="Text").count() == 1
    assert page.get_by_role("slider", name="Hide arcs below").count() == 1
    assert page.get_by_role("radio").count() == 2
    assert every(page, "#status, #copied, #problem", "getAttribute('role')") == ["status", "alert", "status"]
    assert page.locator("#words .node[aria-label*='likely heads']").count() == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_screens_light_and_dark(scheme, page):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 800})
    show(page)
    page.click("#trees li:nth-child(2) button")
    for view in ("Best tree", "Marginals"):
        page.click(f"text={view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("text=Best tree")
    assert page.locator("#words .beside").count() == 1, "words below each other"
    page.set_viewport_size({"width": 1200, "height": 800})
    expect(page.locator("#words .beside")).to_have_count(0)
    contrast = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    light, dark = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in contrast)
    assert (light < dark) == (scheme == "light")
