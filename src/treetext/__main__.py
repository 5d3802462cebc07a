"""`python -m treetext` is the command `treetext`."""

from treetext.cli import app

if __name__ == "__main__":
    app(prog_name="treetext")
