"""Changes a copy of the sources so that mypyc takes them; what they say stays the same, line by line.

Ours, without an original. mypyc takes typed Python as it is, but for some forms. The rules here need no knowledge of
our classes, and what they write must pass mypy as the sources do. A rule never adds or takes a line, so a stack trace
of compiled code names lines of the source.
Read next: compiled_build.py
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_SPECIAL_BASES = {"Enum", "IntEnum", "IntFlag", "NamedTuple", "Protocol", "TypedDict"}


class CompileError(RuntimeError):
    """It cannot be compiled here; the text says why."""


# ---- the class hierarchy


class Hierarchy:
    """Who inherits from whom in the whole package, found without importing it.

    A class is called `module.Outer.Inner`. Names are followed through imports and aliases.
    """

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._names: dict[str, str] = {}  # dotted name -> the dotted name it is bound to
        self._classes: dict[str, ast.ClassDef] = {}
        for module, tree in trees.items():
            self._collect(module, module, tree.body)
        used = (
            f"{module}.{ast.unparse(node.value)}"
            for module, tree in trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr == "__new__"
        )
        self._made_without_init = {name for name in map(self.resolve, used) if name is not None}

    def _collect(self, module: str, prefix: str, body: Iterable[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                name = f"{prefix}.{node.name}"
                self._classes[name] = node
                self._collect(module, name, node.body)
            elif isinstance(node, ast.ImportFrom) and prefix == module:
                for alias in node.names:
                    self._names[f"{prefix}.{alias.asname or alias.name}"] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.If):
                self._collect(module, prefix, [*node.body, *node.orelse])
            elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Name | ast.Attribute):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self._names[f"{prefix}.{target.id}"] = f"{module}.{ast.unparse(node.value)}"

    def resolve(self, name: str, depth: int = 0) -> str | None:
        """The class that a dotted name means; None if it is none of ours."""
        if name in self._classes:
            return name
        if depth > 20:  # bound in a circle
            return None
        bound = self._names.get(name)
        if bound is not None:
            return self.resolve(bound, depth + 1)
        owner, _, last = name.rpartition(".")
        outer = self.resolve(owner, depth + 1) if owner.count(".") else None
        return self.resolve(f"{outer}.{last}", depth + 1) if outer is not None and outer != owner else None

    def bases(self, name: str, module: str) -> list[str]:
        """The bases of a class that are classes of ours."""
        written = (b.value if isinstance(b, ast.Subscript) else b for b in self._classes[name].bases)
        found = (self.resolve(f"{module}.{ast.unparse(base)}") for base in written)
        return [base for base in found if base is not None]

    def open_classes(self, compiled: set[str]) -> set[str]:
        """The classes that must not be closed to Python's own ways, with their bases.

        Those with a subclass outside the compiled modules; and those whose `__new__` is used, for that of a closed
        class calls `__init__`.
        """
        found = self._made_without_init.copy()
        for name in self._classes:
            module = self.module_of(name)
            if module not in compiled:
                found.update(self.bases(name, module))
        return found.union(*map(self._line_of, found))

    def check_layouts(self, compiled: set[str]) -> None:
        """CompileError if an interpreted class would be laid out like the wrong one of two compiled bases.

        Python takes the first base's layout unless another has more fields; compiled code that holds the object as the
        other base would look for its methods where there are none.
        """
        for name in self._classes:
            module = self.module_of(name)
            if module not in compiled:
                native = [base for base in map(self._native_part(compiled), self.bases(name, module)) if base]
                for other in native[1:]:
                    if other not in self._line_of(native[0]):
                        raise CompileError(f"{name}: the base that leads to {other} must be the first")

    def _line_of(self, name: str) -> set[str]:
        bases = self.bases(name, self.module_of(name))
        return {name}.union(*(self._line_of(base) for base in bases))

    def _native_part(self, compiled: set[str]) -> Callable[[str], str | None]:
        def native_part(name: str) -> str | None:
            module = self.module_of(name)
            if module in compiled:
                return name
            return next((part for part in map(native_part, self.bases(name, module)) if part), None)

        return native_part

    @staticmethod
    def module_of(name: str) -> str:
        """The module part of a class's name: our modules are in lower case, classes are not."""
        return re.split(r"\.(?=_*[A-Z])", name, maxsplit=1)[0]


