"""The OpenAPI document is right, by schemathesis; so are its examples."""

import asyncio

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import Phase, given, settings
from schemathesis import GenerationMode

from tests.serve.running import ask, running
from treetext.serve import make_app

CHECKED = settings(
    max_examples=100, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
GETS = ("/v1/model", "/healthz", "/readyz", "/metrics")
POSTS = ("/v1/predict", "/v1/parse", "/v1/encode")


@pytest.fixture(scope="module")
def documented(server):
    found = schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")
    found.config.checks.negative_data_rejection.expected_statuses = ["400", "413", "415", "422"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [("GET", path, GenerationMode.POSITIVE) for path in GETS]
    + [("POST", path, mode) for path in POSTS for mode in GenerationMode],
    ids=str,
)
def test_the_server_is_as_documented(method, path, mode, documented):
    statuses = set()

    @CHECKED
    @given(case=documented[path][method].as_strategy(generation_mode=mode))
    def check(case):
        statuses.add(case.call_and_validate().status_code)

    check()
    assert (200 in statuses) == (mode == GenerationMode.POSITIVE), statuses


def document(model):
    return asyncio.run(ask(make_app(model), "GET", "/openapi.json")).json()


def test_all_paths_are_documented(document_model):
    found = document(document_model)
    assert set(found["paths"]) == {*POSTS, *GETS}
    for path in POSTS:
        responses = found["paths"][path]["post"]["responses"]
        assert {"200", "400", "413", "422", "500", "503", "504"} <= responses.keys()
        for status, response in responses.items():
            assert list(response["content"]) == ["application/" + ("json" if status == "200" else "problem+json")]


@pytest.mark.parametrize("task", ["documents", "pairs"])
def test_examples_are_valid_and_have_answers(task, document_model, pair_model):
    model = document_model if task == "documents" else pair_model
    found = document(model)
    schemas = found["components"]["schemas"]
    for name in ("Predictions", "Parses", "Vectors"):
        [example] = schemas[name]["examples"]
        reference = {"$ref": f"#/components/schemas/{name}", "components": found["components"]}
        jsonschema_rs.validate(reference, example)
    field = {"documents": "texts", "pairs": "pairs"}[task]
    [texts] = schemas["Predict"]["properties"][field]["examples"]

    async def answer():
        async with running(make_app(model)) as app:
            return await ask(app, "POST", "/v1/parse", {field: texts})

    [parsed] = asyncio.run(answer()).json()["parsed"]
    [example] = schemas["Parses"]["examples"][0]["parsed"]
    assert [s["words"] for s in parsed["sentences"]] == [s["words"] for s in example["sentences"]]
    assert (parsed["heads"] is None) == (example["heads"] is None)
