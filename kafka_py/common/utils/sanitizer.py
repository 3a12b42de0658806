"""Names of users and clients made safe for ZooKeeper paths and bean names.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Sanitizer.java @ 1.1.1
"""

from __future__ import annotations

import re
import urllib.parse

_MBEAN_SAFE = re.compile(r"[\w\-%. \t]*", re.ASCII)


class Sanitizer:
    """Percent-encodes and quotes names.

    Mirrors: org.apache.kafka.common.utils.Sanitizer
    """

    @staticmethod
    def sanitize(name: str) -> str:
        """The name with everything but letters, digits and `.-_` percent-encoded."""
        return urllib.parse.quote(name, safe="").replace("~", "%7E")

    @staticmethod
    def desanitize(name: str) -> str:
        """Undo sanitize."""
        return urllib.parse.unquote_plus(name)

    @staticmethod
    def jmx_sanitize(name: str) -> str:
        """The name, in quotes if a bean name could not hold it bare."""
        if _MBEAN_SAFE.fullmatch(name):
            return name
        escaped = re.sub(r'["*?\\]', lambda m: "\\" + m[0], name).replace("\n", "\\n")
        return f'"{escaped}"'
