"""The live page in a browser, while frames cross: page.py URL NAMESPACE ADDRESS FOLDER [PICTURE]

URL is that of an I/O unit with one host, as the namespace of the caller reaches it; pings of ADDRESS from NAMESPACE cross the
unit. FOLDER is for the browser. PICTURE.png and PICTURE-narrow.png are made, of two minutes of traffic, if they are named.
"""
import base64
import json
import subprocess
import sys

from browser import Browser

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=document.title='taken'>"
# "12.3 k/s" of a line of a legend, as a number
FRAMES = """(() => {
  const line = [...document.querySelectorAll('.legend li')].map((li) => li.textContent).find((t) => t.startsWith('From the LAN') && t.endsWith('/s') && !t.endsWith('bit/s'));
  const found = /: ([0-9.]+) (k?)\\/s$/.exec(line ?? '');
  return found ? found[1] * (found[2] ? 1000 : 1) : -1;
})()"""
NARROW = 360


def check(what, is_true):
    if not is_true:
        raise AssertionError(what)
    print(what, flush=True)


def values_change(browser, url, namespace, address):
    browser.open(url)
    browser.wait("the page is live", "document.getElementById('connection')?.textContent === 'Live'")
    browser.wait("rates are known", f"{FRAMES} >= 0")
    before = browser.run("document.querySelector('#charts path').getAttribute('d')")
    pings = subprocess.Popen(["ip", "netns", "exec", namespace, "ping", "-q", "-i", "0.002", address], stdout=subprocess.DEVNULL)
    try:
        frames = browser.wait("the rate follows the traffic", f"{FRAMES} >= 50 && {FRAMES}")
        print(f"frames from the LAN: {frames:.0f} per second", flush=True)
        host = "[...document.querySelectorAll('#peers tbody th')].find((th) => th.textContent === 'hosta')?.parentNode"
        browser.wait("the rate of the host", f"/bit/.test({host}?.querySelector('[data-label=\"From the host\"]').textContent)"
                     f" && !/^0 /.test({host}.querySelector('[data-label=\"From the host\"]').textContent)")
        browser.wait("the state of the host", f"{host}.querySelector('[data-label=State]').textContent === 'up'")
        browser.wait("the round trip", f"/ (µs|ms)$/.test({host}.querySelector('[data-label=\"Round trip\"]').textContent)")
        browser.wait("the line of the chart", f"document.querySelector('#charts path').getAttribute('d') !== {json.dumps(before)}")
    finally:
        pings.kill()
        pings.wait()
    check("the log of the program is there", browser.run("document.getElementById('events').children.length") > 0)
    check("pools are there", browser.run("document.querySelectorAll('#pools meter').length") > 0)


def is_accessible(browser):
    for node in browser.call("Accessibility.getFullAXTree")["nodes"]:
        role, label = node.get("role", {}).get("value"), node.get("name", {}).get("value")
        if not node.get("ignored") and role in ("button", "link", "table", "log", "meter", "region", "columnheader", "heading"):
            if not label:
                raise AssertionError(f"a {role} has no name")
    check("every table has a caption", browser.run("[...document.querySelectorAll('table')].every((t) => t.caption?.textContent)"))
    check("the state of the connection is read out", browser.run("document.getElementById('connection').role") == "status")
    order = []
    for _ in range(3):
        browser.press("Tab", 9)
        order.append(browser.run("document.activeElement.id || document.activeElement.className"))
    check(f"focus goes to {', '.join(order)}", order == ["skip", "pause", "log"])
    browser.run("document.getElementById('pause').focus()")
    browser.press("Enter", 13)
    browser.wait("the page is paused", "document.getElementById('connection').textContent === 'Paused'")
    check("the button is pressed", browser.run("document.getElementById('pause').ariaPressed") == "true")
    browser.press("Enter", 13)
    browser.wait("the page is live again", "document.getElementById('connection').textContent === 'Live'")


def contrast(browser):
    """The smallest contrast of texts with the background behind them (WCAG 2, section 1.4.3)."""
    return browser.run("""(() => {
      const light = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
      const of = (css) => { const [r, g, b] = css.match(/[0-9.]+/g).map(Number); return 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b); };
      const back = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
      return Math.min(...[...document.querySelectorAll('main *, header *')].filter((e) => e.offsetParent && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
        .filter((e) => e.tagName !== 'BUTTON').map((e) => { const a = of(getComputedStyle(e).color), b = of(back(e)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));
    })()""")


def picture(browser, path):
    data = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
    with open(path, "wb") as file:
        file.write(base64.b64decode(data))


def looks(browser, prefix):
    browser.size(1100, 1000)
    backs = {}
    for scheme in ("dark", "light"):
        browser.scheme(scheme)
        backs[scheme] = browser.run("getComputedStyle(document.body).backgroundColor")
        ratio = contrast(browser)
        check(f"contrast in {scheme}: {ratio:.1f}", ratio >= 4.5)
    check("light and dark differ", backs["dark"] != backs["light"])
    if prefix:
        picture(browser, f"{prefix}.png")
    browser.size(NARROW, 800)
    width = browser.run("document.documentElement.scrollWidth")
    check(f"width at {NARROW} px: {width}", width <= NARROW)
    if prefix:
        browser.scheme("dark")
        picture(browser, f"{prefix}-narrow.png")
    browser.size(1100, 1000)


