"""The X-ray's page in headless Chromium: what one sees, holds and steps, in both languages, with keys alone."""

from __future__ import annotations

import io
import json
import tarfile
import urllib.request
from collections.abc import Iterator

import pytest

from tests.interop.apache_kafka import cache_dir
from tests.xray.browser.webdriver import Browser, browser, missing
from tests.xray.fake_xray import HOSTILE, TOKEN, FakeXray

VIEWS = ("reactor", "requests", "partitions", "purgatories", "controller", "groups", "zookeeper", "cluster")
AXE = "https://registry.npmjs.org/axe-core/-/axe-core-4.10.2.tgz"
RULES = [
    "color-contrast",
    "tabindex",
    "scrollable-region-focusable",
    "nested-interactive",
    "button-name",
    "link-name",
    "label",
    "select-name",
    "aria-required-attr",
    "aria-valid-attr-value",
    "aria-required-children",
    "aria-allowed-attr",
    "duplicate-id-aria",
    "html-has-lang",
    "svg-img-alt",
]
NO_BROWSER = missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(NO_BROWSER is not None, reason=str(NO_BROWSER))]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def fake() -> Iterator[FakeXray]:
    with FakeXray() as served:
        yield served


@pytest.fixture
def page(chromium: Browser, fake: FakeXray) -> Iterator[Browser]:
    """The page of a fake broker, at 1280 px; at its end the console has no error."""
    chromium.console()
    show(chromium, fake)
    yield chromium
    assert chromium.console() == []
    assert chromium.run("return window.hacked") is None
    chromium.open("about:blank")


