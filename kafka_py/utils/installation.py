"""Where this kafka_py lies: in a clone, with bin/ and config/ beside the package, or installed by pip.

Ours; stands in for `base_dir`, which Kafka's start scripts take from the folder they are in. A wheel has the files of
config/ as data of the package (tools/package_build.py puts them there), a clone and an editable installation
have them where the repository has them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent


class Installation:
    """The folders and commands of a kafka_py that is installed in `root`.

    Ours, no original.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    @property
    def is_clone(self) -> bool:
        """Whether bin/ is beside the package; site-packages may have a folder of that name, but not our scripts."""
        return (self.root / "bin" / "_launch.py").is_file()

    @property
    def config_dir(self) -> Path:
        """The folder of server.properties and the other configuration files."""
        return self.root / "config" if self.is_clone else self.root / "kafka_py" / "config"

    @property
    def logs_dir(self) -> Path:
        """Where log files go when LOG_DIR does not say it: logs/ of the clone, or of the folder one is in."""
        return (self.root if self.is_clone else Path.cwd()) / "logs"

    def find_config(self, name: str) -> str:
        """The path of a configuration file: as it is given, or, of a bare name, among those that come with kafka_py.

        FileNotFoundError, which says where they are, when there is no such file.
        """
        if Path(name).is_file():
            return name
        delivered = self.config_dir / name
        if Path(name).name == name and delivered.is_file():
            return str(delivered)
        raise FileNotFoundError(
            f"{name} does not exist. The configuration files that come with kafka_py are in {self.config_dir}; one of "
            "them is found by its bare name, too, as in `server.properties`."
        )

    def name_of(self, command: str) -> str:
        """How a user calls the command: `bin/kafka-topics.py` in a clone, `kafka-topics` when it was installed."""
        return f"bin/{command}.py" if self.is_clone else command

    def command_line(self, command: str) -> Sequence[str]:
        """What starts the command in a process of its own, under this interpreter."""
        if self.is_clone:
            return [sys.executable, str(self.root / "bin" / f"{command}.py")]
        # -P: a folder kafka_py where one happens to be is not the one that was installed
        return [sys.executable, "-P", "-m", "kafka_py.tools.launch", command]


HERE = Installation()
