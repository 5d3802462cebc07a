"""Trees for GraphViz."""

from treetext.models import Parsed, Weights
from treetext.show.terminal import head_shares
from treetext.show.text import printable, shortened
from treetext.trees import ROOT, Tree


def to_dot(parsed: Parsed, name: str = "1") -> str:
    """A directed graph with arcs from heads to dependents: the tree over sentences, and a cluster of words for each."""
    texts = [" ".join(sentence.words) for sentence in parsed.sentences]
    lines = [
        f"digraph {_quoted(name)} {{",
        f"  label={_quoted(f'{parsed.label} ({parsed.probability:.3f})')};",
        '  node [shape=plaintext, fontname="sans-serif"];',
    ]
    if parsed.tree is not None:
        names = [shortened(f"{i}. {printable(text)}", 60) for i, text in enumerate(texts, start=1)]
        lines += _graph("s", names, parsed.tree, parsed.weights)
    for i, (text, sentence) in enumerate(zip(texts, parsed.sentences, strict=True), start=1):
        if sentence.tree is not None:
            title = shortened(f"{i}. {printable(text)}", 60)
            lines += [f"  subgraph cluster_{i} {{", f"  label={_quoted(title)};"]
            lines += [*_graph(f"s{i}w", sentence.words, sentence.tree, sentence.weights), "  }"]
    return "\n".join([*lines, "}", ""])


def _graph(prefix: str, labels: list[str], tree: Tree, weights: Weights | None) -> list[str]:
    shares = head_shares(tree, weights)
    nodes = [
        f"  {prefix}{j} [label={_quoted(label)}{', shape=box' if tree.heads[j - 1] == ROOT else ''}];"
        for j, label in enumerate(labels, start=1)
    ]
    arcs = [
        f"  {prefix}{head + 1} -> {prefix}{node + 1}"
        + (f' [label="{shares[node]:.2f}", penwidth={0.5 + 2 * shares[node]:.2f}]' if shares else "")
        + ";"
        for head, node in tree.arcs
    ]
    return [*nodes, *arcs]


def _quoted(text: str) -> str:
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
