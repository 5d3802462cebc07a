"""Model cards: what a model is, its origin, its scores, and how to use it."""

import json
from typing import Any

from treetext.models.base import Model

TREES = (
    " It induces dependency trees on the way (Liu and Lapata, Learning Structured Text Representations, TACL 2018). The"
    " trees are whatever helped the classification: test what they mean before you rely on them."
)


def card(model: Model) -> str:
    """The card of a model: a README in Markdown, with a header for the hub."""
    about = model.about
    shipped, start = about.get("shipped"), about.get("start_from")
    language = model.tokenizer.language
    parts = [
        "\n".join(
            [
                "---",
                "library_name: treetext",
                "pipeline_tag: text-classification",
                *([] if language == "xx" else [f"language: {language}"]),
                "tags: [treetext, latent-trees, structured-attention]",
                "---",
            ]
        ),
        f"# {type(model).__name__}, a model by treetext",
        f"It gives a text one of {len(model.labels)} labels ({_listed(model.labels)})." + TREES * bool(model.trees),
        _use(model),
        _table(
            "## Where it comes from",
            {
                "Recipe": about.get("recipe_name", "not recorded"),
                "Task": about.get("recipe", {}).get("about", "not recorded"),
                "Data": "in memory" if about.get("in_memory") else about.get("data", "not recorded"),
                "Fingerprint of the data": about.get("fingerprint", "not recorded"),
                **({"Started from": f"{start['model']}: {start['taken']}"} if start else {}),
                "Seed": about.get("seed", "not recorded"),
                **model.facts(),
                "Epoch that was kept": about.get("epoch", "not recorded"),
                "Seconds of training": about.get("seconds", "not recorded"),
                **({"Trials": _trials(about)} if "trials" in about else {}),
                "Command": about.get("command", "not recorded"),
                **({"Made smaller": _smaller(shipped)} if shipped else {}),
            },
        ),
        _table(
            "## Scores (accuracy in percent)",
            {name: f"{100 * score:.1f}" for name, score in _scores(about).items()} or {"": "not recorded"},
        ),
        "## Recipe\n\n```json\n" + json.dumps(about.get("recipe", {}), indent=2, ensure_ascii=False) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _trials(about: dict[str, Any]) -> str:
    chosen = about["trials"][about["trial"] - 1]["values"]
    listed = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    return f"{len(about['trials'])}; the best by dev accuracy is number {about['trial']}: {listed}"


def _smaller(shipped: dict[str, Any]) -> str:
    kept = f"{shipped['words']:,} of {shipped['of']:,} words, weights as {shipped['precision']}"
    return f"{kept}; ships with treetext as `{shipped['name']}`"


def _scores(about: dict[str, Any]) -> dict[str, float]:
    """The scores of the trained model and, if it was made smaller after training, of the smaller one."""
    scores: dict[str, float] = about.get("scores", {})
    if "shipped" not in about:
        return scores
    full = {f"{split}, of the full model": score for split, score in scores.items()}
    return {**full, "dev, of this smaller one": about["shipped"]["dev"]}


def _use(model: Model) -> str:
    name = model.about.get("shipped", {}).get("name", "this/directory")
    lines = [
        "from treetext import load_model\n",
        f'model = load_model("{name}")',
        f"[parsed] = model.parse([{model.task.python}])",
        "print(parsed.label, parsed.probability, parsed.sentences[0].tree)",
    ]
    return "\n".join(["```python", *lines, "```"])


def _table(title: str, rows: dict[str, object]) -> str:
    lines = [f"| {name} | {str(value).replace('|', chr(92) + '|')} |" for name, value in rows.items()]
    return "\n".join([title, "", "| | |", "| --- | --- |", *lines])


def _listed(labels: list[str]) -> str:
    shown = ", ".join(f"`{label}`" for label in labels[:10])
    return shown + (", …" if len(labels) > 10 else "")