# ---- the preparation of one module


class Preparation:
    """Changes one module's text so that mypyc takes it; see the methods for the rules."""

    def __init__(self, module: str, text: str, open_classes: set[str]) -> None:
        self._module = module
        self._lines = text.encode().split(b"\n")
        self._tree = ast.parse(text)
        self._open_classes = open_classes
        self._edits: list[tuple[int, int, int, int, str]] = []
        self._imports: dict[str, str] = {}

    def run(self) -> str:
        """The prepared text; CompileError if a rule finds no room for what it has to write."""
        self._refuse_lazy_iterators()
        self._refuse_slots_read()
        self._make_constants_final()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ClassDef):
                self._prepare_class(node)
            elif isinstance(node, ast.FunctionDef):
                self._drop_thread_checks(node)
        self._write_imports()
        for line, column, end_line, end_column, new in sorted(self._edits, reverse=True):
            first, last = self._lines[line - 1], self._lines[end_line - 1]
            changed = first[:column] + new.encode() + last[end_column:]
            self._lines[line - 1 : end_line] = [changed, *[b""] * (end_line - line)]
        return b"\n".join(self._lines).decode()

    def _replace(self, node: ast.expr | ast.stmt, new: str) -> None:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        self._edits.append((node.lineno, node.col_offset, end_line, end_column, new))

    def _write_into_blank(self, line: int, new: str) -> None:
        if self._lines[line - 1].strip():
            raise CompileError(f"{self._module}:{line}: a blank line is needed here for {new!r}")
        self._edits.append((line, 0, line, len(self._lines[line - 1]), new))

    # -- modules

    def _make_constants_final(self) -> None:
        """`NAME = value`, bound once in the module, becomes Final: read without a look-up."""
        bound = Counter(
            name.id
            for node in self._tree.body
            if not isinstance(node, ast.FunctionDef | ast.ClassDef)
            for name in ast.walk(node)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )
        changed = {name for node in ast.walk(self._tree) if isinstance(node, ast.Global) for name in node.names}
        for node in self._tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            if not isinstance(target, ast.Name) or bound[target.id] > 1 or target.id in changed:
                continue
            if isinstance(node, ast.AnnAssign):
                written = ast.unparse(node.annotation)
                if "Final" not in written and "TypeAlias" not in written:
                    self._replace(node.annotation, f"_Final[{written}]")
                    self._imports["Final"] = "_Final"
            elif len(node.targets) == 1 and not target.id.startswith("__") and _is_value(node.value):
                self._replace(target, f"{target.id}: _Final")
                self._imports["Final"] = "_Final"

    def _refuse_lazy_iterators(self) -> None:
        """mypyc makes a list of `(… for …)` at once: no matter if it is gone through where it stands, else an error."""
        used_at_once = {
            child
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call | ast.Starred | ast.comprehension | ast.For)
            for child in ast.iter_child_nodes(node)
        }
        for node in ast.walk(self._tree):
            if isinstance(node, ast.GeneratorExp) and node not in used_at_once:
                raise CompileError(f"{self._module}:{node.lineno}: let a function with `yield` make this iterator")

    def _refuse_slots_read(self) -> None:
        """A native class has no `__slots__`: its fields are what its methods assign."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute) and node.attr == "__slots__":
                raise CompileError(f"{self._module}:{node.lineno}: there are no __slots__ to be read")

    def _write_imports(self) -> None:
        """What the rules have used is imported behind the __future__ import and on the blank line below it."""
        future = next((n for n in self._tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"), None)
        if future is None or not self._imports:
            if self._imports:
                raise CompileError(f"{self._module} does not begin with `from __future__ import annotations`")
            return
        line = future.end_lineno or future.lineno
        if "mypyc_attr" in self._imports:
            self._imports["TYPE_CHECKING"] = "TYPE_CHECKING"
            self._write_into_blank(line + 1, "if TYPE_CHECKING: from mypy_extensions import mypyc_attr as _mypyc_attr")
        names = ", ".join(f"{n} as {a}" if n != a else n for n, a in self._imports.items() if n != "mypyc_attr")
        end = future.end_col_offset or 0
        self._edits.append((line, end, line, end, f"; from typing import {names}"))

    def _drop_thread_checks(self, node: ast.FunctionDef) -> None:
        """@runs_on checks the calling thread in tests only; mypyc would call every method through it."""
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "runs_on":
                at = decorator.lineno
                self._edits.append((at, 0, decorator.end_lineno or at, decorator.end_col_offset or 0, ""))

    # -- classes

    def _prepare_class(self, node: ast.ClassDef) -> None:
        bases = [ast.unparse(b.value if isinstance(b, ast.Subscript) else b).rpartition(".")[2] for b in node.bases]
        if any(base in _SPECIAL_BASES or base.endswith(("Exception", "Error")) for base in bases):
            return
        if f"{self._module}.{node.name}" in self._open_classes:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            self._write_into_blank(first - 1, "@_mypyc_attr(allow_interpreted_subclasses=True)")
            self._imports["mypyc_attr"] = "_mypyc_attr"
        self._drop_abc(node)
        self._define_aliases(node)
        self._keep_nested_names(node)

    def _drop_abc(self, node: ast.ClassDef) -> None:
        """ABC is a class of Python's; a class with such a base is laid out as Python would."""
        for before, base in zip([None, *node.bases], node.bases, strict=False):
            if ast.unparse(base) not in ("ABC", "abc.ABC"):
                continue
            line, end_line, end = node.lineno, base.end_lineno or 0, base.end_col_offset or 0
            if before is not None:
                self._edits.append((before.end_lineno or 0, before.end_col_offset or 0, end_line, end, ""))
            elif len(node.bases) == 1 and end_line == line:
                text = self._lines[line - 1]
                self._edits.append((line, text.index(b"("), line, text.index(b")", end) + 1, ""))
            else:
                raise CompileError(f"{self._module}:{line}: ABC must be the last base")

    def _define_aliases(self, node: ast.ClassDef) -> None:
        """`other = method` in a class body becomes a method of that name, for native classes have no such entries."""
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        for statement in node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
                method = methods.get(statement.value.id)
                if method is not None and len(statement.targets) == 1:
                    name = f"{node.name}.{method.name}"
                    self._replace(statement, _alias(ast.unparse(statement.targets[0]), name, method, self._module))

    def _keep_nested_names(self, node: ast.ClassDef) -> None:
        """`Name: TypeAlias = _Name` in a class body is a type for mypyc, nothing else: the class gets it here."""
        names = [
            (statement.target.id, ast.unparse(statement.value))
            for statement in node.body
            if isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and ast.unparse(statement.annotation) == "TypeAlias"
            and statement.value is not None
        ]
        if names:
            # A bare name means in the class body what it means in the module, unless the body has bound it before.
            calls = "; ".join(f'setattr({node.name}, "{name}", {value})' for name, value in names)
            self._write_into_blank((node.end_lineno or 0) + 1, calls)


