"""A small client of the WebDriver protocol: headless Chromium through chromedriver, over plain HTTP, no package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from kafka_py.common.utils.time import Time

KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class WebDriverError(Exception):
    """What chromedriver refused, in its words."""


def missing() -> str | None:
    """Why no browser can be driven here; None if one can."""
    if shutil.which("chromedriver") is None:
        return "no chromedriver here"
    return None if shutil.which("chromium") or shutil.which("google-chrome") else "no Chromium here"


class Browser:
    """One session; JavaScript and keys go in, values, messages of the console and pictures come out."""

    def __init__(self, driver: str, session: str, time: Time) -> None:
        self._url = f"{driver}/session/{session}"
        self._time = time

    def command(self, path: str, body: Any = None, method: str = "POST") -> Any:
        return _call(f"{self._url}/{path}", body, method)

    def open(self, url: str) -> None:
        self.command("url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """What the JavaScript returns."""
        return self.command("execute/sync", {"script": script, "args": list(arguments)})

    def run_later(self, script: str, *arguments: Any) -> Any:
        """The same for a script that calls its last argument."""
        return self.command("execute/async", {"script": script, "args": list(arguments)})

    def until(self, script: str, *arguments: Any, seconds: float = 10) -> Any:
        """The first true value of the script; AssertionError with the page's text after that long."""
        end = self._time.hi_res_clock_ms() + seconds * 1000
        while not (value := self.run(script, *arguments)):
            if self._time.hi_res_clock_ms() > end:
                raise AssertionError(f"not true in {seconds} s: {script}\n{self.run('return document.body.innerText')}")
            self._time.sleep(40)
        return value

    def press(self, *keys: str) -> None:
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.command("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, selector: str) -> None:
        found = self.command("element", {"using": "css selector", "value": selector})
        self.command(f"element/{found[_ELEMENT]}/click", {})

    def size(self, width: int, height: int) -> None:
        """The size of the page itself; Chromium's window does not go below 500."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, **features: str) -> None:
        """Media features, such as ``prefers_color_scheme="dark"``."""
        told = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.devtools("Emulation.setEmulatedMedia", {"features": told})

    def devtools(self, method: str, parameters: Any) -> Any:
        return self.command("goog/cdp/execute", {"cmd": method, "params": parameters})

    def picture(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self.command("screenshot", method="GET")))

    def console(self) -> list[str]:
        """Errors and warnings since the last call."""
        entries = self.command("se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]


def _call(url: str, body: Any = None, method: str = "POST") -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as e:
        told = json.load(e)["value"]
        raise WebDriverError(f"{told['error']}: {told['message']}") from e


def _until_ready(driver: str, process: subprocess.Popen[str], time: Time) -> None:
    end = time.hi_res_clock_ms() + 20_000
    while True:
        with contextlib.suppress(OSError):
            _call(f"{driver}/status", method="GET")
            return
        assert process.poll() is None, "chromedriver ended"
        assert time.hi_res_clock_ms() < end, "chromedriver does not answer"
        time.sleep(50)


@contextlib.contextmanager
def browser(home: pathlib.Path, time: Time = Time.SYSTEM) -> Iterator[Browser]:
    """Headless Chromium with a profile of its own; ended with the block."""
    arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--lang=en-US",
        "--force-color-profile=srgb",
        f"--user-data-dir={home}/profile",
    ]
    wanted = {
        "goog:chromeOptions": {"args": arguments},
        "goog:loggingPrefs": {"browser": "ALL"},
    }
    command = ["chromedriver", "--port=0"]
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            driver = f"http://127.0.0.1:{_port_of(process)}"
            _until_ready(driver, process, time)
            session = _call(f"{driver}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            yield Browser(driver, session, time)
            _call(f"{driver}/session/{session}", method="DELETE")
        finally:
            process.terminate()


def _port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        if "started successfully on port" in line:
            return int(line.rsplit(" ", 1)[1].rstrip(".\n"))
    raise AssertionError("chromedriver ended before it told its port")
