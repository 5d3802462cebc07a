"""Draws how the models that ship parse texts that we wrote: ``python docs/pictures.py``.

Writes into docs/pictures. We wrote all texts for this purpose, before any of the models had read them.
"""

from pathlib import Path

from treetext import load_model
from treetext.show import document_svg, sentence_svg

PLACE = Path(__file__).parent / "pictures"
PAIRS = [
    ("Two women carry a long ladder across the yard.", "Somebody moves a ladder."),
    ("A boy in a yellow coat feeds the ducks.", "The child is asleep at home."),
]
DOCUMENTS = {
    "debates": (
        "Mr. Chairman, I support this amendment. The river has flooded our valley three times in ten years."
        " Each time the farmers paid, and each time the committee promised a dam."
        " My friend from the coast says that we cannot afford it. I say that we have already paid for it three times."
        " I ask my colleagues to vote yes."
    ),
    "czech": (
        "Film začíná pomalu a první půlhodinu jsem se nudil. Potom se ale objeví stará učitelka a všechno ožije."
        " Hraje ji výborná herečka, která umí mlčet. Hudba je krásná a kamera taky."
        " Konec mě zklamal, protože je příliš sladký. Přesto na ten film rád vzpomínám."
    ),
}


def main() -> None:
    """Draw all pictures."""
    PLACE.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (PLACE / f"{name}.svg").write_text(picture, encoding="utf-8")


def pictures() -> dict[str, str]:
    """By name, as SVG."""
    found = {}
    for number, pair in enumerate(load_model("snli").parse(PAIRS), start=1):
        for side, sentence in zip("ab", pair.sentences, strict=True):
            found[f"snli-{number}{side}"] = sentence_svg(sentence.words, sentence.tree, sentence.weights)
    for name, text in DOCUMENTS.items():
        [document] = load_model(name).parse([text])
        texts = [" ".join(sentence.words) for sentence in document.sentences]
        found[name] = document_svg(texts, document.tree, document.weights)
    return found


if __name__ == "__main__":
    main()
