"""A report of `splitnic conform` in headless Chromium: report_browser.py FILE.html [PICTURE], or faults_in_browser() of
report_check.py. The page has the elements of its text, and a reader who opens a case and one of its messages sees the decoded fields of the
bytes below them. The browser is required: scripts/install-deps.sh installs it."""
import base64
import json
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from browser import Browser, PROGRAM  # noqa: E402

WIDTH, NARROW = 1000, 400
# Elements by name, and all ids, as the browser has them.
ELEMENTS = """(() => {
  const counts = {};
  for (const e of document.querySelectorAll('*')) counts[e.localName] = (counts[e.localName] ?? 0) + 1;
  return {counts, ids: [...document.querySelectorAll('[id]')].map((e) => e.id)};
})()"""
# A flit begins with its type and lane, a control byte, and its size in the third and fourth byte.
FLIT = re.compile(r"(?:DATA|INIT|IDLE) vl \d+ ctl ([0-9a-f]{2}) size (\d+) .*")


def is_visible(browser, element):
    return browser.run(f"{element}.checkVisibility() && {element}.getBoundingClientRect().height > 0")


def click(browser, element):
    """With the mouse, in the middle of the element."""
    browser.run(f"{element}.scrollIntoView({{block: 'center'}})")
    x, y = browser.run(f"(() => {{ const r = {element}.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()")
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def faults_of_messages(browser, case):
    """Opens the case and each of its messages."""
    if is_visible(browser, f"{case}.querySelector('svg')"):
        yield "a case is open before anybody has opened it"
    click(browser, f"{case}.querySelector('summary')")
    if not is_visible(browser, f"{case}.querySelector('svg')"):
        yield "a click on a case shows no diagram"
    labels = browser.run(f"[...{case}.querySelectorAll(':scope > details > summary')].map((s) => s.textContent)")
    if not labels:
        yield "a case without messages"
    flits = 0
    for number, label in enumerate(labels):
        message = f"{case}.querySelectorAll('details')[{number}]"
        if is_visible(browser, f"{message}.querySelector('pre')"):
            yield f"the message '{label}' is open before anybody has opened it"
        click(browser, f"{message}.querySelector('summary')")
        if not is_visible(browser, f"{message}.querySelector('pre')"):
            yield f"a click on the message '{label}' shows nothing"
        lines = browser.run(f"{message}.querySelector('pre').innerText").splitlines()
        data = bytes.fromhex("".join(line for line in lines if re.fullmatch(r"([0-9a-f]{8} ?)*[0-9a-f]{2,8}", line)))
        if f" {len(data)} bytes" not in label:
            yield f"the message '{label}' has {len(data)} bytes"
        fields = FLIT.fullmatch(lines[0])
        if fields:
            flits += 1
            if fields[1] != f"{data[1]:02x}" or int(fields[2]) != int.from_bytes(data[2:4], "big"):
                yield f"the fields '{lines[0][:60]}' are not those of {data[:4].hex()}"
            is_whole = "part of a cell" not in label  # the fields are those of a whole one
            if is_whole and lines[0].split()[0] not in ("INIT", "IDLE") and lines[0].count("|") == 0:
                yield f"the message '{label}' has no fields of its cell"
    if not flits:
        yield "no message of the case has the fields of a flit"


def faults_of_clauses(browser):
    """On a narrow page too, each id of the table of clauses is on one line."""
    browser.size(NARROW, 620)
    broken = browser.run("""[...document.querySelectorAll('#clauses + table :is(td:first-child, a)')].filter((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      return range.getClientRects().length > 1;
    }).map((e) => e.textContent)""")
    yield from (f"the id {text} is on several lines" for text in broken)
    browser.size(WIDTH, 620)


def first_passed(browser):
    """The element of the first case that passed and has a cell in its messages."""
    found = browser.run("""[...document.querySelectorAll('body > details[id]')].find((e) => e.querySelector('summary .PASS')
      && [...e.querySelectorAll('pre')].some((p) => p.textContent.startsWith('DATA vl')))?.id""")
    return f"document.getElementById({json.dumps(found)})" if found else None


def faults_in_browser(path, page, pictures=None):
    """`page`: the elements and ids of the text, if they are to be compared: those that a browser moves or closes have other counts."""
    if shutil.which(PROGRAM) is None:
        yield f"{PROGRAM} is not installed, so the page is not checked: run scripts/install-deps.sh"
        return
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        try:
            browser.open(pathlib.Path(path).resolve().as_uri())
            browser.wait("the page is loaded", "document.readyState === 'complete' && document.title.startsWith('Conformance of ')", 60)
            if page:
                seen = browser.run(ELEMENTS)
                for tag in sorted(set(page.elements) | set(seen["counts"])):
                    if seen["counts"].get(tag) != page.elements.get(tag):
                        yield f"{page.elements.get(tag)} of <{tag}> are {seen['counts'].get(tag)} in the browser"
                if sorted(seen["ids"]) != sorted(page.ids):
                    yield "other ids in the browser"
            yield from faults_of_clauses(browser)
            case = first_passed(browser)
            if case:
                yield from faults_of_messages(browser, case)
            else:
                yield "no case that passed has a cell"
            yield from browser.errors
            if pictures:
                take_pictures(browser, pictures)
        finally:
            browser.close()


def save(browser, path):
    data = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
    pathlib.Path(path).write_bytes(base64.b64decode(data))


def take_pictures(browser, prefix, case="cm.serves_before_rtu", message="CfgUtilReply ECHO"):
    """PREFIX.png: the begin of the page. PREFIX-case.png: an open case, with a message of it."""
    browser.call("Emulation.setScrollbarsHidden", hidden=True)
    browser.scheme("light")
    browser.size(WIDTH, 620)
    browser.run("document.querySelectorAll('details[open]').forEach((d) => d.open = false)")
    browser.run("window.scrollTo(0, 0)")
    save(browser, f"{prefix}.png")
    element = f"document.getElementById({json.dumps(case)})"
    browser.run(f"{element}.open = true")
    browser.run(f"[...{element}.querySelectorAll('details')].find((d) => d.textContent.includes({json.dumps(message)})).open = true")
    browser.size(WIDTH, int(browser.run(f"{element}.getBoundingClientRect().height")) + 1)
    browser.run(f"{element}.scrollIntoView()")
    save(browser, f"{prefix}-case.png")


if __name__ == "__main__":
    found = list(faults_in_browser(sys.argv[1], None, *sys.argv[2:]))
    sys.exit("\n".join(found) if found else 0)
