"""The queue of requests, and the thread that runs the model on batches of them."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from pydantic_core import to_json

from treetext.data import BadInput
from treetext.data.document import counted
from treetext.models import Model, Parsed
from treetext.serve.metrics import Metrics
from treetext.serve.problems import Fault, Refusal, busy

Answer = bytes | Exception
Kind = Literal["predict", "parse", "encode"]
LONGEST_STRETCH = 2000
"""Limit of characters without white space: the time of spaCy's rules grows with their square."""


class Limits(NamedTuple):
    """Limits of the server."""

    bytes: int = 1 << 20
    """Size of the body of a request."""
    texts: int = 64
    """Texts in a request, or pairs for a model of pairs."""
    characters: int = 50_000
    """Characters in a text, or in a sentence of a pair."""
    words: int = 5_000
    """Words in a text or a pair."""
    nodes: int = 300
    """Words in a sentence, and sentences in a text: time grows with their cube, the answer with their square."""
    queue: int = 512
    """Waiting texts."""
    seconds: float = 30.0
    """Time limit for a request."""
    batch: int = 64
    """Texts in a batch."""
    window: float = 0.002
    """Seconds that a text waits for others to join its batch."""


class Work:
    """The texts of one request, and a future of the answer."""

    def __init__(self, kind: Kind, texts: Sequence[Any], weights: bool = False, top: int | None = None) -> None:
        self.kind, self.texts, self.weights, self.top = kind, texts, weights, top
        self.since = time.monotonic()
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def to_json(self, results: Sequence[Any]) -> bytes:
        """The model's results for the texts as JSON."""
        if self.kind == "encode":
            return to_json({"vectors": [vector.tolist() for vector in results]})
        if self.kind == "predict":
            top = [prediction.top(self.top) if self.top else prediction for prediction in results]
            return to_json({"predictions": [prediction._asdict() for prediction in top]})
        return to_json({"parsed": [self._plain(parsed) for parsed in results]})

    def _plain(self, parsed: Parsed) -> dict[str, Any]:
        if not self.weights:
            sentences = [sentence._replace(weights=None) for sentence in parsed.sentences]
            parsed = parsed._replace(weights=None, sentences=sentences)
        return parsed.to_dict()