def _is_value(value: ast.expr) -> bool:
    """Whether an assignment of it defines a constant, not the name of a type."""
    if isinstance(value, ast.Name):
        return not value.id.lstrip("_")[:2].istitle()  # a class is written LikeThis
    if isinstance(value, ast.Subscript) or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)):
        return False
    makes_type = {"TypeVar", "NewType", "ParamSpec"}
    return not (isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in makes_type)


def _alias(name: str, called: str, method: ast.FunctionDef, module: str) -> str:
    """A method `name` in one line that calls this very `method`, whatever a subclass has put in its place."""
    arguments = method.args
    returns = f" -> {ast.unparse(method.returns)}" if method.returns is not None else ""
    if method.decorator_list or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise CompileError(f"{module}:{method.lineno}: no rule for an alias of {method.name}")
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    return f"def {name}({ast.unparse(arguments)}){returns}: return {called}({', '.join(names)})"


def module_name(path: Path) -> str:
    """`kafka_py/log/log.py` -> `kafka_py.log.log`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def prepare(root: Path, modules: Sequence[str]) -> None:
    """Prepare these modules of the copy of the package at `root`, in place. Raises CompileError."""
    paths = {module_name(path.relative_to(root)): path for path in (root / "kafka_py").rglob("*.py")}
    texts = {module: path.read_text() for module, path in paths.items()}
    hierarchy = Hierarchy({module: ast.parse(text) for module, text in texts.items()})
    hierarchy.check_layouts(set(modules))
    open_classes = hierarchy.open_classes(set(modules))
    for module in modules:
        paths[module].write_text(Preparation(module, texts[module], open_classes).run())
