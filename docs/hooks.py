"""Hooks of mkdocs: formulas become MathML, so that pages load no script; help texts of the command."""

import html
import re
from typing import Any

import griffe
import latex2mathml.converter
import typer

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
DOCTEST = re.compile(r"(?:^>>> .*\n(?:^[^\n]+(?:\n|\Z))*\n*)+", re.MULTILINE)
COMMANDS = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the help texts where a page asks for them, and mark blocks with prompts as ``pycon``."""
    markdown = markdown.replace("```python\n>>>", "```pycon\n>>>")
    return markdown.replace(COMMANDS, commands()) if COMMANDS in markdown else markdown


def on_page_content(content: str, **_: Any) -> str:
    """Replace TeX by MathML, which browsers render without a script."""
    return FORMULA.sub(_formula, content)


def _formula(found: re.Match[str]) -> str:
    tag, kind, tex = found.groups()
    display = "inline" if kind == "(" else "block"
    return (
        f'<{tag} class="formula">{latex2mathml.converter.convert(html.unescape(tex).strip(), display=display)}</{tag}>'
    )


def commands() -> str:
    """A section for each command with the output of ``--help``."""
    from treetext.cli import app

    main: Any = typer.main.get_command(app)
    sections = []
    for name, command in main.commands.items():
        context = typer.Context(command, info_name=f"treetext {name}", terminal_width=88, max_content_width=88)
        sections.append(f"## treetext {name}\n\n```text\n{command.get_help(context).strip()}\n```\n")
    return "\n".join(sections)


class Doctests(griffe.Extension):
    """Turns examples in docstrings into blocks of code: Markdown would read ``>>>`` as a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = DOCTEST.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n\n", obj.docstring.value)
