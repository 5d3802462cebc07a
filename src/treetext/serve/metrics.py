"""Metrics of the server for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

GONE = 499
"""The status, for metrics only, of a request whose client disconnected before the answer."""


class Metrics:
    """Counts and durations of requests and batches."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("treetext_requests", "Requests", ["path", "status"], registry=registry)
        self.seconds = Histogram("treetext_request_seconds", "Duration of requests", ["path"], registry=registry)
        self.waiting = Gauge("treetext_waiting_texts", "Texts waiting for the model", registry=registry)
        sizes = [1, 2, 4, 8, 16, 32, 64, 128]
        self.batch_texts = Histogram("treetext_batch_texts", "Texts in a batch", buckets=sizes, registry=registry)
        self.batch_seconds = Histogram("treetext_batch_seconds", "Duration of batches", registry=registry)
        self.answered = self.gone = 0

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a finished request."""
        self.answered += status != GONE
        self.gone += status == GONE
        self.requests.labels(path, status).inc()
        self.seconds.labels(path).observe(seconds)

    def batch(self, texts: int, seconds: float) -> None:
        """Count a finished batch."""
        self.batch_texts.observe(texts)
        self.batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self.registry)
