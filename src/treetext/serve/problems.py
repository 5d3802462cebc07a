"""Errors as problem documents (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MOST_FAULTS = 20


class Fault(BaseModel):
    """An error in one part of a request."""

    model_config = ConfigDict(extra="forbid")
    pointer: str = Field(description="JSON pointer to this part of the body")
    detail: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457, application/problem+json)."""

    model_config = ConfigDict(extra="forbid")
    type: str = Field("about:blank", description="about:blank: the status defines the type")
    title: str
    status: int
    detail: str
    errors: list[Fault] = Field([], description="the wrong parts of the body, if any")


class Refusal(HTTPException):
    """Ends a request with a problem document."""

    def __init__(
        self, status: int, detail: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.faults = faults


def busy(detail: str) -> Refusal:
    """A refusal that asks the client to try again in a second."""
    return Refusal(503, detail, headers={"Retry-After": "1"})


def misfit(error: ValidationError) -> Refusal:
    """A refusal of a body that is not JSON or does not match the schema."""
    first, *_ = errors = error.errors(include_url=False, include_context=False, include_input=False)
    if first["type"] == "json_invalid":
        return Refusal(400, f"{first['msg']}; expected JSON")
    faults = [Fault(pointer=_pointer(e["loc"]), detail=e["msg"]) for e in errors[:MOST_FAULTS]]
    return Refusal(422, "the body does not match the schema: see errors and /openapi.json", faults)


async def refused(request: Request, error: Exception) -> Response:
    """The response to a request that raised an HTTPException."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    detail = error.detail
    if not isinstance(error, Refusal):
        detail = {
            404: "no such path; see /openapi.json",
            405: f"method {request.method} is not allowed; expected {headers.get('Allow')}",
        }.get(error.status_code, detail)
    return problem(error.status_code, detail, getattr(error, "faults", ()), headers)


def problem(
    status: int, detail: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """A response with a problem document."""
    found = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=list(faults))
    return JSONResponse(found.model_dump(), status, headers, "application/problem+json")


def _pointer(place: Sequence[Any]) -> str:
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in place)
