"""Ways to run ``python -m studies`` in this process."""

from typer.testing import CliRunner

from studies.__main__ import app


def invoke(*arguments, code=0):
    """Run the command; what it printed."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def refusal(*arguments):
    """The one line by which the command refuses."""
    done = invoke(*arguments, code=2)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("treetext: ")]
    assert done.stderr.endswith(f"{line}\n"), "the refusal is the last thing said"
    return line.removeprefix("treetext: ")
