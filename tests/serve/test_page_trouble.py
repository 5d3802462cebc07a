"""The page with other models than those of documents with trees, and with servers in trouble."""

import json
import re
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.models.building import documents
from tests.serve.looking import SHOWN, TEXT, answered, serving, show
from tests.show.browser import every, new_page
from treetext.serve import Limits


def test_too_long_and_too_large(page):
    page.fill("textarea", "a film. " * 2000)
    page.click("#submit")
    problem = page.locator("#problem")
    expect(problem).to_have_text("The server does not accept this text.6000 words; expected at most 5000")
    assert page.get_attribute("textarea", "aria-invalid") == "true"
    page.fill("textarea", "a film. " * 7000)
    page.click("#submit")
    expect(problem).to_contain_text("at most 50000 characters")
    page.fill("textarea", "a film. " * 140_000)
    page.click("#submit")
    expect(problem).to_have_text("The text is too large.expected a body of at most 1048576 bytes")
    assert page.locator(SHOWN).count() == 0
    show(page)
    assert page.inner_text("#problem") == ""
    assert page.get_attribute("textarea", "aria-invalid") == "false"
    statuses = [re.search(r"status of (\d+)", line)[1] for line in page.problems]
    assert statuses == ["422", "422", "413"]
    page.problems.clear()


@pytest.fixture(scope="module")
def pairs(pair_model):
    with serving(pair_model) as found:
        yield found


def test_two_fields_two_trees(pairs, browser, pair_model):
    [expected] = pair_model.parse([["the dog slept", "a cat is bad"]])
    with new_page(browser, pairs) as page:
        page.get_by_label("First sentence").fill("the dog slept")
        page.get_by_label("Second sentence").fill("a cat is bad")
        page.click("#submit")
        page.wait_for_selector(SHOWN)
        assert page.inner_text("#label") == f"{expected.label} {100 * expected.probability:.1f}%"
        told = [word for sentence in expected.sentences for word in sentence.words]
        assert every(page, "#words .node text:first-of-type", "textContent") == told
        assert every(page, "#words section", "ariaLabel") == ["First sentence", "Second sentence"]
        with new_page(browser, page.url) as other:
            other.wait_for_selector(SHOWN)
            assert other.input_value("[name=second]") == "a cat is bad"
        page.click("#examples button")
        answered(page)


def test_which_sentence_is_too_long(pairs, browser):
    with new_page(browser, pairs) as page:
        page.get_by_label("First sentence").fill("the dog slept")
        page.get_by_label("Second sentence").fill("a cat. " * 9000)
        page.click("#submit")
        expect(page.locator("#problem")).to_contain_text("Second sentence: ")
        assert every(page, "textarea", "ariaInvalid") == ["false", "true"]
        page.problems.clear()


@pytest.mark.parametrize("kind", ["simple", "none"])
def test_models_without_trees(kind, browser):
    level = {"attention": kind}
    with serving(documents(words=level, sentences=level)) as address, new_page(browser, address) as page:
        show(page)
        assert page.locator("#trees .arc").count() == 0
        assert page.locator("#views").is_visible() == (kind == "simple")
        assert page.locator("#trees ol .node").count() == 3
        page.click("#trees li:nth-child(2) button")
        assert page.inner_text("#words h3").startswith("Sentence 2 of 3")


def test_the_server_is_gone_and_comes_back(document_model, browser):
    with ExitStack() as first:
        address = first.enter_context(serving(document_model))
        with new_page(browser, address) as page:
            show(page)
            first.close()
            page.fill("textarea", "The plot was bad.")
            page.click("#submit")
            expect(page.locator("#problem")).to_contain_text("The server does not answer.")
            assert page.locator(SHOWN).count() == 0
            page.wait_for_timeout(1500)
            assert page.locator("#problem p").count() == 1
            assert page.input_value("textarea") == "The plot was bad."
            with serving(document_model, port=int(address.split(":")[2].strip("/"))):
                page.wait_for_selector(SHOWN)
                assert page.inner_text("#problem") == ""
                assert page.inner_text("#status").endswith("1 sentence, 5 words")
                show(page)
            assert all("net::ERR" in line or "503" in line for line in page.problems)
            page.problems.clear()


def test_a_busy_server_and_one_that_is_too_slow(document_model, browser):
    limits = Limits(window=3, queue=3, texts=3)
    with serving(document_model, limits) as address, new_page(browser, address) as page:
        page.wait_for_selector("textarea")
        body = json.dumps({"texts": ["a film"] * 3})
        page.evaluate(
            f"""() => {{
                const headers = {{ "Content-Type": "application/json" }};
                fetch("v1/predict", {{ method: "POST", headers, body: {json.dumps(body)} }});
            }}"""
        )
        page.wait_for_timeout(300)
        page.fill("textarea", TEXT)
        page.click("#submit")
        expect(page.locator("#problem")).to_contain_text("The server is busy. This page tries again by itself.")
        page.wait_for_selector(SHOWN)
        assert page.inner_text("#problem") == ""
        assert all("503" in line for line in page.problems)
        page.problems.clear()
    limits = Limits(window=3, seconds=0.2)
    with serving(document_model, limits) as address, new_page(browser, address) as page:
        page.wait_for_selector("textarea")
        page.fill("textarea", TEXT)
        page.click("#submit")
        expect(page.locator("#problem")).to_have_text(
            "The server took too long. A shorter text may work.no answer within 0.2 seconds"
        )
        page.problems.clear()
