"""What each command of zookeeper-shell does.

Mirrors: the classes of org.apache.zookeeper.cli, in Apache ZooKeeper 3.9 (a part of them)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

_PERMISSIONS = ((4, "c"), (8, "d"), (1, "r"), (2, "w"), (16, "a"))
_ANY_VERSION = -1


class CliError(Exception):
    """A command line that makes no sense; the text is for the user.

    Mirrors: org.apache.zookeeper.cli.CliException
    """


class Options(NamedTuple):
    """What was said by options: their letters, and the value of -v."""

    flags: frozenset[str]
    version: int


class Command(NamedTuple):
    """A command: what it looks like, how many arguments it needs, and what does it.

    Mirrors: org.apache.zookeeper.cli.CliCommand
    """

    usage: str
    least: int
    action: Callable[[ShellCommands, Options, list[str]], None]

    def parse(self, arguments: list[str]) -> tuple[Options, list[str]]:
        """Options, wherever they stand, and the other words; CliError if they make no sense."""
        flags, version, words = set(), _ANY_VERSION, []
        rest = list(arguments)
        while rest:
            word = rest.pop(0)
            if len(word) < 2 or not word.startswith("-"):
                words.append(word)
                continue
            if f"[{word}]" not in self.usage and f"[{word} " not in self.usage:
                raise CliError(f"org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: {word}")
            flags.add(word)
            if word == "-v":
                version = _to_version(rest.pop(0) if rest else "")
        if len(words) < self.least:
            raise CliError(self.usage)
        if words and self.least and not words[0].startswith("/") and "path" in self.usage:
            raise CliError("Path must start with / character")
        return Options(frozenset(flags), version), words


def _to_version(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CliError(f'java.lang.NumberFormatException: For input string: "{text}"') from None


class ShellCommands:
    """The commands on one connection. Thread: the shell's; kazoo's prints what watches see."""

    def __init__(self, client: Any, out: Callable[[str], None]) -> None:
        self._client = client
        self._out = out
        self.print_watches = True  # volatile: the shell's thread

    def _watch(self, options: Options) -> Callable[[Any], None] | None:
        return self._print_event if "-w" in options.flags else None

    def _print_event(self, event: Any) -> None:
        if self.print_watches:
            kind = {"CREATED": "NodeCreated", "DELETED": "NodeDeleted", "CHANGED": "NodeDataChanged",
                    "CHILD": "NodeChildrenChanged"}.get(event.type, event.type)  # fmt: skip
            self._out(f"\nWATCHER::\n\nWatchedEvent state:SyncConnected type:{kind} path:{event.path}")

    # -- Looking

    def ls(self, options: Options, words: list[str]) -> None:
        """Children; the whole tree below, a path a line, with -R."""
        if "-R" in options.flags:
            for path in self._tree(words[0]):
                self._out(path)
            return
        children, stat = self._client.get_children(words[0], watch=self._watch(options), include_data=True)
        self._out(f"[{', '.join(sorted(children))}]")
        self._maybe_print_stat(options, stat)

    def _tree(self, path: str) -> Iterator[str]:
        """The path and all below it; who goes while we look is left out."""
        from kazoo.exceptions import NoNodeError

        children = sorted(self._client.get_children(path))
        yield path
        for child in children:
            try:
                yield from self._tree(f"{path.rstrip('/')}/{child}")
            except NoNodeError:
                continue

    def get(self, options: Options, words: list[str]) -> None:
        data, stat = self._client.get(words[0], watch=self._watch(options))
        self._out("null" if data is None else data.decode(errors="replace"))
        self._maybe_print_stat(options, stat)

    def stat(self, options: Options, words: list[str]) -> None:
        stat = self._client.exists(words[0], watch=self._watch(options))
        if stat is None:
            raise CliError(f"Node does not exist: {words[0]}")
        self._print_stat(stat)

    def get_acl(self, options: Options, words: list[str]) -> None:
        acls, stat = self._client.get_acls(words[0])
        for acl in acls:
            rights = "".join(letter for bit, letter in _PERMISSIONS if acl.perms & bit)
            self._out(f"'{acl.id.scheme},'{acl.id.id}\n: {rights}")
        self._maybe_print_stat(options, stat)

    def get_all_children_number(self, options: Options, words: list[str]) -> None:
        self._out(str(sum(1 for _ in self._tree(words[0])) - 1))

    def get_ephemerals(self, options: Options, words: list[str]) -> None:
        """Those of this session, below a path."""
        session = self._client.client_id[0]
        found = []
        for path in self._tree(words[0] if words else "/"):
            stat = self._client.exists(path)
            if stat is not None and stat.ephemeralOwner == session:
                found.append(path)
        self._out(f"[{', '.join(found)}]")

    def sync(self, options: Options, words: list[str]) -> None:
        self._client.sync(words[0])
        self._out("Sync is OK")

    # -- Changing

    def create(self, options: Options, words: list[str]) -> None:
        path, flags = words[0], options.flags
        data = words[1].encode() if len(words) > 1 else None
        acl = _parse_acl(words[2]) if len(words) > 2 else None
        created = self._client.create(path, data, acl, ephemeral="-e" in flags, sequence="-s" in flags)
        self._out(f"Created {created}")

    def set(self, options: Options, words: list[str]) -> None:
        stat = self._client.set(words[0], words[1].encode(), options.version)
        self._maybe_print_stat(options, stat)

    def set_acl(self, options: Options, words: list[str]) -> None:
        acl = _parse_acl(words[1])
        paths = list(self._tree(words[0])) if "-R" in options.flags else [words[0]]
        for path in paths:
            stat = self._client.set_acls(path, acl, options.version)
            self._maybe_print_stat(options, stat)

    def delete(self, options: Options, words: list[str]) -> None:
        self._client.delete(words[0], options.version)

    def delete_all(self, options: Options, words: list[str]) -> None:
        if self._client.exists(words[0]) is None:
            raise CliError(f"Node does not exist: {words[0]}")
        self._client.delete(words[0], recursive=True)

    def add_auth(self, options: Options, words: list[str]) -> None:
        self._client.add_auth(words[0], words[1] if len(words) > 1 else "")

    # -- Printing

    def _maybe_print_stat(self, options: Options, stat: Any) -> None:
        if "-s" in options.flags:
            self._print_stat(stat)

    def _print_stat(self, stat: Any) -> None:
        lines = {
            "cZxid": hex(stat.czxid),
            "ctime": _date(stat.ctime),
            "mZxid": hex(stat.mzxid),
            "mtime": _date(stat.mtime),
            "pZxid": hex(stat.pzxid),
            "cversion": stat.cversion,
            "dataVersion": stat.version,
            "aclVersion": stat.aversion,
            "ephemeralOwner": hex(stat.ephemeralOwner),
            "dataLength": stat.dataLength,
            "numChildren": stat.numChildren,
        }
        for name, value in lines.items():
            self._out(f"{name} = {value}")


def _date(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _parse_acl(text: str) -> list[Any]:
    """``scheme:id:perm,…``; CliError if it is not that."""
    from kazoo.security import ACL, Id

    acls = []
    for entry in text.split(","):
        scheme, _, rest = entry.partition(":")
        id, colon, letters = rest.rpartition(":")
        if not colon:
            raise CliError(f"{entry} does not have the form scheme:id:perm")
        acls.append(ACL(sum(bit for bit, letter in _PERMISSIONS if letter in letters), Id(scheme, id)))
    return acls


COMMANDS = {
    "addauth": Command("addauth scheme auth", 1, ShellCommands.add_auth),
    "create": Command("create [-s] [-e] path [data] [acl]", 1, ShellCommands.create),
    "delete": Command("delete [-v version] path", 1, ShellCommands.delete),
    "deleteall": Command("deleteall path", 1, ShellCommands.delete_all),
    "get": Command("get [-s] [-w] path", 1, ShellCommands.get),
    "getAcl": Command("getAcl [-s] path", 1, ShellCommands.get_acl),
    "getAllChildrenNumber": Command("getAllChildrenNumber path", 1, ShellCommands.get_all_children_number),
    "getEphemerals": Command("getEphemerals path", 0, ShellCommands.get_ephemerals),
    "ls": Command("ls [-s] [-w] [-R] path", 1, ShellCommands.ls),
    "set": Command("set path data [-s] [-v version]", 2, ShellCommands.set),
    "setAcl": Command("setAcl [-s] [-v version] [-R] path acl", 2, ShellCommands.set_acl),
    "stat": Command("stat [-w] path", 1, ShellCommands.stat),
    "sync": Command("sync path", 1, ShellCommands.sync),
}
