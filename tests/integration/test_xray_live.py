"""The X-ray's page on three live brokers: a record travels, is held and stepped; a group moves; a leader dies."""

from __future__ import annotations

import re
from collections.abc import Iterator

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.support import wait_until
from tests.xray.browser.webdriver import Browser, browser, missing
from tests.xray.fake_xray import HOSTILE

LINK = re.compile(r"(http://\S+/xray/)#token=([\w-]+)")
NO_BROWSER = missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(NO_BROWSER is not None, reason=str(NO_BROWSER))]
PROPERTIES = {
    "kafka.py.xray": "step",
    "kafka.py.http.listener": "127.0.0.1:0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "zookeeper.session.timeout.ms": "3000",
}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    home = tmp_path_factory.mktemp("xray-live")
    with LocalCluster(brokers=3, home=home, properties=PROPERTIES) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        for made in admin.create_topics([NewTopic("orders", 1, 3)]).values():
            made.result(20)
        yield started
        for each in started.brokers:
            each.process.kill()  # they need not part in order


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium-live")) as started:
        started.size(1280, 900)
        yield started


@pytest.fixture
def page(chromium: Browser) -> Iterator[Browser]:
    chromium.console()
    yield chromium
    assert chromium.console() == []
    assert chromium.run("return window.hacked") is None
    chromium.open("about:blank")


def show(page: Browser, broker: LocalBroker) -> None:
    found = LINK.findall(broker.process.text())
    url, token = found[-1]
    page.open(f"{url}#token={token}&language=en")
    page.until("return document.documentElement.dataset.ready && document.querySelector('.key.on')", seconds=20)
    page.until("return !document.querySelector('[data-act=hold]').disabled")


def leader(cluster: LocalCluster, topic: str) -> LocalBroker:
    told = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(topic, timeout=20)
    number = told.topics[topic].partitions[0].leader
    return next(each for each in cluster.brokers if each.id == number)


def producer(cluster: LocalCluster, client: str) -> confluent_kafka.Producer:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": client, "acks": "all", "linger.ms": 0}
    made = confluent_kafka.Producer(settings)
    made.produce("orders", b"warm")
    assert made.flush(20) == 0
    return made


def text(page: Browser) -> str:
    told: str = page.run("return document.querySelector('#view').innerText")
    return told


def test_a_record_passes_the_lanes_and_a_followers_fetch_completes_it(brokers: LocalCluster, page: Browser) -> None:
    writer = producer(brokers, "traveller")
    show(page, leader(brokers, "orders"))
    whole = "network requestQueue handler purgatory responseQueue network"
    seen = """return [...document.querySelectorAll('.dot[data-api=Produce]')].some(
        (dot) => dot.dataset.trail === arguments[0])"""

    def passes() -> bool:
        """A record is on its way for some milliseconds and seen for some seconds; a busy machine may miss one."""
        writer.produce("orders", b"seen")
        assert writer.flush(20) == 0
        try:
            return bool(page.until(seen, whole, seconds=3))
        except AssertionError:
            return False

    wait_until(passes, 40, "a record that passes all lanes")
    page.press("2")
    page.until("return document.querySelector('#view tr[data-api=Produce]')?.innerText.includes('follower')")


def test_a_request_is_held_stepped_through_its_gates_and_let_go(brokers: LocalCluster, page: Browser) -> None:
    writer = producer(brokers, "stepped")
    show(page, leader(brokers, "orders"))
    page.click("details.menu summary")
    page.run("document.querySelector('[data-form=hold]').elements.client.value = 'stepped'")
    page.click("[data-form=hold] button")
    page.until("return document.querySelector('[data-act=hold][aria-pressed=true]')")
    writer.produce("orders", b"held")
    writer.poll(0)
    gates: list[str] = []
    now = "return document.querySelector('#view section li b')?.innerText"
    while not {"respond", "send"} <= set(gates):
        gates.append(page.until(now))
        assert page.run("return document.querySelectorAll('.box.s-held').length") >= 1
        page.press("n")
        page.until(f"const now = (() => {{ {now} }})(); return now !== arguments[0]", gates[-1])
    order = [gate for gate in gates if gate in ("receive", "request-queue", "handle", "append", "respond", "send")]
    assert order == ["receive", "request-queue", "handle", "append", "respond", "send"]
    page.press(" ")
    page.until("return document.querySelector('[data-act=hold][aria-pressed=false]')")
    assert writer.flush(20) == 0


def test_hostile_client_ids_groups_and_records_are_only_text(brokers: LocalCluster, page: Browser) -> None:
    writer = producer(brokers, HOSTILE)
    writer.produce("orders", HOSTILE.encode(), key=HOSTILE.encode())
    assert writer.flush(20) == 0
    show(page, leader(brokers, "orders"))
    for number in "12345678":
        page.press(number)
        page.until("return document.querySelector('#view h1')")
        assert page.run("return document.querySelectorAll('img').length") == 0
    page.press("2")
    page.until("return document.querySelector('#view').innerText.includes('onerror')")
    page.press("3")
    page.until("return document.querySelector('[data-key=\"orders-0\"] [data-form=batch] button')")
    page.click('[data-key="orders-0"] [data-form=batch] button')
    page.until("return document.querySelector('#panel .hex .byte')")


def test_a_rebalance_is_seen(brokers: LocalCluster, page: Browser) -> None:
    settings = {"bootstrap.servers": brokers.bootstrap_servers, "group.id": "readers", "session.timeout.ms": 6000}
    first, second = confluent_kafka.Consumer(settings), confluent_kafka.Consumer(settings)
    try:
        first.subscribe(["orders"])
        _until_assigned(first)
        show(page, leader(brokers, "__consumer_offsets"))
        page.press("6")
        page.until("return document.querySelector('[data-group=readers]')?.innerText.includes('Members (1)')")
        second.subscribe(["orders"])
        for _ in range(100):
            first.poll(0.1)
            second.poll(0.1)
            if "Members (2)" in text(page):
                break
        assert "Members (2)" in text(page)
    finally:
        first.close()
        second.close()


def _until_assigned(consumer: confluent_kafka.Consumer) -> None:
    for _ in range(100):
        consumer.poll(0.2)
        if consumer.assignment():
            return
    raise AssertionError("no partition was assigned")


def test_the_leader_dies_and_another_is_seen(brokers: LocalCluster, page: Browser) -> None:
    dies = leader(brokers, "orders")
    show(page, next(each for each in brokers.brokers if each is not dies))
    page.press("8")
    now = "return document.querySelector('[data-key=\"orders-0\"] [data-leader]')?.innerText"
    page.until(f"{now} === arguments[0]", str(dies.id))
    dies.process.kill()
    page.until(f"const now = (() => {{ {now} }})(); return now && now !== arguments[0]", str(dies.id), seconds=25)
