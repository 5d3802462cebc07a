"""Recipes as TOML: what is printed is what is read."""

import re
import tomllib

import pytest

from treetext.data import PAIRS, BadInput, Settings, corpus_formats
from treetext.models import find_model, models
from treetext.models.wide import WideSettings
from treetext.training import load_recipe, load_template, recipe_names, to_toml, to_values


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_round_trip(name, tmp_path):
    path, recipe = tmp_path / "recipe.toml", load_template(name)
    path.write_text(to_toml(recipe), encoding="utf-8")
    assert load_template(path) == recipe
    placed = {} if recipe.data.generated else {"data.path": "somewhere"}
    whole = load_recipe(name, placed)
    path.write_text(to_toml(whole), encoding="utf-8")
    assert load_recipe(path) == whole
    assert tomllib.loads(to_toml(whole)) == without_none(to_values(whole))


def without_none(values):
    return {
        key: without_none(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value is not None
    }


@pytest.mark.parametrize("name", recipe_names())
def test_templates_have_no_place(name):
    recipe = load_template(name)
    assert to_values(recipe)["data"].get("path") is None
    assert "path" not in tomllib.loads(to_toml(recipe))["data"]
    placed = {} if recipe.data.generated else {"data.path": "somewhere"}
    whole = to_values(load_recipe(name, placed))
    assert {**whole, "data": {**whole["data"], "path": None}} == {
        **to_values(recipe),
        "data": {**to_values(recipe)["data"], "path": None},
    }


def test_templates_may_lack_a_path_and_nothing_else():
    with pytest.raises(BadInput, match="unknown; did you mean hidden"):
        load_template("documents/both", {"model.hiden": 1})
    with pytest.raises(BadInput, match=r"^documents/both: data\.format: expected one of "):
        load_template("documents/both", {"data.format": "cvs"})
    assert load_template("documents/both", {"data.path": "x"}).data.path == "x"
    split = load_template("documents/both", {"data.train": "a", "data.test": "b"})
    assert split.data.places == {"train": "a", "test": "b"}
    assert to_values(split)["data"]["path"] is None
    assert load_template("hidden-trees/both") == load_recipe("hidden-trees/both")


@pytest.mark.parametrize("kind", models())
def test_every_kind_of_model(kind, tmp_path):
    second = {"second": "b"} if find_model({"kind": kind}).task.name == "pairs" else {}
    recipe = load_recipe({"data": {"format": "csv", "path": "x", **second}, "model": {"kind": kind}})
    path = tmp_path / "recipe.toml"
    path.write_text(to_toml(recipe), encoding="utf-8")
    assert load_recipe(path) == recipe


EVERY = [
    *((name, "majority-pairs" if name.startswith("snli") else "majority") for name in corpus_formats()),
    *(("csv", kind) for kind in models()),
]


@pytest.mark.parametrize(("format", "kind"), EVERY)
def test_every_setting_is_described(format, kind, tmp_path):  # noqa: A002
    second = {"second": "b"} if format == "csv" and find_model({"kind": kind}).task is PAIRS else {}
    recipe = load_template({"data": {"format": format, **second}, "model": {"kind": kind}})
    printed = to_toml(recipe)
    for line in printed.split("[training.objectives]")[0].splitlines():
        assert not line or re.fullmatch(r"(# ){0,2}(\[[a-z._]+\]|[a-z0-9_]+ = \S.*?)  # \S.*", line), line
    plain = [re.sub(r"  # .*", "", line) for line in printed.splitlines()]
    for section, settings in sections(recipe):
        start = plain.index(f"[{section}]") if section else -1
        own = {line.partition(" = ")[0].removeprefix("# ") for line in plain[start + 1 : next_section(plain, start)]}
        assert own - {""} == {name for name in type(settings).model_fields if not is_section(settings, name)}, section
    path = tmp_path / "recipe.toml"
    path.write_text(printed, encoding="utf-8")
    assert load_template(path) == recipe


def sections(settings, prefix=""):
    """All set sections of a recipe, by their names."""
    yield prefix, settings
    for name in type(settings).model_fields:
        if isinstance(inner := getattr(settings, name), Settings):
            yield from sections(inner, f"{prefix}.{name}" if prefix else name)


def is_section(settings, name):
    return isinstance(getattr(settings, name), Settings | dict) or name == "wide"


def next_section(lines, start):
    rest = (i for i in range(start + 1, len(lines)) if re.match(r"(# )?\[", lines[i]))
    return next(rest, len(lines))


def test_comments():
    lines = to_toml(load_template("documents/both", {"training.clip": None})).splitlines()
    assert "# clip = …  # largest norm of the gradient" in lines
    assert "batch_size = 16  # number of texts in a batch" in lines
    assert 'schedule = "constant"  # linear: the rate falls linearly to 0 (constant or linear)' in lines
    assert "# path = …  # a file, a directory, an archive, or a name on the hub" in lines
    assert 'kind = "structured-documents"  # the system; its name in the registry' in lines
    assert "# [model.wide]  # a linear model of n-grams beside the trees" in lines
    assert "# min_count = 2  # least number of training texts that have an n-gram" in lines
    assert any(line.startswith("# # characters = …  # n-grams of characters too") for line in lines), "unset in both"


def test_an_unset_section_can_be_uncommented(tmp_path):
    path, printed = tmp_path / "recipe.toml", to_toml(load_template("documents/both", {"data.path": "x"}))
    before, wide, after = re.split(r"(# \[model\.wide\](?:.+\n)+)", printed)
    path.write_text(before + re.sub("(?m)^# ", "", wide) + after, encoding="utf-8")
    assert load_recipe(path).model.wide == WideSettings()


STRANGE = 'a "quoted" \\ back\nslash\ttab \x7f \x01 ünï \u2028 \U0001f333 # no comment'


def test_strange_strings_and_keys(tmp_path):
    classes = {"a b": "one", "ü": "two", STRANGE: STRANGE, "plain-key_1": "1", "1.5": "dot", "": "empty"}
    values = {
        "name": STRANGE,
        "data": {"format": "csv", "path": STRANGE, "classes": classes, "split": (0.5, 0.25, 0.25)},
        "model": {"kind": "majority"},
        "training": {"clip": None, "l2": 1e-7, "objectives": {"cross_entropy": 2}},
    }
    recipe = load_recipe(values)
    path = tmp_path / "recipe.toml"
    path.write_text(to_toml(recipe), encoding="utf-8")
    again = load_recipe(path)
    assert again == recipe
    assert again.data.classes == classes
    assert again.training.l2 == 1e-7
