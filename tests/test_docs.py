"""Every block of code in the documentation and the README runs; the site is built strictly, and needs no network.

The blocks of a page run in their order, in an empty directory:

- Blocks with a title are files of that name. The test writes them before anything runs.
- Python blocks run as they are, with the names of the blocks before; blocks with ``>>>`` run as doctests.
- Console blocks are lines of ``$ treetext …`` or ``$ python -m studies …``. They run in this process, to the end and
  with the data and models of the page. ``echo`` or ``printf`` before a command and ``> file`` after it do what a shell
  would. Output that a page shows is compared. ``make`` and ``pip`` do not run here: `make test` has just done what they
  do.
- ``$ python FILE`` runs a file of the page in a process of its own, where warnings are errors.
- ``treetext serve`` runs in a process of its own until the end of the page, at a free port that replaces 8000.
  ``curl``, where there is one, must succeed.
- Trainings are made small; nothing else is changed. A page that uses the model of the first page finds it.
- Text blocks without a title are for human eyes.
"""

import doctest
import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Error

from tests.cli.running import CORPUS, OWN_SETTINGS, SETTINGS, SIZES, environment, invoke
from tests.serve.running import Server
from tests.show.browser import chromium, new_page
from tests.studies.running import invoke as study
from treetext.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
README, FIRST = "../README.md", "index.md"
READERS_OWN = {"reviews.csv": ("howto/data.md", "reviews.csv"), "treebank.conllu": ("howto/trees.md", "two.conllu")}
"""Files that the README names, and the files of other pages that stand for them."""
PACKAGES = ("trees", "data", "nn", "models", "evaluation", "training", "show", "serve", "sklearn")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
BASELINES = ("/bag-of-words", "/majority")
"""The ends of the names of recipes that have no sizes to make small."""
TRAIN = 'train("hidden-trees/both", '
ADDRESS = "127.0.0.1:8000"
CHECKER, FLAGS = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of code on a page."""

    language: str
    file: str
    """Its name, if it is a file."""
    code: str
    where: str


def blocks(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    fences = len(re.findall("^ *```", text, re.MULTILINE))
    found = [
        Block(m[1], m[2], m[3], f"{page}, line {text.count(chr(10), 0, m.start()) + 1}") for m in BLOCK.finditer(text)
    ]
    assert fences == 2 * len(found), f"{page}: a block that is not read; expected ```language or ```language title=file"
    return found


def test_the_pictures_show_what_the_models_that_ship_find():
    """Except for the numbers, which other machines may round differently."""
    drawn = runpy.run_path(str(DOCS / "pictures.py"))["pictures"]()
    kept = {file.stem: file.read_text(encoding="utf-8") for file in (DOCS / "pictures").iterdir()}
    shown = re.findall(r"pictures/(.+)\.svg", (DOCS / "pictures.md").read_text(encoding="utf-8"))
    assert drawn.keys() == kept.keys() == set(shown)
    for name, svg in drawn.items():
        mine, theirs = (re.sub(r"[0-9][0-9.]*", "", each) for each in (svg, kept[name]))
        assert mine == theirs, f"docs/pictures/{name}.svg is out of date: run python docs/pictures.py"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Two small models, for pages that use the model of the first page."""
    place = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREETEXT_CACHE", str(tmp_path_factory.mktemp("cache")))
        for name, seed in (("first", 1), ("other", 2)):
            invoke("train", "hidden-trees/both", "--out", place / name, "--seed", seed, *SETTINGS)
    return place


@pytest.mark.parametrize("page", [page for page in [*PAGES, README] if blocks(page)])
def test_every_block_runs(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREETEXT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    found = blocks(page)
    if any("models/first" in block.code for block in found) and page not in (FIRST, README):
        (tmp_path / "models").symlink_to(request.getfixturevalue("models"))
    if page == README:
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        for name, (other, file) in READERS_OWN.items():
            [code] = [block.code for block in blocks(other) if block.file == file]
            (tmp_path / name).write_text(code, encoding="utf-8")
    for block in found:
        if block.file:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.code, encoding="utf-8")
    names = {"SMALLER": SIZES | CORPUS, "__name__": "page"}
    with ExitStack() as servers:
        for block in found:
            if block.file:
                continue
            if block.language == "python":
                run_python(block, names)
            elif block.language == "console":
                run_console(block, names, servers)
            else:
                assert block.language == "text", f"{block.where}: {block.language} does not run"


def run_python(block, names):
    if ">>>" in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, names, block.where, block.where, 0)
        runner = doctest.DocTestRunner(CHECKER, optionflags=FLAGS)
        output = []
        runner.run(test, out=output.append, clear_globs=False)
        assert not runner.failures, "".join(output)
        names.update(test.globs)
        return
    code = block.code.replace(TRAIN, f"{TRAIN}set=SMALLER, ").replace(ADDRESS, names.get("served", ADDRESS))
    exec(compile(code, block.where, "exec"), names)


