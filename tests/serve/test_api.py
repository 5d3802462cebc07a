"""Paths, answers and refusals."""

import asyncio
import json
import logging

import numpy as np
import pytest

from tests.models.building import documents
from tests.serve.running import JSON, ask, metric, running
from treetext.models import StructuredDocuments
from treetext.models.majority import Majority, MajoritySettings
from treetext.serve import Limits, make_app

TEXTS = ["A good film. I saw it.", "", "the plot was not very good, and it is bad", "the dog slept"]
PAIRS = [["the dog slept", "a cat is bad"], ["a film", ""], ["it is", "it was not"]]


def one(model, *request, limits=None):
    """The answer to one request."""

    async def run():
        async with running(make_app(model, limits)) as app:
            return await ask(app, *request)

    return asyncio.run(run())


def problem(answer, status):
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["type"] == "about:blank"
    return found


@pytest.mark.parametrize("task", ["documents", "pairs"])
def test_answers_are_those_of_the_model_in_the_order_of_the_texts(task, document_model, pair_model):
    model, field, texts = {
        "documents": (document_model, "texts", TEXTS),
        "pairs": (pair_model, "pairs", PAIRS),
    }[task]
    predictions = one(model, "POST", "/v1/predict", {field: texts}).json()["predictions"]
    parsed = one(model, "POST", "/v1/parse", {field: texts, "weights": True}).json()["parsed"]
    for found, more, expected in zip(predictions, parsed, model.parse(texts), strict=True):
        assert found["label"] == more["label"] == expected.label
        assert found["probabilities"] == pytest.approx(expected.prediction.probabilities, abs=1e-6)
        same(more, expected.to_dict())


@pytest.mark.parametrize("task", ["documents", "pairs"])
def test_vectors_are_those_of_the_model_in_the_order_of_the_texts(task, document_model, pair_model):
    model, field, texts = {
        "documents": (document_model, "texts", TEXTS),
        "pairs": (pair_model, "pairs", PAIRS),
    }[task]
    vectors = np.array(one(model, "POST", "/v1/encode", {field: texts}).json()["vectors"])
    np.testing.assert_allclose(vectors, model.encode(texts), rtol=1e-5, atol=1e-5)
    assert vectors.shape == (len(texts), model.vector_size)
    assert [bool(vector.any()) for vector in vectors] == [i != 1 for i in range(len(texts))], "one has no words"
    assert one(model, "POST", "/v1/encode", {field: []}).json() == {"vectors": []}
    problem(one(model, "POST", "/v1/encode", {field: texts, "weights": True}), 422)


def test_vectors_of_a_model_without_any():
    model = Majority(MajoritySettings(), ["a", "b"])
    found = problem(one(model, "POST", "/v1/encode", {"texts": ["a film"]}), 404)
    assert found["detail"] == "majority: a model without text vectors"
    assert one(model, "POST", "/v1/predict", {"texts": ["a film"]}).status == 200


def test_kinds_of_requests_in_one_batch(document_model):
    """Labels, trees and vectors, each to the client that asked for it."""

    async def run():
        async with running(make_app(document_model, Limits(window=0.2))) as app:
            asked = [ask(app, "POST", f"/v1/{kind}", {"texts": TEXTS[:2]}) for kind in ("encode", "predict", "parse")]
            answers = await asyncio.gather(*asked)
            assert (await metric(app, "treetext_batch_texts_count")) == 1
            assert (await metric(app, 'treetext_requests_total{path="/v1/encode",status="200"}')) == 1
            return [list(answer.json()) for answer in answers]

    assert asyncio.run(run()) == [["vectors"], ["predictions"], ["parsed"]]


def test_the_most_probable_labels(document_model):
    everything = one(document_model, "POST", "/v1/predict", {"texts": TEXTS}).json()["predictions"]
    for k in (1, 2, 2.0, 3, 10**300):
        found = one(document_model, "POST", "/v1/predict", {"texts": TEXTS, "top": k}).json()["predictions"]
        for few, prediction in zip(found, everything, strict=True):
            ranked = sorted(prediction["probabilities"].items(), key=lambda each: -each[1])
            assert list(few["probabilities"].items()) == ranked[: int(k)]
            assert (few["label"], few["probability"]) == ranked[0]
    for k in (0, -1, 1.5, "2"):
        wrong = problem(one(document_model, "POST", "/v1/predict", {"texts": TEXTS, "top": k}), 422)
        assert wrong["errors"][0]["pointer"] == "#/top"
    same = one(document_model, "POST", "/v1/predict", {"texts": TEXTS, "top": None}).json()["predictions"]
    assert same == everything


