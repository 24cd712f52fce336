"""A headless Chromium, driven over the DevTools protocol on a pipe: no port, no other package."""
import json
import os
import subprocess
import time

PROGRAM = "chromium-headless-shell"


# Whether it is visible, how far it is, and when each file was there.
LOADED = """JSON.stringify([document.visibilityState, document.readyState,
  performance.getEntriesByType('resource').map((e) => [e.name, Math.round(e.responseEnd)])])"""


class Browser:
    """One page. Errors of scripts, of the console and of loading are in `errors`."""

    def __init__(self, folder):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # Bash gives the two ends the numbers that the protocol has for them.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "browser", PROGRAM, "--remote-debugging-pipe",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-features=Translate,MediaRouter", f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b"", 0, None
        self.errors, self.on_request = [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        self.send(number, method, parameters)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def send(self, number, method, parameters):
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.on_event(message.get("method"), message.get("params", {}))
        return message

    def on_event(self, method, event):
        if method == "Runtime.exceptionThrown":
            self.errors.append(event["exceptionDetails"].get("exception", {}).get("description") or str(event))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.errors.append(str(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{event['entry']['text']} {event['entry'].get('url', '')}")
        elif method == "Fetch.requestPaused":
            self.number += 1
            self.send(self.number, *self.on_request(event["requestId"]))

    def intercept(self, pattern, on_request):
        """From now on on_request(id) returns the method and parameters with which each such request ends."""
        self.on_request = on_request
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern}])

    def go_on(self):
        self.call("Fetch.disable")

    def open(self, url):
        self.call("Page.navigate", url=url)

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, what, expression, seconds=60):
        """Until the expression is true; returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {seconds} s; errors {self.errors}; the page, {self.run(LOADED)}:\n{self.run('document.body.innerText')}")
            time.sleep(0.05)

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