def run_console(block, names, servers):
    first, *commands = re.split(r"^\$ ", block.code, flags=re.MULTILINE)
    assert not first, f"{block.where}: expected a command, as in $ treetext"
    assert commands, f"{block.where}: expected a command, as in $ treetext"
    for command in commands:
        line, _, expected = command.partition("\n")
        if line.startswith(("make ", "pip ")):
            continue
        if line.startswith("treetext serve "):
            server = servers.enter_context(Server(*line.split()[2:]))
            names["served"] = f"127.0.0.1:{server.port}"
            continue
        if line.startswith("curl "):
            asked = shlex.split(line.replace(ADDRESS, names["served"]))
            if shutil.which("curl"):
                subprocess.run([*asked, "--fail"], check=True, timeout=60, capture_output=True)
            continue
        printed = run_line(line, block.where)
        if expected.strip():
            difference = CHECKER.output_difference(doctest.Example(line, expected), printed, FLAGS)
            assert CHECKER.check_output(expected.strip() + "\n", printed.strip() + "\n", FLAGS), difference


def run_line(line, where):
    """Run a command, which may have a text from echo or printf before it, and a file after it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words, stdin, file = list(lexer), "", None
    if "|" in words:
        (speaker, text), words = words[: words.index("|")], words[words.index("|") + 1 :]
        assert speaker in ("echo", "printf"), f"{where}: {line}"
        stdin = f"{text}\n" if speaker == "echo" else text.encode().decode("unicode_escape")
    if ">" in words:
        *words, _, file = words
    program, *arguments = words
    if words[:3] == ["python", "-m", "studies"]:
        done = study(*words[3:])
    elif program == "python":
        done = subprocess.run(
            [sys.executable, "-W", "error", *arguments], env=environment(), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{where}: {line}\n{done.stderr}"
    else:
        assert program == "treetext", f"{where}: {line}"
        if arguments[0] == "train" and not arguments[1].endswith(BASELINES):
            arguments += SETTINGS if generated(arguments[1]) else OWN_SETTINGS
        done = invoke(*arguments, stdin=stdin)
    if file:
        Path(file).write_text(done.stdout, encoding="utf-8")
        assert done.stdout, f"{where}: {line} printed nothing"
    return done.stdout


def generated(recipe):
    """Whether a recipe, by its name or as a file, needs no data."""
    return "hidden-trees" in (Path(recipe).read_text(encoding="utf-8") if recipe.endswith(".toml") else recipe)


def test_the_figures_are_as_drawn():
    drawings = runpy.run_path(str(DOCS / "figures.py"))["DRAWINGS"]
    drawn = {f"{name}.svg": draw().svg() for name, draw in drawings.items()}
    kept = {file.name: file.read_text(encoding="utf-8") for file in (DOCS / "figures").iterdir()}
    assert drawn.keys() == kept.keys()
    for name, svg in drawn.items():
        assert kept[name] == svg, f"docs/figures/{name} is out of date: run python docs/figures.py"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    for needed in ("material", "mkdocstrings", "latex2mathml"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: pip install '.[docs]'")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return place


def html(site, page):
    return (site / page).with_suffix(".html").read_text(encoding="utf-8")


def test_the_site_loads_nothing_from_elsewhere(site):
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > len(PAGES)
    loads = re.compile(
        r'<(?:script|img|iframe)[^>]*\ssrc="?(?:https?:)?//|<link[^>]*\shref="?(?:https?:)?//(?![^>]*rel="?canonical)|url\(["\']?(?:https?:)?//'
    )
    for file in files:
        assert not loads.search(file.read_text(encoding="utf-8")), file


def test_somebody_reads_the_site_from_files(site):
    with chromium() as browser, new_page(browser, (site / "index.html").as_uri()) as page:
        for name in ("mathematics", "statistics", "howto/data", "reference/trees", "index"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        found = page.locator(".md-search-result__link[href*=mathematics]")
        for _ in range(3):  # what is typed before the search is ready gets lost, on a busy machine
            page.goto((site / "index.html").as_uri())
            page.fill("input.md-search__input", "Grassmann")
            with suppress(Error):
                found.first.wait_for(state="attached")
                break
        assert found.count()


def test_formulas_are_mathml(site):
    for page in PAGES:
        written, built = (DOCS / page).read_text(encoding="utf-8"), html(site, page)
        assert built.count('display="block"') == written.count("$$") / 2, page
        assert "arithmatex" not in built, page
    assert html(site, "mathematics.md").count("<math") > 30


def test_examples_in_docstrings_are_code(site):
    pages = [html(site, page) for page in PAGES if page.startswith("reference")]
    assert sum(page.count("&gt;&gt;&gt;") for page in pages) > 10
    assert not any("<blockquote>" in page for page in pages)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(site, package):
    page = html(site, f"reference/{package}.md")
    for name in import_module(f"treetext.{package}").__all__:
        place = f'id="treetext.{package}.{name}"'
        assert place in page or (name.isupper() and f"<code>{name}</code>" in page), name  # a constant may be mentioned


def test_every_command_is_in_the_reference(site):
    page = html(site, "reference/command.md")
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert len(names) >= 10
    for name in names:
        assert f'id="treetext-{name}"' in page
        assert f"treetext {name} [OPTIONS]" in page
