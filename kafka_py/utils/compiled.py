"""Which form of the broker's request path runs: the sources, or extension modules that were compiled from them.

Ours, without an original. bin/kafka-compile.py makes the extension modules (kafka_py/tools/compiled_build.py). In a
clone they lie in build/compiled/TAG, TAG being the interpreter's (`cpython-3.11.7`); a compiled wheel has them in
kafka_py/_compiled (kafka_py/tools/compiled_wheel.py). Beside them is a manifest of what they were made from: they are
used only as long as every source file says what it said then, so nobody runs what he does not read.
"""

from __future__ import annotations

import enum
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import ClassVar, NamedTuple

from kafka_py.utils.installation import HERE

ENVIRONMENT_VARIABLE = "KAFKA_PY_COMPILED"
MANIFEST = "manifest.json"

# path below the folder that holds the package -> digest of the content
Sources = dict[str, str]


def compiled_dir(root: Path) -> Path:
    """Where the extension modules for this interpreter are, if they were made.

    mypyc reaches into its inner parts, and those of a free-threaded build are others.
    """
    return root / "build" / "compiled" / f"{sys.implementation.name}-{platform.python_version()}{sys.abiflags}"


def packaged_dir(root: Path) -> Path:
    """Where a compiled wheel, installed in `root`, has the extension modules."""
    return root / "kafka_py" / "_compiled"


def sources_of(root: Path) -> Sources:
    """Every source file of the package in `root`; about 20 ms."""
    found: Sources = {}
    folders = ["kafka_py"]
    for folder in folders:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if entry.name.endswith(".py"):
                    with open(entry.path, "rb") as file:
                        found[path] = hashlib.sha256(file.read()).hexdigest()
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(path)
    return found


class Manifest(NamedTuple):
    """What was built, and from what."""

    sources: Sources
    modules: dict[str, str]
    """Module name -> file below the folder of the manifest; one is the library that the others share."""

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """The manifest in that folder; None where nothing was built."""
        try:
            content = json.loads((folder / MANIFEST).read_bytes())
        except FileNotFoundError:
            return None
        return cls(content["sources"], content["modules"])

    def write(self, folder: Path) -> None:
        """Write it into the folder; OSError if that cannot be."""
        (folder / MANIFEST).write_text(json.dumps(self._asdict(), indent=1) + "\n")

    def changed(self, sources: Sources) -> list[str]:
        """The files that are not what they were when this was built, in order."""
        paths = self.sources.keys() | sources.keys()
        return sorted(path for path in paths if self.sources.get(path) != sources.get(path))


class Form(enum.Enum):
    """What the process runs, and why."""

    COMPILED = "compiled"
    NOT_BUILT = "interpreted: nothing is compiled for this Python"
    STALE = "interpreted: the sources have changed since they were compiled"
    SWITCHED_OFF = f"interpreted, as {ENVIRONMENT_VARIABLE} wants it"


class CompiledMissingError(RuntimeError):
    """KAFKA_PY_COMPILED=1, and there is nothing compiled, or from other sources; the text says which and what to do."""


class CompiledFinder(importlib.abc.MetaPathFinder):
    """Finds the compiled modules in front of their sources."""

    def __init__(self, folder: Path, modules: Mapping[str, str]) -> None:
        self._files = {name: str(folder / file) for name, file in modules.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The extension module of that name, None for all others."""
        file = self._files.get(fullname)
        return None if file is None else importlib.util.spec_from_file_location(fullname, file)


def how_to_compile() -> str:
    """What somebody does who wants compiled modules: half a sentence."""
    return "run bin/kafka-compile.py" if HERE.is_clone else "install a compiled wheel (docs/installing.md)"


class Compiled:
    """The choice this process has made.

    Thread: main, before any of the compiled modules is imported.
    """

    form: ClassVar[Form] = Form.NOT_BUILT
    module_count: ClassVar[int] = 0
    changed: ClassVar[list[str]] = []

    @classmethod
    def choose(cls, root: Path, wish: str | None) -> Form:
        """Use the compiled modules of the package in `root` if they are current; `wish` is the environment variable's.

        "0" keeps to the sources; with "1" CompiledMissingError is raised where there is nothing current to use.
        """
        cls.form, cls.module_count, cls.changed = Form.NOT_BUILT, 0, []
        folder = packaged_dir(root)
        if not folder.is_dir():
            folder = compiled_dir(root)
        manifest = Manifest.read(folder)
        if wish == "0":
            cls.form = Form.SWITCHED_OFF
        elif manifest is not None:
            cls.changed = manifest.changed(sources_of(root))
            if cls.changed:
                cls.form = Form.STALE
            else:
                cls.form = Form.COMPILED
                cls.module_count = sum(name.startswith("kafka_py.") for name in manifest.modules)
                sys.meta_path.insert(0, CompiledFinder(folder, manifest.modules))
        if wish == "1" and cls.form is not Form.COMPILED:
            raise CompiledMissingError(f"{ENVIRONMENT_VARIABLE}=1, but {cls.form.value}; {how_to_compile()}")
        return cls.form

    @classmethod
    def describe(cls) -> str:
        """What runs, for the log."""
        return f"{cls.module_count} compiled modules" if cls.form is Form.COMPILED else cls.form.value