def replace_state(browser, state):
    """From now on the page reads this in place of what the program has."""
    body = base64.b64encode(json.dumps(state).encode()).decode()
    browser.intercept("*/state.json", lambda request: ("Fetch.fulfillRequest", {
        "requestId": request, "responseCode": 200, "body": body, "responseHeaders": [{"name": "Content-Type", "value": "application/json"}]}))


def other_roles_are_shown(browser):
    peer = {"name": "other", "address": "192.0.2.1:7471", "state": "up", "mode": "rdma", "mac": "", "port": 3, "lid": 7}
    for role, title, cells in (("host", "I/O units", ["192.0.2.1:7471", "up", "other", "", "1.5 ms"]),
                               ("switch", "Ports", ["other", "up", "192.0.2.1:7471", "3", "7", "–", "–"])):
        replace_state(browser, {"milliseconds": 1, "texts": {}, "events": [], "stats": {"tap.rx.bytes": 1, "switch.rx.cell": 1}, "show": {
            "role": role, "name": "x", "state": "up", "peers": [peer], "pools": [], "lan": [], "links": [],
            "channels": [{"peer": "other", "channel": 1, "round_trip_ns": 1500000}, {"peer": "other", "channel": 0, "round_trip_ns": 9000000}]}})
        browser.wait(f"the page of a {role}", f"document.getElementById('peers-title').textContent === '{title}'")
        shown = browser.run("[...document.querySelector('#peers tbody tr').cells].map((c) => c.textContent)")
        check(f"the page of a {role}: {shown}", shown == cells)
        browser.go_on()


def names_are_text(browser):
    """Each string of the JSON is hostile, but for those that the page compares."""
    state = json.loads(browser.run("fetch('state.json').then((r) => r.text())"))
    show = state["show"]
    show["name"] = show["state"] = HOSTILE
    for peer in show["peers"]:
        peer.update(name=HOSTILE, address=HOSTILE, state=HOSTILE, mac=HOSTILE)
    for lan in show["lan"]:
        lan.update(port=HOSTILE, link=HOSTILE, mac=HOSTILE)
    for pool in show["pools"]:
        pool.update(peer=HOSTILE, side=HOSTILE)
    state["stats"][f"lan.rx.drop.{HOSTILE}"] = 7
    state["stats"]["lan.rx.drop.__proto__"] = 7
    state["texts"][f"lan.rx.drop.{HOSTILE}"] = HOSTILE
    state["events"] = [{"number": 1 << 40, "milliseconds": 0, "event": "note", "about": HOSTILE, "level": HOSTILE, "text": HOSTILE}]
    replace_state(browser, state)
    shown = browser.wait("hostile names are shown", f"""(() => {{
      const text = {json.dumps(HOSTILE)}, places = ['#name', '#peers', '#lan', '#pools', '#drops', '#events'];
      return places.every((p) => document.querySelector(p).textContent.includes(text)) && places.length; }})()""")
    check(f"hostile names are text in {shown} places", browser.run("document.querySelectorAll('body script, body img').length") == 0)
    check("no script of a name has run", "taken" != browser.run("document.title"))
    browser.go_on()


def loss_is_shown(browser):
    browser.intercept("*/state.json", lambda request: ("Fetch.failRequest", {"requestId": request, "errorReason": "ConnectionRefused"}))
    browser.wait("the loss is shown", "document.getElementById('connection').textContent.startsWith('Connection lost at ')")
    browser.go_on()
    browser.wait("the return is shown", "document.getElementById('connection').textContent === 'Live'")
    check("both are in the log", browser.run("/reaches the program again.*does not reach/s.test(document.getElementById('events').textContent)"))
    # The browser reports what the test has caused.
    browser.errors[:] = [error for error in browser.errors if "ERR_CONNECTION_REFUSED" not in error]


def make_history(browser, namespace, address):
    """Two minutes of pings, for a picture."""
    for size, interval in ((1400, 0.002), (100, 0.004), (1400, 0.01), (700, 0.003), (1400, 0.002)):
        subprocess.run(["ip", "netns", "exec", namespace, "ping", "-q", "-w", "23", "-s", str(size), "-i", str(interval), address],
                       stdout=subprocess.DEVNULL, check=True)
    browser.run("document.activeElement.blur()")


def main(url, namespace, address, folder, prefix=None):
    browser = Browser(folder)
    try:
        values_change(browser, url, namespace, address)
        is_accessible(browser)
        if prefix:
            make_history(browser, namespace, address)
        looks(browser, prefix)
        check(f"no error of a script: {browser.errors}", not browser.errors)
        other_roles_are_shown(browser)
        names_are_text(browser)
        loss_is_shown(browser)
        check(f"no error later: {browser.errors}", not browser.errors)
    finally:
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