def test_words_come_back_as_typed(document_model):
    [parsed] = one(document_model, "POST", "/v1/parse", {"texts": ["The DOG slept."]}).json()["parsed"]
    [lower] = one(document_model, "POST", "/v1/parse", {"texts": ["the dog slept."]}).json()["parsed"]
    assert parsed["sentences"][0]["words"] == ["The", "DOG", "slept", "."]
    assert parsed["probabilities"] == lower["probabilities"]


def same(found, expected):
    """Trees and words are the same, numbers almost."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        assert found == (pytest.approx(expected, abs=1e-6) if isinstance(expected, float) else expected)


def test_weights_are_sent_when_asked_for(document_model):
    [parsed] = one(document_model, "POST", "/v1/parse", {"texts": TEXTS[:1]}).json()["parsed"]
    assert parsed["weights"] is None
    assert [sentence["weights"] for sentence in parsed["sentences"]] == [None, None]
    assert parsed["heads"]


def test_no_texts_no_answers(document_model):
    assert one(document_model, "POST", "/v1/predict", {"texts": []}).json() == {"predictions": []}


def test_the_model_is_described_without_where_it_comes_from(document_model):
    answer = one(document_model, "GET", "/v1/model")
    found = answer.json()
    assert found["labels"] == ["bad", "good", "so-so"]
    assert (found["recipe"], found["scores"]) == ("somebody/else", {"dev": 0.75})
    assert found["settings"]["words"]["attention"] == "nonprojective"
    assert found["limits"]["texts"] == Limits().texts
    assert b"secret" not in answer.body


def test_health_and_metrics(document_model):
    async def run():
        app = make_app(document_model)
        assert (await ask(app, "GET", "/healthz")).status == 500, "not started"
        async with running(app):
            assert (await ask(app, "GET", "/healthz")).json() == {"status": "alive"}
            assert (await ask(app, "GET", "/readyz")).json() == {"status": "ready"}
            await ask(app, "POST", "/v1/predict", {"texts": TEXTS})
            await ask(app, "GET", "/some/thing")
            return (await ask(app, "GET", "/metrics")).body.decode()

    text = asyncio.run(run())
    assert 'treetext_requests_total{path="/v1/predict",status="200"} 1.0' in text
    assert 'treetext_requests_total{path="other",status="404"} 1.0' in text
    assert "treetext_batch_texts_sum 4.0" in text
    assert "treetext_waiting_texts 0.0" in text


class Broken(StructuredDocuments):
    """A model with a mistake."""

    mistake = "predict"

    def predict_tokens(self, *_, **__):
        raise ZeroDivisionError

    def parse_tokens(self, *arguments, **options):
        if self.mistake == "parse":
            raise ZeroDivisionError
        return super().parse_tokens(*arguments, **options)


def broken(mistake):
    model = documents()
    model.__class__ = type("Model", (Broken,), {"mistake": mistake})
    return model


def test_a_mistake_of_the_server_is_a_problem_too_and_is_logged(caplog):
    answer = one(broken("predict"), "POST", "/v1/predict", {"texts": TEXTS})
    assert "log" in problem(answer, 500)["detail"]
    assert "ZeroDivisionError" in caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_model_that_does_not_run_is_not_healthy(caplog):
    async def run():
        app = make_app(broken("parse"))
        async with app.router.lifespan_context(app):
            while (await ask(app, "GET", "/healthz")).status == 200:
                await asyncio.sleep(0.01)
            problem(await ask(app, "GET", "/healthz"), 500)
            problem(await ask(app, "GET", "/readyz"), 503)
            problem(await ask(app, "POST", "/v1/predict", {"texts": []}), 503)

    with caplog.at_level(logging.ERROR):
        asyncio.run(run())
    assert "the model cannot run" in caplog.text


@pytest.mark.parametrize("path", ["/v1", "/v1/predict/", "/docs", "/redoc", "/v1/predict\u0000"])
def test_unknown_paths(path, document_model):
    problem(one(document_model, "GET", path), 404)


def test_wrong_methods(document_model):
    answer = one(document_model, "GET", "/v1/predict")
    assert problem(answer, 405)["detail"] == "method GET is not allowed; expected POST"
    assert answer.headers["allow"] == "POST"
    problem(one(document_model, "DELETE", "/v1/model"), 405)


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (b"", 400, None),
        (b"\xff\xfe", 400, None),
        (b'{"texts": ["a"]', 400, None),
        (b'{"texts": ["\\ud800"]}', 400, None),
        (b'{"texts": ["\xed\xa0\x80"]}', 400, None),
        (b"[" * 100_000, 400, None),
        (b'{"texts": [NaN]}', 422, "#/texts/0"),
        (b'{"texts": ["a"], "x": NaN}', 422, "#/x"),
        (b'{"texts": [1e999]}', 422, "#/texts/0"),
        (b'{"texts": ["a", ' + b"9" * 5000 + b"]}", 400, None),
        (b'{"texts": "a"}', 422, "#/texts"),
        (b'{"texts": ["a", null]}', 422, "#/texts/1"),
        (b'{"texts": ["a"], "a/b~": 1}', 422, "#/a~1b~0"),
        (b'{"texts": ["a"], "weights": 1}', 422, "#/weights"),
        (b'{"pairs": [["a", "b"]]}', 422, "#/texts"),
        (b"[]", 422, "#"),
        (b"null", 422, "#"),
    ],
)
def test_wrong_bodies(body, status, pointer, document_model):
    path = "/v1/parse" if b"weights" in body else "/v1/predict"
    found = problem(one(document_model, "POST", path, body), status)
    if pointer:
        assert pointer in [error["pointer"] for error in found["errors"]]


@pytest.mark.parametrize("pair", [["a"], ["a", "b", "c"], "ab", ["a", 1]])
def test_wrong_pairs(pair, pair_model):
    found = problem(one(pair_model, "POST", "/v1/predict", {"pairs": [["a", "b"], pair]}), 422)
    assert found["errors"][0]["pointer"].startswith("#/pairs/1")


@pytest.mark.parametrize(
    "headers", [{}, {"content-type": "text/plain"}, {**JSON, "content-encoding": "gzip"}], ids=["none", "text", "gzip"]
)
def test_other_kinds_of_body(headers, document_model):
    problem(one(document_model, "POST", "/v1/predict", {"texts": []}, headers), 415)
    more = {"content-type": "Application/JSON; charset=utf-8"}
    assert one(document_model, "POST", "/v1/predict", {"texts": []}, more).status == 200


def test_too_many_texts_or_words_and_which(document_model):
    limits = Limits(texts=3, words=20, nodes=9, characters=5000)
    found = problem(one(document_model, "POST", "/v1/predict", {"texts": ["a"] * 4}, limits=limits), 422)
    assert "at most 3" in found["errors"][0]["detail"]
    texts = ["a film. " * 8, "a film", "very " * 10]
    found = problem(one(document_model, "POST", "/v1/parse", {"texts": texts}, limits=limits), 422)
    assert found["errors"] == [
        {"pointer": "#/texts/0", "detail": "24 words; expected at most 20"},
        {"pointer": "#/texts/2", "detail": "a sentence of 10 words; expected at most 9"},
    ]
    found = problem(one(document_model, "POST", "/v1/parse", {"texts": ["Yes. " * 10]}, limits=limits), 422)
    assert found["errors"] == [{"pointer": "#/texts/0", "detail": "10 sentences; expected at most 9"}]
    found = problem(one(document_model, "POST", "/v1/predict", {"texts": ["a" * 5001]}, limits=limits), 422)
    assert found["errors"][0]["pointer"] == "#/texts/0"
    found = problem(one(document_model, "POST", "/v1/predict", {"texts": ["a", "(" * 3000]}, limits=limits), 422)
    detail = "3000 characters without white space; expected shorter words"
    assert found["errors"] == [{"pointer": "#/texts/1", "detail": detail}]


def test_every_answer_has_the_security_headers(document_model):
    for request in (("GET", "/healthz"), ("GET", "/nothing"), ("POST", "/v1/predict", b"{"), ("GET", "/openapi.json")):
        headers = one(document_model, *request).headers
        assert headers["content-security-policy"].startswith("default-src 'none';")
        assert headers["x-content-type-options"] == "nosniff"
        assert json.dumps(headers).count("content-type-options") == 1
