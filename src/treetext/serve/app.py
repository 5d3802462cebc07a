"""The ASGI application: routes, request bodies, responses and the OpenAPI document."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treetext import __version__
from treetext.models import Model
from treetext.serve import messages
from treetext.serve.files import page_files
from treetext.serve.metrics import GONE, Metrics
from treetext.serve.problems import Problem, Refusal, busy, misfit, problem, refused
from treetext.serve.queue import Kind, Limits, Queue, Work

SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
PROBLEMS = {
    400: "The body is not JSON.",
    408: "The body took too long to arrive.",
    413: "The body is too large.",
    415: "The Content-Type is not JSON, or the body is compressed.",
    422: "The body does not match the schema, or has too many or too long texts: see `errors`.",
    500: "An error in the server.",
    503: "The queue is full, or the model is not ready; try again after `Retry-After` seconds.",
    504: "The model took too long.",
}


def make_app(model: Model, limits: Limits | None = None) -> FastAPI:
    """An ASGI application that serves a model.

    It runs a copy in double precision, so that a text gets the same answer alone and in a batch.
    """
    limits = limits or Limits()
    model = deepcopy(model).double()
    metrics = Metrics()
    queue = Queue(model, limits, metrics)
    questions = messages.questions(model, limits)
    description = messages.about(model, limits).model_dump()
    files = page_files()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        queue.start()
        yield
        await asyncio.to_thread(queue.stop)

    async def predict(request: Request) -> Response:
        """Label texts."""
        return await answer(request, "predict")

    async def parse(request: Request) -> Response:
        """Label texts and return the trees that the model induces."""
        return await answer(request, "parse")

    async def encode(request: Request) -> Response:
        """Return a vector for each text, composed of its words and sentences."""
        return await answer(request, "encode")

    async def answer(request: Request, kind: Kind) -> Response:
        try:
            body = await _body(request, limits)
        except ClientDisconnect:
            return Response(status_code=GONE)
        try:
            question: Any = getattr(questions, kind).model_validate_json(body)
        except ValidationError as error:
            raise misfit(error) from None
        options = question.model_dump(exclude={questions.field})
        work = Work(kind, getattr(question, questions.field), **options)
        queue.put(work)
        return await _answer(request, work, queue)

    async def about() -> Response:
        """The model: its task, labels, recipe and scores."""
        return JSONResponse(description)

    async def health() -> Response:
        """Whether the server is alive."""
        return JSONResponse({"status": "alive"}) if queue.alive else problem(500, "the model's thread has stopped")

    async def readiness() -> Response:
        """Whether the model is loaded and has been run once."""
        if not queue.ready:
            raise busy("the model is not ready yet")
        return JSONResponse({"status": "ready"})

    async def page(request: Request) -> Response:
        """The web page, or a file that it needs."""
        return files[request.scope["route"].path]

    async def measured() -> Response:
        """Metrics for Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    app = FastAPI(
        title="treetext",
        version=__version__,
        description="Labels and vectors of texts, and the dependency trees that the model induces.",
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from other servers
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: refused},
    )
    app.state.metrics = metrics
    app.add_middleware(_Edge, metrics=metrics)
    route = partial(app.add_api_route, response_model=None)
    for path in files:
        route(path, page, methods=["GET", "HEAD"], include_in_schema=False)
    route("/v1/predict", predict, methods=["POST"], responses={200: {"model": messages.Predictions}})
    route("/v1/parse", parse, methods=["POST"], responses={200: {"model": messages.Parses}})
    route("/v1/encode", encode, methods=["POST"], responses={200: {"model": messages.Vectors}})
    route("/v1/model", about, responses={200: {"model": messages.About}})
    route("/healthz", health, responses={200: {"model": messages.Status}})
    route("/readyz", readiness, responses={200: {"model": messages.Status}})
    route("/metrics", measured, response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    app.openapi = partial(_document, app, questions, messages.examples(model))  # type: ignore[method-assign]
    return app


async def _body(request: Request, limits: Limits) -> bytes:
    """The body; refused as soon as it is too large, so that memory is bounded."""
    headers = request.headers
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "expected a body of JSON, with the header Content-Type: application/json")
    if headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "expected a body that is not compressed")
    too_large = Refusal(413, f"expected a body of at most {limits.bytes} bytes")
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared[:20]) > limits.bytes:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                body += part
                if len(body) > limits.bytes:
                    raise too_large
    except TimeoutError:
        raise Refusal(408, f"expected all of the body within {limits.seconds:g} seconds") from None
    return bytes(body)


async def _answer(request: Request, work: Work, queue: Queue) -> Response:
    """The model's answer, unless it takes too long or the client disconnects."""
    gone = asyncio.ensure_future(request.receive())  # after the body, only a disconnect can arrive
    try:
        ways = (work.answer, gone)
        await asyncio.wait(ways, timeout=queue.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.answer.done():
            return Response(work.answer.result(), media_type="application/json")
        if gone.done():
            return Response(status_code=GONE)
        raise Refusal(504, f"no answer within {queue.limits.seconds:g} seconds")
    finally:
        gone.cancel()
        queue.drop(work)


class _Edge:
    """The outermost middleware: security headers, metrics, and a problem document for uncaught exceptions."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), GONE
        extra = [(name.lower().encode(), value.encode()) for name, value in SECURITY.items()]

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            await self.app(scope, receive, send_on)
        except Exception:
            logging.getLogger(__name__).exception("%s %s", scope["method"], scope["path"])
            await problem(500, "an error in the server; see its log")(scope, receive, send_on)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self.metrics.request(path, status, time.perf_counter() - start)


def _document(app: FastAPI, questions: messages.Questions, examples: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's OpenAPI document, with request bodies, problems and examples added."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = found["components"]["schemas"]
        for kind in (questions.predict, questions.parse, questions.encode, Problem):
            schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= {**schema.pop("$defs", {}), kind.__name__: schema}
        for name, example in examples.items():
            schemas[name]["examples"] = [example]
        problems = {str(status): _problem(status, text) for status, text in PROBLEMS.items()}
        for name, path in found["paths"].items():
            for operation in path.values():
                if "post" in path:
                    schema = {"$ref": f"#/components/schemas/{name.removeprefix('/v1/').capitalize()}"}
                    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
                    operation["responses"] |= problems
                    if name == "/v1/encode":
                        operation["responses"]["404"] = _problem(404, "The model has no text vectors.")
                else:
                    operation["responses"] |= {code: problems[code] for code in ("500", "503")}
        app.openapi_schema = found
    return app.openapi_schema


def _problem(status: int, text: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    headers = {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}} if status == 503 else {}
    return {"description": text, "content": content, "headers": headers}