def show(page: Browser, fake: FakeXray, token: str = TOKEN, **fragment: str) -> None:
    page.size(1280, 900)
    page.prefer(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
    page.open("about:blank")
    more = "".join(f"&{name}={value}" for name, value in {"language": "en", **fragment}.items())
    page.open(f"{fake.url}#token={token}{more}")
    page.until("return document.documentElement.dataset.ready && document.querySelector('.key.on')")


def text(page: Browser, selector: str = "#view") -> str:
    told: str = page.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
    return told


def trail(page: Browser, wanted: int) -> str:
    """The lanes the dot of a produce has passed, as soon as there are that many."""
    script = """const dot = document.querySelector('.dot[data-api=Produce]');
        const trail = dot?.dataset.trail ?? '';
        return trail.split(' ').length >= arguments[0] && trail"""
    told: str = page.until(script, wanted)
    return told


def test_a_record_is_seen_on_its_way_through_the_lanes(page: Browser, fake: FakeXray) -> None:
    fake.produce()
    assert trail(page, 6) == "network requestQueue handler purgatory responseQueue network"
    page.press("2")
    page.until("return document.querySelector('#view tr[data-api=Produce]')")
    line = text(page, "#view tr[data-api=Produce]")
    assert "console-producer" in line
    assert "follower 2, Fetch #43" in line


def test_a_request_is_held_and_stepped_through_every_gate(page: Browser, fake: FakeXray) -> None:
    page.press(" ")
    page.until("return document.querySelector('[data-act=hold][aria-pressed=true]')")
    assert fake.calls[0][0] == "hold"
    request = fake.produce()
    passed = []
    while fake.held():
        point = fake.held()[0]["point"]
        page.until("return document.querySelector('#view section li b')?.innerText === arguments[0]", point)
        assert page.until("return document.querySelectorAll('.box.s-held').length") == 1
        passed.append((fake.held()[0]["request"] or {}).get("id") == request and point)
        page.press("n")
        fake.await_calls(len(passed) + 1)
    ours = [point for point in passed if point]
    assert ours == [
        "receive",
        "request-queue",
        "handle",
        "append",
        "watch",
        "complete",
        "response-queue",
        "respond",
        "send",
    ]
    page.press(" ")
    fake.await_calls(len(passed) + 2)
    assert fake.calls[-1] == ("resume", {})
    page.until("return document.querySelector('[data-act=hold][aria-pressed=false]')")


def test_a_rule_holds_by_api_client_topic_and_point(page: Browser, fake: FakeXray) -> None:
    page.click("details.menu summary")
    page.run("""const form = document.querySelector('[data-form=hold]');
        form.elements.api.value = 'Produce'; form.elements.topic.value = 'or*';
        form.querySelector('[value=append]').checked = true;""")
    page.click("[data-form=hold] button")
    page.until("return document.querySelector('[data-act=hold][aria-pressed=true]')")
    rule = {"points": ["append"], "thread": None, "api": "Produce", "client": None, "topic": "or*"}
    assert fake.calls == [("hold", {"rules": [rule]})]


def test_a_rebalance_is_seen(page: Browser, fake: FakeXray) -> None:
    page.press("6")
    now = "return document.querySelector('[data-group=readers] .now')?.innerText"
    page.until(f"{now} === 'Stable'")
    group = fake.state["groups"][0]
    group.update(state="PreparingRebalance", members=group["members"][:2])
    page.until(f"{now} === 'PreparingRebalance'")
    assert "Members (2)" in text(page)


def test_another_leader_is_seen(page: Browser, fake: FakeXray) -> None:
    page.press("8")
    leader = "return document.querySelector('tr[data-key=orders-0] [data-leader]')?.innerText"
    page.until(f"{leader} === '1'")
    fake.state["partitions"][0].update(leader=2, leaderEpoch=4)
    fake.state["cluster"]["brokers"][0]["alive"] = False
    page.until(f"{leader} === '2'")
    page.until("return document.querySelector('[data-broker=\"1\"].dead')")


def test_hostile_names_are_text_in_every_view(page: Browser, fake: FakeXray) -> None:
    fake.state["broker"]["host"] = HOSTILE
    fake.produce(HOSTILE, HOSTILE)
    for number, view in enumerate(VIEWS, 1):
        page.press(str(number))
        page.until(
            "return document.querySelector('#tab-' + arguments[0]).getAttribute('aria-selected') === 'true'", view
        )
        assert page.run("return document.querySelectorAll('img, iframe, object').length") == 0
    page.press("3")
    page.until("return document.querySelector('.segment')")
    page.run("document.querySelector('.segment').focus()")
    page.press("Enter")
    page.until("return document.querySelector('#panel .fields')")
    assert HOSTILE in text(page, "#panel")


def test_a_byte_shows_its_field_and_a_field_its_bytes(page: Browser) -> None:
    page.press("3")
    page.until("return document.querySelector('[data-form=batch] button')")
    page.click("[data-form=batch] button")
    page.until("return document.querySelector('#panel .hex')")
    lit = "return [...document.querySelectorAll('#panel .hex .lit')].map((each) => each.innerText).join(' ')"
    page.click("#panel .fields li:nth-child(2) button")
    assert page.run(lit) == "00 00 00 3d"
    page.run("""document.querySelector('#panel .byte[data-field="3"]')
        .dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))""")
    assert page.run("return document.querySelector('#panel .fields .lit').innerText").startswith("magic 2")


def test_a_name_opens_its_source_beside_its_scala_place(page: Browser) -> None:
    page.run("document.querySelector('#view [data-arg=\"Processor.run\"]').focus()")
    page.press("Enter")
    page.until("return document.querySelector('#panel pre.source')")
    told = text(page, "#panel")
    assert "kafka_py/network/socket_server.py:400" in told
    assert "SocketServer.scala" in told
    page.press("Escape")
    assert page.run("return document.activeElement.dataset.arg") == "Processor.run"


def test_without_the_token_the_page_only_watches(page: Browser, fake: FakeXray) -> None:
    page.run("sessionStorage.clear()")
    show(page, fake, token="")
    assert page.run("return document.querySelector('[data-act=hold]').disabled")
    page.press(" ")
    assert "watching only" in text(page, "#bar")
    assert fake.calls == []


def test_the_stream_resumes_where_it_was(page: Browser, fake: FakeXray) -> None:
    fake.emit(kind="controller-event", thread="controller-event-thread", event="first")
    page.press("5")
    page.until("return document.querySelector('#view').innerText.includes('first')")
    assert text(page).count("first") == 1


@pytest.mark.parametrize(
    ("width", "scheme", "language"),
    [(1280, "light", "en"), (390, "dark", "zh"), (390, "light", "en"), (1280, "dark", "zh")],
)
def test_every_view_is_legible_and_as_wide_as_the_window(
    page: Browser, fake: FakeXray, axe: str, width: int, scheme: str, language: str
) -> None:
    fake.produce()
    page.size(width, 900)
    page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    page.run(
        """const chooser = document.querySelector('[data-choose=language]');
        chooser.value = arguments[0]; chooser.dispatchEvent(new Event('change', { bubbles: true }));""",
        language,
    )
    page.until("return document.documentElement.lang === arguments[0]", {"en": "en", "zh": "zh-CN"}[language])
    page.run(axe)
    found = {}
    for view in VIEWS:
        page.run("document.querySelector('#tab-' + arguments[0]).click()", view)
        page.until("return document.querySelector('#view h1')")
        page.run_later("setTimeout(arguments[0], 150)")
        assert page.run("return document.documentElement.scrollWidth") <= width, view
        found[view] = page.run_later(
            """const done = arguments[1];
            axe.run(document, { runOnly: { type: 'rule', values: arguments[0] }, resultTypes: ['violations'] })
              .then(({ violations }) => done(violations.map((each) =>
                [each.id, each.nodes.slice(0, 3).map((node) => node.html + ' ' + node.failureSummary)])))""",
            RULES,
        )
    assert {view: told for view, told in found.items() if told} == {}


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's one file; fetched once into the cache directory."""
    kept = cache_dir() / AXE.rpartition("/")[2].replace(".tgz", ".min.js")
    if not kept.exists():
        try:
            with urllib.request.urlopen(AXE, timeout=60) as answer:
                fetched = answer.read()
        except OSError as e:
            pytest.skip(f"axe-core cannot be fetched: {e}")
        with tarfile.open(fileobj=io.BytesIO(fetched)) as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member is not None
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(member.read())
    return kept.read_text()


def test_a_lab_is_read_checked_and_hinted_at(page: Browser, fake: FakeXray) -> None:
    page.click("[data-act=labs]")
    page.until("return document.querySelector('#panel .sheet')")
    told = text(page, "#panel")
    assert "Lab 5: Failover" in told
    assert "Kill the leader." in told
    assert "✓ 4 The purgatory" in told
    page.click("[data-act=lab-check]")
    page.until("return document.querySelector('#panel [role=status]')")
    told = text(page, "#panel [role=status]")
    assert told.splitlines() == [
        "1 of 2",
        "✓ the leader is another",
        "✗ epoch: answers-5.txt does not answer it yet",
    ]
    page.click("[data-act=lab-hint]")
    page.until("return document.querySelector('#panel p.card')")
    assert HOSTILE in text(page, "#panel p.card")
    assert [name for name, _ in fake.calls] == ["labs/check", "labs/hint"]


def test_a_source_leads_to_the_readers_own_site(page: Browser, fake: FakeXray) -> None:
    page.click("#view [data-act=source]")
    page.until("return document.querySelector('#panel .source')")
    links = page.run("return [...document.querySelectorAll('#panel .places a')].map((each) => each.href)")
    assert links[1].startswith(f"{fake.url}sidebyside/network.SocketServer.html#")


def test_keys_alone_are_enough(page: Browser) -> None:
    page.run("document.querySelector('#tab-reactor').focus()")
    page.press("ArrowRight")
    page.until("return document.activeElement.id === 'tab-requests'")
    page.press("?")
    page.until("return document.querySelector('#help').open")
    page.press("Escape")
    page.until("return !document.querySelector('#help').open")
    page.press("1")
    page.until("return document.querySelector('#view .reactor')")
    page.run("document.querySelector('#view [data-item][tabindex=\"0\"]').focus()")
    page.press("ArrowDown")
    assert page.run("return document.activeElement.hasAttribute('data-item')")
    page.press("d")
    assert page.run("return document.documentElement.dataset.theme") == "dark"


def test_a_schedule_is_recorded_and_told_as_steps(page: Browser, fake: FakeXray) -> None:
    page.click("[data-act=record]")
    page.until("return document.querySelector('[data-act=record][aria-pressed=true]')")
    page.click("[data-act=record]")
    page.until("return document.querySelector('[data-act=record][aria-pressed=false]')")
    assert json.dumps([name for name, _ in fake.calls]) == '["schedule/record", "schedule/stop"]'
