"""How requests are refused: as problem documents (RFC 9457)."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MOST_FAULTS = 20


class Fault(BaseModel):
    """What is wrong with one part of a request."""

    model_config = ConfigDict(extra="forbid")
    pointer: str = Field(description="where it is: a JSON pointer into the body")
    detail: str


class Problem(BaseModel):
    """Why a request has no answer (RFC 9457, application/problem+json)."""

    model_config = ConfigDict(extra="forbid")
    type: str = Field("about:blank", description="about:blank: the status says it all")
    title: str
    status: int
    detail: str
    errors: list[Fault] = Field([], description="the parts that are wrong, where there are such")


class Refusal(HTTPException):
    """Ends a request with a problem document."""

    def __init__(
        self, status: int, detail: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.faults = faults


def busy(detail: str) -> Refusal:
    """For a client that may come back in a moment."""
    return Refusal(503, detail, headers={"Retry-After": "1"})


def misfit(error: ValidationError) -> Refusal:
    """For a body that is not JSON, or not what is asked for."""
    first, *_ = errors = error.errors(include_url=False, include_context=False, include_input=False)
    if first["type"] == "json_invalid":
        return Refusal(400, f"{first['msg']}; expected JSON")
    faults = [Fault(pointer=_pointer(e["loc"]), detail=e["msg"]) for e in errors[:MOST_FAULTS]]
    return Refusal(422, "not what is asked for: see errors, and /openapi.json", faults)


async def refused(request: Request, error: Exception) -> Response:
    """The answer to a request that ended with an exception of HTTP."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    detail = error.detail
    if not isinstance(error, Refusal):
        detail = {
            404: "nothing here; /openapi.json says what there is",
            405: f"not by {request.method}; expected {headers.get('Allow')}",
        }.get(error.status_code, detail)
    return problem(error.status_code, detail, getattr(error, "faults", ()), headers)


def problem(
    status: int, detail: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """A problem document."""
    found = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=list(faults))
    return JSONResponse(found.model_dump(), status, headers, "application/problem+json")


def _pointer(place: Sequence[Any]) -> str:
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in place)
