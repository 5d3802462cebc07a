"""Requests that arrive together are run together; what is too much, too slow or unwanted is not run."""

import asyncio
import random
import string

import pytest
import spacy

from tests.models.building import WORDS, documents
from tests.serve.running import ask, metric, running
from tests.serve.test_api import problem, same
from treetext.data import Tokenizer
from treetext.serve import Limits, make_app
from treetext.serve.metrics import Metrics
from treetext.serve.queue import Queue, Work


def make_texts(count, most=25):
    chance = random.Random(count)
    sentences = [" ".join(chance.choices(WORDS, k=chance.randint(1, most))) + "." for _ in range(3 * count)]
    return [" ".join(sentences[i : i + chance.randint(1, 3)]) for i in range(0, 3 * count, 3)]


def test_answers_are_the_same_alone_and_together(document_model, pair_model):
    async def answers(model, field, texts, limits):
        async with running(make_app(model, limits)) as app:
            bodies = [{field: [text], "weights": True} for text in texts]
            if limits.batch == 1:
                found = [await ask(app, "POST", "/v1/parse", body) for body in bodies]
            else:
                found = await asyncio.gather(*(ask(app, "POST", "/v1/parse", body) for body in bodies))
            return [answer.json() for answer in found], await metric(app, "treetext_batch_texts_count")

    texts = make_texts(60)
    for model, field, items in (
        (document_model, "texts", texts),
        (pair_model, "pairs", [list(pair) for pair in zip(texts[:30], texts[30:], strict=True)]),
    ):
        alone, runs = asyncio.run(answers(model, field, items, Limits(batch=1, window=0)))
        together, batches = asyncio.run(answers(model, field, items, Limits(batch=100, window=0.3)))
        assert (runs, batches) == (len(items), 1)
        for one, other in zip(alone, together, strict=True):
            same(one, other)


def test_a_request_alone_does_not_wait_past_the_window(document_model):
    async def run():
        async with running(make_app(document_model, Limits(window=1, batch=32))) as app:
            clock = asyncio.get_running_loop().time
            start = clock()
            await ask(app, "POST", "/v1/predict", {"texts": ["a film"]})
            waited, start = clock() - start, clock()
            await ask(app, "POST", "/v1/predict", {"texts": ["a film"] * 32})
            return waited, clock() - start

    waited, full = asyncio.run(run())
    assert 1 <= waited < 5
    assert full < 1, "a full batch waits for nobody"


def test_labels_and_trees_in_one_batch(document_model):
    async def run():
        async with running(make_app(document_model, Limits(window=0.3))) as app:
            bodies = {"/v1/predict": {"texts": ["a film"]}, "/v1/parse": {"texts": ["a dog", "a cat"]}}
            predicted, parsed = await asyncio.gather(*(ask(app, "POST", path, body) for path, body in bodies.items()))
            assert await metric(app, "treetext_batch_texts_sum") == 3
            return predicted.json()["predictions"], parsed.json()["parsed"]

    predicted, parsed = asyncio.run(run())
    assert len(predicted) == 1
    assert [text["sentences"][0]["words"] for text in parsed] == [["a", "dog"], ["a", "cat"]]


def test_a_full_queue_refuses_and_recovers(document_model):
    async def run():
        async with running(make_app(document_model, Limits(texts=3, queue=3, window=0.3))) as app:
            first = asyncio.create_task(ask(app, "POST", "/v1/predict", {"texts": ["a film", "a dog"]}))
            await asyncio.sleep(0.05)
            assert await metric(app, "treetext_waiting_texts") == 2
            refused = await ask(app, "POST", "/v1/predict", {"texts": ["a", "b"]})
            small = await ask(app, "POST", "/v1/predict", {"texts": ["a"]})
            return refused, small, await first, await ask(app, "POST", "/v1/predict", {"texts": ["a"] * 3})

    refused, *answered = asyncio.run(run())
    assert "2 texts waiting" in problem(refused, 503)["detail"]
    assert refused.headers["retry-after"] == "1"
    assert [answer.status for answer in answered] == [200] * 3


def test_what_takes_too_long_is_given_up_and_not_run(document_model):
    async def run():
        async with running(make_app(document_model, Limits(seconds=0.1, window=0.5))) as app:
            late = await ask(app, "POST", "/v1/predict", {"texts": ["a film"]})
            assert await metric(app, "treetext_waiting_texts") == 0
            await asyncio.sleep(0.6)
            return late, await metric(app, "treetext_batch_texts_count")

    late, batches = asyncio.run(run())
    assert "0.1 seconds" in problem(late, 504)["detail"]
    assert batches == 0


