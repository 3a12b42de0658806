"""The sources as syntax trees; each is parsed once, whatever number of tests looks at it."""

from __future__ import annotations

import ast
import functools
import gc
import pathlib


@functools.cache
def tree_of(path: pathlib.Path) -> ast.Module:
    tree = ast.parse(path.read_text())
    gc.freeze()  # it stays to the end: no collection need walk through a million nodes
    return tree


@functools.cache
def nodes_of(path: pathlib.Path) -> tuple[ast.AST, ...]:
    """All nodes of the tree, from the outside inwards."""
    return tuple(ast.walk(tree_of(path)))
