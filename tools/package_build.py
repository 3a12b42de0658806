"""What setuptools does beside what setup.cfg says: config/ becomes data of the package, an sdist is a whole clone.

Ours, without an original. setup.cfg names these classes as its commands. setuptools loads this file alone, in an
environment where kafka_py cannot be imported, so it must not import anything of it.
"""

from __future__ import annotations

from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

CONFIG = "config"
SOURCE_FOLDERS = (CONFIG, "bin", "docs", "tests", "benchmarks", "tools")


class BuildPackage(build_py):
    """Also puts the configuration files into kafka_py/config, where Installation looks for them.

    Ours, no original. A clone and an editable installation read them from config/ itself: there is one of each in git.
    """

    def run(self) -> None:
        """Build, then add the files."""
        super().run()
        if not self.editable_mode:
            for source, target in self._config_files().items():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target)

    def get_source_files(self) -> list[str]:
        """What an sdist must have for a wheel to be built from it."""
        return [*super().get_source_files(), *self._config_files()]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """What is installed."""
        return [*super().get_outputs(include_bytecode), *self._config_files().values()]

    def _config_files(self) -> dict[str, str]:
        """File in config/ -> where it goes."""
        target = Path(self.build_lib or "", "kafka_py", CONFIG)
        return {str(path): str(target / path.name) for path in sorted(Path(CONFIG).glob("*.properties"))}


class SourceDistribution(sdist):
    """An sdist from which everything can be done that a clone can do: bin/run-tests.py, the pages, the benchmarks.

    Ours, no original.
    """

    def make_distribution(self) -> None:
        """Add what belongs to a clone and is no package, then pack."""
        for folder in SOURCE_FOLDERS:
            self.filelist.graft(folder)
        self.filelist.append("CHANGELOG.md")
        self.filelist.append("CONTRIBUTING.md")
        self.filelist.global_exclude("*.py[cod]")
        super().make_distribution()
