"""Write docs/scala-1.1.1.tsv: path, kind, owner, name, line of every class and def of the mirrored Scala source."""

import re
import subprocess
import sys

PACKAGES = (
    "producer|serializer|security|message|admin|api|network|server|log|controller|cluster|coordinator|utils|zk|zookeeper|metrics"
    "|common|tools"
)
CLASS = re.compile(
    r"^(\s*)(?:(?:sealed|abstract|private(?:\[\w+\])?|protected(?:\[\w+\])?|final|case|implicit)\s+)*(class|object|trait)\s+(\w+)"
)
DEF = re.compile(
    r"^(\s*)(?:@\w+\s+)*(?:(?:override|private(?:\[\w+\])?|protected(?:\[\w+\])?|final|implicit)\s+)*def\s+(\w+)"
)


def rows(path: str, text: str):
    owners: list[tuple[int, str]] = []
    for n, line in enumerate(text.splitlines(), 1):
        if m := CLASS.match(line):
            indent = len(m[1])
            owners = [o for o in owners if o[0] < indent]
            yield path, m[2], ".".join(o[1] for o in owners), m[3], n
            owners.append((indent, m[3]))
        elif m := DEF.match(line):
            indent = len(m[1])
            owners = [o for o in owners if o[0] < indent]
            if owners and indent == owners[-1][0] + 2:  # members only, not local defs
                yield path, "def", ".".join(o[1] for o in owners), m[2], n


def main(repo: str, tag: str) -> None:
    names = subprocess.run(
        ["git", "-C", repo, "ls-tree", "-r", "--name-only", tag, "core/src/main/scala/kafka"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    keep = re.compile(rf"kafka/({PACKAGES})/")
    for p in names:
        if p.endswith(".scala") and keep.search(p):
            text = subprocess.run(
                ["git", "-C", repo, "show", f"{tag}:{p}"], capture_output=True, text=True, check=True
            ).stdout
            for r in rows(p, text):
                print(*r, sep="\t")


main(sys.argv[1], sys.argv[2])
