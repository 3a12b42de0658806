"""Which form of the broker's request path runs: the sources, or extension modules that were compiled from them.

Ours, without an original. bin/kafka-compile.py makes the extension modules (kafka_py/tools/compiled_build.py); they lie
in build/compiled/TAG, TAG being the interpreter's (`cpython-3.11.7`), with a manifest of what they were made from.
They are used only as long as every source file is what it was then, so nobody runs what he does not read.
"""

from __future__ import annotations

import enum
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

ENVIRONMENT_VARIABLE = "KAFKA_PY_COMPILED"
MANIFEST = "manifest.json"

# path below the clone -> size in bytes, time of the last change in ns
Sources = dict[str, tuple[int, int]]


def compiled_dir(root: Path) -> Path:
    """Where the extension modules for this interpreter are, if they were made.

    mypyc reaches into its inner parts, and those of a free-threaded build are others.
    """
    return root / "build" / "compiled" / f"{sys.implementation.name}-{platform.python_version()}{sys.abiflags}"


def sources_of(root: Path) -> Sources:
    """Every source file of the package in the clone at `root`; about 3 ms."""
    found: Sources = {}
    folders = ["kafka_py"]
    for folder in folders:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if entry.name.endswith(".py"):
                    stat = entry.stat()
                    found[path] = stat.st_size, stat.st_mtime_ns
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
        sources = {path: (size, changed) for path, (size, changed) in content["sources"].items()}
        return cls(sources, content["modules"])

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
        self._files = {name: str(folder / file) for name, file in modules.items()}  # const

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The extension module of that name, None for all others."""
        file = self._files.get(fullname)
        return None if file is None else importlib.util.spec_from_file_location(fullname, file)


class Compiled:
    """The choice this process has made.

    Thread: main, before any of the compiled modules is imported.
    """

    form: ClassVar[Form] = Form.NOT_BUILT
    module_count: ClassVar[int] = 0
    changed: ClassVar[list[str]] = []

    @classmethod
    def choose(cls, root: Path, wish: str | None) -> Form:
        """Use the compiled modules of the clone at `root` if they are current; `wish` is the environment variable's.

        "0" keeps to the sources; with "1" CompiledMissingError is raised where there is nothing current to use.
        """
        cls.form, cls.module_count, cls.changed = Form.NOT_BUILT, 0, []
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
            raise CompiledMissingError(f"{ENVIRONMENT_VARIABLE}=1, but {cls.form.value}; run bin/kafka-compile.py")
        return cls.form

    @classmethod
    def describe(cls) -> str:
        """What runs, for the log."""
        return f"{cls.module_count} compiled modules" if cls.form is Form.COMPILED else cls.form.value
