"""Chromium, driven through its debugging pipe: what a person would do with a page, and what is then to be seen."""

import base64
import json
import os
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
KEYS = {"Enter": ("\r", 13), "Tab": ("", 9), "ArrowRight": ("", 39), "ArrowDown": ("", 40), "Escape": ("", 27)}


# With TREETEXT_BROWSER=required, tests fail where there is none.
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("TREETEXT_BROWSER") != "required",
    reason="no Chromium here; on Debian: apt-get install chromium",
)


class Browser:
    """One page; use it as a context manager."""

    def __init__(self, profile, width=1200, height=900):
        self.profile, self.size = profile, (width, height)
        self.number, self.events = 0, []

    def __enter__(self):
        assert CHROMIUM, "no Chromium here, and TREETEXT_BROWSER=required; on Debian: apt-get install chromium"
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()

        def pipes():  # which Chromium expects at 3, to read from, and at 4
            reader, writer = os.dup(read_there), os.dup(write_there)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--disable-background-networking", "--remote-debugging-pipe",
            f"--user-data-dir={self.profile}", f"--window-size={self.size[0]},{self.size[1]}", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [CHROMIUM, *options],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self.reader, self.writer, self.rest = read_here, write_here, b""
        self.session = None
        pages = self.call("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        session, self.session = self.session, None
        if session:
            self.call("Browser.close")
        self.process.wait(timeout=20)
        os.close(self.reader)
        os.close(self.writer)

    def call(self, method, **parameters):
        """Ask Chromium for something; the answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, address):
        """Go to a page, and wait until it is there."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def run(self, script):
        """The value of an expression in the page, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition):
        """Until a condition holds in the page."""
        poll = f"""new Promise((done, fail) => {{
            const late = Date.now() + 10000;
            const look = () => ({condition}) ? done(true) : Date.now() > late ? fail("too late") : setTimeout(look, 20);
            look();
        }})"""
        self.run(poll)

    def place(self, selector):
        """The middle of an element, scrolled into view."""
        # Twice, as what comes into view may be laid out only then.
        box = self.run(
            f"""(async () => {{
                const found = document.querySelector({json.dumps(selector)});
                for (let times = 0; times < 2; times += 1) {{
                    found.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
                    await new Promise((done) => setTimeout(done, 30));
                }}
                const box = found.getBoundingClientRect();
                return {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
            }})()"""
        )
        return {"x": box["x"], "y": box["y"]}

    def point(self, selector):
        """Move the mouse to an element."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **self.place(selector))

    def click(self, selector):
        """Click on an element."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **self.place(selector))

    def press(self, key):
        """Press a key."""
        text, code = KEYS[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=code)  # fmt: skip

    def choose(self, name, value):
        """Choose an option of a filter."""
        self.run(
            f"""(() => {{
                const field = document.querySelector('[name="{name}"]');
                field.value = {json.dumps(value)};
                field.dispatchEvent(new Event("input", {{bubbles: true}}));
            }})()"""
        )

    def text(self, selector):
        """What is to be read in an element."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText")

    def all(self, selector, what):
        """The same of all elements."""
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((found) => found.{what})")

    def count(self, selector):
        """How many elements there are."""
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def colours(self, scheme):
        """As for those who prefer light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path, whole=False):
        """A screenshot."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self):
        """The page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    @property
    def problems(self):
        """What the console of the page complained about, and requests for anything but the page itself."""
        found = []
        for event in self.events:
            method, about = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown" or (
                method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning")
            ):
                found.append(about)
            if method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(("file:", "data:")):
                found.append(about["request"]["url"])
        return found

    def _next(self):
        while b"\0" not in self.rest:
            piece = os.read(self.reader, 1 << 20)
            assert piece, "Chromium has gone"
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)
