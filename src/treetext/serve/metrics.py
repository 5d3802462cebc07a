"""What a server tells Prometheus about itself."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

GONE = 499
"""The status of a request whose client hung up before there was an answer; nobody gets to see it."""


class Metrics:
    """Counts of requests and of batches, and how long they took."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("treetext_requests", "Requests", ["path", "status"], registry=registry)
        self.seconds = Histogram("treetext_request_seconds", "Time of requests", ["path"], registry=registry)
        self.waiting = Gauge("treetext_waiting_texts", "Texts that wait for the model", registry=registry)
        sizes = [1, 2, 4, 8, 16, 32, 64, 128]
        self.batch_texts = Histogram("treetext_batch_texts", "Texts run together", buckets=sizes, registry=registry)
        self.batch_seconds = Histogram("treetext_batch_seconds", "Time of batches", registry=registry)
        self.answered = self.gone = 0

    def request(self, path: str, status: int, seconds: float) -> None:
        """A request has ended."""
        self.answered += status != GONE
        self.gone += status == GONE
        self.requests.labels(path, status).inc()
        self.seconds.labels(path).observe(seconds)

    def batch(self, texts: int, seconds: float) -> None:
        """A batch has been run."""
        self.batch_texts.observe(texts)
        self.batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
