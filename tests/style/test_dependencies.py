"""Layers import downwards only, and every third-party package has its reason in docs/dependencies.md."""

from __future__ import annotations

import ast
import pathlib
import sys

import pytest

from tests.style.sources import nodes_of, tree_of

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "kafka_py"
# package -> packages it must not need at import time
FORBIDDEN = {
    "utils": {"log", "network", "zk", "zookeeper", "cluster", "coordinator", "server", "controller", "admin", "tools"},
    "common": {"log", "zk", "zookeeper", "cluster", "coordinator", "server", "controller", "admin", "tools"},
    "log": {"network", "zk", "zookeeper", "cluster", "coordinator", "controller", "admin", "tools"},
    "network": {"log", "zk", "zookeeper", "coordinator", "controller", "admin", "tools"},
    "spark": {"network", "zk", "zookeeper", "cluster", "coordinator", "controller", "server", "admin"},
    "server": {"tools"},
}
# what a coordinator's records say is needed where no coordinator is: these import nothing above common and utils
RECORD_FORMATS = {
    "kafka_py.coordinator.group.group_metadata_records",
    "kafka_py.coordinator.transaction.transaction_log",
    "kafka_py.coordinator.transaction.transaction_metadata",
}
FILES = sorted(PACKAGE.rglob("*.py"))


def run_time_imports(tree: ast.Module) -> set[str]:
    """Names imported when the module loads: not under TYPE_CHECKING, not inside a function."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_layers_import_downwards(path: pathlib.Path) -> None:
    parts = path.relative_to(PACKAGE).parts
    layer = parts[0] if len(parts) > 1 else ""
    upward = {
        name
        for name in run_time_imports(tree_of(path)) - RECORD_FORMATS
        if name.startswith("kafka_py.") and name.split(".")[1] in FORBIDDEN.get(layer, set())
    }
    assert upward == set()


@pytest.mark.parametrize("module", sorted(RECORD_FORMATS))
def test_a_record_format_needs_no_coordinator(module: str) -> None:
    imports = run_time_imports(tree_of(ROOT / (module.replace(".", "/") + ".py"))) - RECORD_FORMATS
    assert {name.split(".")[1] for name in imports if name.startswith("kafka_py.")} <= {"api", "common", "utils"}


def test_third_party_packages_are_explained() -> None:
    explained = (ROOT / "docs/dependencies.md").read_text()
    modules = {
        node.names[0].name.split(".")[0] if isinstance(node, ast.Import) else (node.module or "").split(".")[0]
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    foreign = {m for m in modules if m and m not in sys.stdlib_module_names and m not in {"kafka_py", "__future__"}}
    assert {m for m in foreign if f"`{m}`" not in explained} == set()