def test_a_client_that_hangs_up_leaves_no_work_behind(document_model):
    async def run():
        async with running(make_app(document_model, Limits(window=0.5))) as app:
            moment = asyncio.Event()
            request = asyncio.create_task(ask(app, "POST", "/v1/predict", {"texts": ["a"] * 9}, hang_up=moment))
            other = asyncio.create_task(ask(app, "POST", "/v1/predict", {"texts": ["a film"]}))
            await asyncio.sleep(0.1)
            assert await metric(app, "treetext_waiting_texts") == 10
            moment.set()
            await request
            assert await metric(app, "treetext_waiting_texts") == 1
            assert (await other).status == 200
            assert await metric(app, 'treetext_requests_total{path="/v1/predict",status="499"}') == 1
            return await metric(app, "treetext_batch_texts_sum")

    assert asyncio.run(run()) == 1


def test_a_slow_body_is_given_up(document_model):
    async def run():
        app = make_app(document_model, Limits(seconds=0.1))
        sent = []

        async def receive():
            await asyncio.sleep(0.03)
            return {"type": "http.request", "body": b" ", "more_body": True}

        async def send(message):
            sent.append(message)

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/v1/predict", "headers": headers, "query_string": b""}
        await app(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(run()) == 408


async def outcomes(model, limits, works, act=lambda _: None):
    """What becomes of work that is put all at once."""
    queue = Queue(model, limits, Metrics())
    queue.start()
    while not queue.ready:
        await asyncio.sleep(0.01)
    works = works()
    for work in works:
        queue.put(work)
    act(queue)
    await asyncio.to_thread(queue.stop)
    await asyncio.sleep(0)
    return works, queue


def test_one_bad_text_does_not_spoil_the_answers_of_others(document_model):
    def works():
        return [Work("predict", ["a film"]), Work("predict", [3]), Work("parse", ["a dog"])]

    (first, bad, last), _ = asyncio.run(outcomes(document_model, Limits(window=0.2), works))
    assert first.answer.result().startswith(b'{"predictions"')
    assert isinstance(bad.answer.exception(), TypeError)
    assert last.answer.result().startswith(b'{"parsed"')


def test_stopping_finishes_what_waits(document_model):
    def works():
        return [Work("predict", [text]) for text in make_texts(50)]

    done, _ = asyncio.run(outcomes(document_model, Limits(batch=8, window=60), works))
    assert all(work.answer.done() and not work.answer.exception() for work in done)


async def hung_up(model, limits, works):
    """What becomes of work if the client of the first hangs up once it has left the queue."""
    made = []

    def put():
        made.extend(works())
        return made

    def act(queue):
        while queue.size:
            pass
        queue.drop(made[0])

    return await outcomes(model, limits, put, act)


def test_work_that_runs_for_nobody_ends(document_model):
    def works():
        return [Work("parse", make_texts(400), weights=True)]

    [work], queue = asyncio.run(hung_up(document_model, Limits(batch=1, window=0, queue=1000), works))
    assert work.answer.cancelled()
    assert queue.metrics.registry.get_sample_value("treetext_batch_texts_count") == 0, "it was not run to its end"


def test_a_client_that_hangs_up_takes_no_others_with_it(document_model):
    def works():
        return [Work("parse", make_texts(400)), Work("parse", ["a film"]), Work("predict", ["a film"])]

    limits = Limits(batch=1000, window=0.1, queue=1000)
    (gone, *others), queue = asyncio.run(hung_up(document_model, limits, works))
    assert gone.answer.cancelled()
    assert [work.answer.result()[:8] for work in others] == [b'{"parsed', b'{"predic']
    assert queue.metrics.registry.get_sample_value("treetext_batch_texts_count") == 1


def test_words_are_not_remembered(monkeypatch):
    chance, pipelines, blank = random.Random(0), [], spacy.blank
    monkeypatch.setattr(spacy, "blank", lambda language: pipelines.append(blank(language)) or pipelines[-1])
    model = documents()

    def works():
        def word():
            return "".join(chance.choices(string.ascii_letters, k=12))

        return [Work("predict", [" ".join(word() for _ in range(200))]) for _ in range(50)]

    asyncio.run(outcomes(model, Limits(), works))
    [pipeline] = pipelines
    before = len(pipeline.vocab.strings)
    asyncio.run(outcomes(model, Limits(), works))
    assert len(pipeline.vocab.strings) == before
    assert before < 5000


@pytest.mark.parametrize("language", ["en", "zh"])
def test_stretches_without_white_space_are_for_languages_that_have_it(language, document_model):
    model = type(document_model)(
        document_model.settings, document_model.labels, Tokenizer(language), **document_model.parts()
    )
    work = asyncio.run(outcomes(model, Limits(nodes=5000), lambda: [Work("predict", ["好" * 2500])]))[0][0]
    assert (work.answer.exception() is None) == (language == "zh")


@pytest.mark.parametrize("kind", ["predict", "parse", "encode"])
def test_each_text_is_cut_into_words_once(kind, document_model, monkeypatch):
    cut, split = [], Tokenizer.split
    monkeypatch.setattr(Tokenizer, "split", lambda self, text: cut.append(text) or split(self, text))
    texts = ["a film was bad", "the dog slept", ""]
    asyncio.run(outcomes(document_model, Limits(), lambda: [Work(kind, texts)]))
    assert [cut.count(text) for text in texts] == [1, 1, 1]
