"""docs/memory-model.md is true: each `# atomic` is of a kind it lists, and it names every module that has two forms."""

from __future__ import annotations

import ast
import pathlib
import re

from tests.style.sources import nodes_of

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "kafka_py"
PAGE = (ROOT / "docs/memory-model.md").read_text()
KINDS = set(re.findall(r"`(\w+)`", re.search(r"^Kinds for `# atomic`: ([^.]+)\.", PAGE, re.M)[1]))  # type: ignore[index]
# what several threads may do to a bare list, dict or deque: one step each
STEPS = {"append", "pop", "popleft", "put", "get", "in", "list()", "slices"}
MADE_BY = {"new_meter": "Meter"}


def atomic_marks(path: pathlib.Path) -> dict[int, str]:
    """Line -> what stands behind the mark, "" if nothing does."""
    lines = enumerate(path.read_text().splitlines(), 1)
    return {number: match[1] or "" for number, line in lines if (match := re.search(r"  # atomic(?:: (.+))?$", line))}


def kind_of(value: ast.expr | None, function: ast.FunctionDef) -> str | None:
    """The class of what is assigned: called here, or that of the parameter it is."""
    if isinstance(value, ast.Call):
        called = value.func
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        return MADE_BY.get(name, name)
    if isinstance(value, ast.Name):
        annotations = {arg.arg: arg.annotation for arg in function.args.args}
        annotation = annotations.get(value.id)
        return None if annotation is None else ast.unparse(annotation).partition("[")[0]
    return None


def test_every_atomic_is_of_a_kind_that_the_page_lists_or_names_its_steps() -> None:
    wrong, seen = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        if "# atomic" not in path.read_text():
            continue
        marks = atomic_marks(path)
        for function in [n for n in nodes_of(path) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]:
            for statement in [n for n in ast.walk(function) if isinstance(n, ast.Assign | ast.AnnAssign)]:
                steps = marks.pop(statement.end_lineno or 0, None)
                if steps is None:
                    continue
                seen += 1
                named = set(steps.partition(";")[0].split(", ")) if steps else set()
                if not (named <= STEPS if named else kind_of(statement.value, function) in KINDS):
                    wrong.append(f"{path.relative_to(ROOT)}:{statement.lineno} {ast.unparse(statement)}")
        wrong += [f"{path.relative_to(ROOT)}:{line} an # atomic that stands at no attribute" for line in marks]
    assert wrong == []
    assert seen > 40


def test_every_module_with_two_forms_is_on_the_page() -> None:
    using = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^from kafka_py\.utils\.free_threading import", path.read_text(), re.M)
    }
    listed = set(re.findall(r"^\| `(kafka_py\.[\w.]+)` \|", PAGE, re.M))
    assert using == listed


def test_queues_are_not_walked_where_they_stand() -> None:
    """`list(deque)` is one step with the GIL only: what is shared is walked by way of `_snapshot`."""
    wrong = []
    for name in ("concurrent_queues", "concurrent_locks"):
        path = PACKAGE / "utils" / f"{name}.py"
        for node in nodes_of(path):
            walked = (
                node.iter
                if isinstance(node, ast.For | ast.comprehension)
                else node.args[0]
                if isinstance(node, ast.Call)
                and ast.unparse(node.func) in ("list", "tuple", "iter", "set")
                and node.args
                else None
            )
            if walked is not None and ast.unparse(walked) in ("self._items", "self._waiters"):
                wrong.append(f"{path.name}:{walked.lineno} {ast.unparse(walked)}")
    assert wrong == []
