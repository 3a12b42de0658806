"""Write docs/java-TAG.tsv: path, kind, owner, name, line of the Java classes that the package says it mirrors.

    python3 tools/java_index.py REPOSITORY 1.1.1 > docs/java-1.1.1.tsv

A class counts for the tag that its `Mirrors:` line names, 1.1.1 if it names none. Of overloads the first one is listed.
"""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

PACKAGE = pathlib.Path(__file__).parents[1] / "kafka_py"
MIRRORS = re.compile(r"Mirrors: (org\.apache\.kafka\.[\w.]+)(?:[^\n]*?@ *(\d\.\d\.\d))?")
SKIPPED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ANNOTATION = r"(?:@[\w.]+(?:\([^()]*\))?\s*)*"
MODIFIERS = r"(?:(?:public|protected|private|static|final|abstract|synchronized|default)\s+)*"
TYPE = re.compile(rf"^{ANNOTATION}{MODIFIERS}(class|interface|enum)\s+(\w+)")
METHOD = re.compile(rf"^{ANNOTATION}{MODIFIERS}(?:<[^(=]+>\s+)?\w[\w.<>\[\],?& ]*?\s+(\w+)\s*\(")


def blanked(text: str) -> str:
    """The text without comments and literals, every line where it was."""
    return SKIPPED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def declarations(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Kind, owner, name and line of each class and each of its methods; what stands within methods does not count."""
    text = blanked(text)
    owners: list[str | None] = []  # of each open brace the class it belongs to, or None
    began = parentheses = 0
    for place in re.finditer(r"[{}();]", text):
        sign = place[0]
        if sign in "()":
            parentheses += 1 if sign == "(" else -1
            continue
        if parentheses and sign == ";":
            continue
        head = text[began : place.start()].strip()
        line = text.count("\n", 0, text.index(head, began)) + 1
        path = ".".join(o for o in owners if o)
        opened: str | None = None
        if all(owners):
            if found := TYPE.match(head):
                yield found[1], path, found[2], line
                opened = found[2]
            elif owners and "=" not in head.split("(")[0] and (found := METHOD.match(head)) and found[1] != owners[-1]:
                yield "def", path, found[1], line
        if sign == "{":
            owners.append(opened)
        elif sign == "}":
            owners.pop()
        began = place.end()


def mirrored(tag: str) -> set[str]:
    """Names of the classes, with those they are nested in."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for name, version in MIRRORS.findall(path.read_text()):
            if (version or "1.1.1") == tag:
                found.add(name.rstrip("."))
    return found


def git(repo: str, *arguments: str) -> str:
    return subprocess.run(["git", "-C", repo, *arguments], capture_output=True, text=True, check=True).stdout


def main(repo: str, tag: str) -> None:
    files = {}
    for path in git(repo, "ls-tree", "-r", "--name-only", tag).splitlines():
        if path.endswith(".java") and "/src/" in path and "/java/" in path:
            files[path.split("/java/")[1].removesuffix(".java").replace("/", ".")] = path
    wanted: dict[str, set[str]] = {}
    for name in mirrored(tag):
        outer = next((name[: m.end()] for m in re.finditer(r"\.[A-Z]\w*", name)), name)
        if outer in files:
            wanted.setdefault(outer, set()).add(name.removeprefix(outer.rpartition(".")[0] + "."))
    for outer in sorted(wanted):
        seen = set()
        for kind, owner, name, line in declarations(git(repo, "show", f"{tag}:{files[outer]}")):
            of = owner if kind == "def" else f"{owner}.{name}".lstrip(".")
            if of in wanted[outer] and (owner, name) not in seen:
                seen.add((owner, name))
                print(files[outer], kind, owner, name, line, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
