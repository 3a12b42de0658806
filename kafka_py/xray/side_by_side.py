"""The reader's own site of Kafka's source beside ours, if there is one: where a name is in it, and its files.

Ours, no original. `kafka-sidebyside` makes the site; its index.json says where each name is.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping

from kafka_py.utils.logging import Logging

FOLDER = "sidebyside"


class SideBySide(Logging):
    """A site that was made by kafka-sidebyside, or none.

    Thread: HTTP threads; two that read the index at once read the same.
    """

    log_ident = "[SideBySide] "

    def __init__(self, folder: str) -> None:
        """An empty ``folder``: there is no site."""
        self.folder = pathlib.Path(folder) if folder else None
        self._places: Mapping[str, str] | None = None  # volatile: whoever asks first

    def place_of(self, name: str, scala_path: str | None) -> str | None:
        """Where Class.member is, or else the page of the file it comes from: a path below /xray/; None if nowhere."""
        if self.folder is None:
            return None
        found = self._index().get(name)
        if found is None and scala_path is not None:
            path = pathlib.PurePosixPath(scala_path)
            page = f"{path.parent.name}.{path.stem}.html"
            found = page if (self.folder / page).is_file() else None
        return None if found is None else f"{FOLDER}/{found}"

    def _index(self) -> Mapping[str, str]:
        if self._places is None:
            assert self.folder is not None
            try:
                self._places = dict(json.loads((self.folder / "index.json").read_text(encoding="utf-8")))
            except (OSError, ValueError) as e:
                self.warn("No site of kafka-sidebyside can be read in %s: %s", self.folder, e)
                self._places = {}
        return self._places
