"""The lab's port passes on what concerns one broker, and has its own token, page and faults."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.lab.lab_http import LabHttp
from kafka_py.metrics.exporter import HttpRequest, MetricsExporter, Page, Stream, json_page


class FakeVerb:
    """Notes what it was given."""

    def __init__(self) -> None:
        self.given: Mapping[str, str] = {}

    def call(self, cluster: Any, arguments: Mapping[str, str]) -> str:
        self.given = arguments
        return "kill: done"

    def listing(self) -> Mapping[str, Any]:
        return {"name": "kill", "help": "Ends it.", "arguments": []}


class FakeBoard:
    """One lab, and a button."""

    def listing(self) -> Mapping[str, Any]:
        return {"running": 3}

    def do(self, word: str) -> Mapping[str, Any]:
        if word != "check":
            raise KeyError("no such button")
        return {"exit": 1}


class Lab:
    """A lab of one broker that answers what it was asked, and one that is gone."""

    def __init__(self) -> None:
        self.asked: list[HttpRequest] = []
        self.headers: Mapping[str, str] = {}
        self.policy: str | None = None  # of the last answer
        self.broker = MetricsExporter("127.0.0.1:0")
        self.broker.add_site("/xray", self._answer)
        self.broker.startup()
        brokers = [SimpleNamespace(id=0, metrics_port=self.broker.port), SimpleNamespace(id=1, metrics_port=1)]
        cluster: Any = SimpleNamespace(brokers=brokers)
        self.verb = FakeVerb()
        self.http = LabHttp(cluster, "secret", "127.0.0.1:0", {"kill": self.verb}, FakeBoard())
        self.http.startup()

    def _answer(self, request: HttpRequest) -> Page | Stream:
        self.asked.append(request)
        if request.path.endswith("/events"):
            return Stream("text/event-stream", iter([b"id: 1\n", b"\n"]))
        page = json_page({"path": request.path}, 418 if request.path.endswith("/teapot") else 200)
        return page._replace(headers=self.headers)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", int(self.http.link.split(":")[2].split("/")[0]), timeout=10
        )
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = response.status, response.read()
        self.policy = response.headers["Content-Security-Policy"]
        connection.close()
        return answer


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.http.shutdown()
    made.broker.shutdown()


TOKEN = {"X-Xray-Token": "secret"}


def test_the_link_has_the_token(lab: Lab) -> None:
    assert lab.http.link.endswith("/xray/#token=secret")


def test_the_cluster_lists_brokers_and_faults(lab: Lab) -> None:
    told = json.loads(lab.ask("GET", "/xray/cluster")[1])
    assert told["brokers"][1] == {"id": 1, "base": "/xray/broker/1/"}
    assert (told["lab"], told["faults"][0]["name"]) == (True, "kill")


def test_what_concerns_a_broker_is_passed_on_with_the_token(lab: Lab) -> None:
    status, body = lab.ask("GET", "/xray/broker/0/state?view=a%26b,c")
    assert (status, json.loads(body)) == (200, {"path": "/xray/state"})
    assert lab.asked[0].query == {"view": "a&b,c"}
    assert lab.ask("POST", "/xray/broker/0/hold", b'{"rules": []}', **TOKEN)[0] == 200
    assert lab.asked[1].headers["x-xray-token"] == "secret"
    assert lab.asked[1].body == b'{"rules": []}'


def test_statuses_and_streams_come_through(lab: Lab) -> None:
    assert lab.ask("GET", "/xray/broker/0/teapot")[0] == 418
    assert lab.ask("GET", "/xray/broker/0/events", None, **{"Last-Event-ID": "7"}) == (200, b"id: 1\n\n")
    assert lab.asked[-1].headers["last-event-id"] == "7"


def test_a_broker_that_is_gone_or_none(lab: Lab) -> None:
    assert lab.ask("GET", "/xray/broker/1/state")[0] == 502
    assert lab.ask("GET", "/xray/broker/9/state")[0] == 404
    assert lab.ask("GET", "/xray/broker/0/%2e%2e/metrics")[0] == 404
    assert lab.asked == []


def test_what_names_no_broker_goes_to_the_first(lab: Lab) -> None:
    assert json.loads(lab.ask("GET", "/xray/source?name=A")[1]) == {"path": "/xray/source"}


def test_the_lab_that_runs_is_shown_and_its_buttons_need_the_token(lab: Lab) -> None:
    assert json.loads(lab.ask("GET", "/xray/cluster")[1])["labs"] is True
    assert json.loads(lab.ask("GET", "/xray/labs")[1]) == {"running": 3}
    assert lab.ask("POST", "/xray/labs/check", b"{}")[0] == 403
    assert json.loads(lab.ask("POST", "/xray/labs/check", b"{}", **TOKEN)[1]) == {"exit": 1}
    assert lab.ask("POST", "/xray/labs/solve", b"{}", **TOKEN)[0] == 404
    assert lab.ask("GET", "/xray/labs/check")[0] == 404


def test_without_a_lab_there_is_no_board() -> None:
    http = LabHttp(SimpleNamespace(brokers=[]), "secret", "127.0.0.1:0")  # type: ignore[arg-type]
    assert http.answer(HttpRequest("GET", "/xray/labs", {}, {"host": "127.0.0.1"})).status == 404


def test_a_brokers_policy_for_a_page_comes_through(lab: Lab) -> None:
    lab.headers = {"Content-Security-Policy": "default-src 'none'"}
    assert lab.ask("GET", "/xray/sidebyside/index.html")[0] == 200
    assert lab.asked[-1].path == "/xray/sidebyside/index.html"
    assert lab.policy == "default-src 'none'"


def test_a_fault_is_done_with_words_as_arguments(lab: Lab) -> None:
    body = json.dumps({"broker": 0, "ids": [1, 2], "hard": True, "left": None}).encode()
    assert lab.ask("POST", "/xray/fault/kill", body, **TOKEN)[0] == 200
    assert lab.verb.given == {"broker": "0", "ids": "1,2", "hard": "true"}
    assert lab.ask("POST", "/xray/fault/nothing", b"{}", **TOKEN)[0] == 404
    assert lab.ask("POST", "/xray/fault/kill", b"[]", **TOKEN)[0] == 400


def test_without_the_token_nothing_is_passed_on(lab: Lab) -> None:
    assert lab.ask("POST", "/xray/fault/kill", b"{}")[0] == 403
    assert lab.ask("POST", "/xray/broker/0/hold", b"{}", **{"X-Xray-Token": "guess"})[0] == 403
    assert lab.ask("GET", "/xray/broker/0/state", None, Host="evil.com")[0] == 403
    assert lab.asked == []