class Queue:
    """Takes work on the event loop and runs it in batches on its own thread."""

    def __init__(self, model: Model, limits: Limits, metrics: Metrics) -> None:
        self.model, self.limits, self.metrics = model, limits, metrics
        self.ready = False
        """Whether the model has run once, so that everything is loaded and compiled."""
        self.size = 0
        """Number of waiting texts."""
        metrics.waiting.set_function(lambda: self.size)
        self._waiting: deque[Work] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)

    @property
    def alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Finish all waiting work and stop the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def put(self, work: Work) -> None:
        """Add work; refuse it if the queue is full."""
        if not self.ready:
            raise busy("the model is not ready yet")
        if work.kind == "encode" and self.model.vector_size is None:
            raise Refusal(404, f"{self.model.settings.kind}: a model without text vectors")
        with self._changed:
            if self.size + len(work.texts) > self.limits.queue:
                raise busy(
                    f"{counted(self.size, 'text')} waiting; expected at most {self.limits.queue} with this request"
                )
            self._waiting.append(work)
            self.size += len(work.texts)
            self._changed.notify()

    def drop(self, work: Work) -> None:
        """Cancel work whose client is gone."""
        work.answer.cancel()
        with self._changed:
            if work in self._waiting:
                self._waiting.remove(work)
                self.size -= len(work.texts)

    def _run(self) -> None:
        try:
            self.model.tokenizer.warm_up(self.model.known_words)
            self.model.parse([["One sentence.", "Another one."]])
            _ = self.model.vector_size  # from now on it is known without a run
        except Exception:
            logging.getLogger(__name__).exception("the model cannot run")
            return
        self.ready = True
        while self._waiting or not self._closed:
            if works := self._next():
                self._answer(works)

    def _next(self) -> list[Work]:
        """The next batch; a batch that is not full waits for more work until the window ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            while self._waiting and self.size < self.limits.batch and not self._closed:
                left = self._waiting[0].since + self.limits.window - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            works: list[Work] = []
            room = self.limits.batch
            while self._waiting and (not works or len(self._waiting[0].texts) <= room):
                works.append(self._waiting.popleft())
                room -= len(works[-1].texts)
            self.size -= self.limits.batch - room
            return works

    def _answer(self, works: Sequence[Work]) -> None:
        start = time.perf_counter()
        try:
            with self.model.tokenizer.memory_zone():
                answers = self._answers(works)
        except _Unwanted:
            return
        except Exception as error:
            if len(works) > 1:  # one of them failed; run each alone to answer the others
                for work in works:
                    self._answer([work])
                return
            answers = [error]
        self.metrics.batch(sum(len(work.texts) for work in works), time.perf_counter() - start)
        self._loop.call_soon_threadsafe(_deliver, works, answers)

    def _answers(self, works: Sequence[Work]) -> list[Answer]:
        found: dict[Work, Answer] = {}
        runs: dict[Kind, Any] = {
            "predict": self.model.predict_tokens,
            "parse": self.model.parse_tokens,
            "encode": self.model.encode_tokens,
        }
        for kind in dict.fromkeys(work.kind for work in works):
            fit, texts = list[Work](), list[Any]()
            for work in works:
                if work.kind == kind:
                    try:
                        texts += self._cut(work)
                        fit.append(work)
                    except (Refusal, _Unwanted) as error:
                        found[work] = error
            results = iter(runs[kind](texts, batch_size=self.limits.batch, progress=lambda *_: _check_wanted(works)))
            for work in fit:
                found[work] = work.to_json([next(results) for _ in work.texts])
        return [found[work] for work in works]

    def _cut(self, work: Work) -> list[list[list[str]]]:
        """The texts as sentences of words."""
        name = self.model.task.field
        texts, faults = list[list[list[str]]](), list[Fault]()
        for i, text in enumerate(work.texts):
            _check_wanted([work])
            try:
                texts.append(self._words(text))
            except BadInput as error:
                faults.append(Fault(pointer=f"#/{name}/{i}", detail=str(error)))
        if faults:
            raise Refusal(422, f"some {name} are too long: see errors", faults)
        return texts

    def _words(self, text: Any) -> list[list[str]]:
        """A text as sentences of words; refused if it has too many."""
        if self.model.tokenizer.by_rules:
            stretches = [len(part) for side in ([text] if isinstance(text, str) else text) for part in side.split()]
            if sum(n * n for n in stretches) > LONGEST_STRETCH**2:
                raise BadInput(f"{max(stretches)} characters without white space; expected shorter words")
        sentences, limits = self.model.tokens(text), self.limits
        lengths = [len(words) for words in sentences]
        if sum(lengths) > limits.words:
            raise BadInput(f"{sum(lengths)} words; expected at most {limits.words}")
        if len(lengths) > limits.nodes:
            raise BadInput(f"{len(lengths)} sentences; expected at most {limits.nodes}")
        if max(lengths, default=0) > limits.nodes:
            raise BadInput(f"a sentence of {max(lengths)} words; expected at most {limits.nodes}")
        return sentences


class _Unwanted(Exception):  # noqa: N818 (no error)
    """All clients of a batch are gone."""


def _check_wanted(works: Sequence[Work]) -> None:
    if all(work.answer.cancelled() for work in works):
        raise _Unwanted


def _deliver(works: Sequence[Work], answers: Sequence[Answer]) -> None:
    for work, answer in zip(works, answers, strict=True):
        if work.answer.done():
            continue
        if isinstance(answer, Exception):
            work.answer.set_exception(answer)
        else:
            work.answer.set_result(answer)
