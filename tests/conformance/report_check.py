#!/usr/bin/env python3
"""Checks a report of `splitnic conform`: report_check.py FILE.html FILE.json. The page is well formed, needs nothing outside of
it, every link in it leads somewhere, and it has the cases, clauses and state tables of the JSON. Where headless Chromium is
installed it has the same elements there. Exits with 1 if not."""
import html.parser
import json
import pathlib
import shutil
import subprocess
import sys

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    """Elements must nest; attributes with an address may lead into the page only."""

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.ids, self.links = [], [], [], []
        self.rows, self.heading, self.elements = {}, "", {}

    def handle_starttag(self, tag, attributes):
        self.note(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.note(tag, attributes)

    def note(self, tag, attributes):
        self.elements[tag] = self.elements.get(tag, 0) + 1
        names = [name for name, _ in attributes]
        if len(names) != len(set(names)):
            self.faults.append(f"<{tag}> has an attribute twice")
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
                if tag == "h2":
                    self.heading = value
            if name == "href" and value.startswith("#"):
                self.links.append(value[1:])
            elif name in ("src", "href", "srcset", "action", "data") or name.startswith("on"):
                self.faults.append(f"<{tag} {name}> is outside of the page")
        if tag in ("script", "iframe", "object", "link"):
            self.faults.append(f"<{tag}> does not belong into a report")
        if tag == "tr" and self.heading:
            self.rows[self.heading] = self.rows.get(self.heading, 0) + 1
        if tag == "svg":
            self.heading = ""

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]}, line {self.getpos()[0]}")
        else:
            self.open.pop()


def faults_of(text, page, found):
    page.feed(text)
    page.close()
    yield from page.faults
    if page.open:
        yield f"not closed: {page.open}"
    if not text.startswith("<!DOCTYPE html>"):
        yield "no document type"
    if "@import" in text or "url(" in text:
        yield "a style that is outside of the page"
    if len(page.ids) != len(set(page.ids)):
        yield "an id twice"
    for link in set(page.links) - set(page.ids):
        yield f"a link to #{link}, which is nowhere"
    for case in found["cases"]:
        if case["id"] not in page.ids:
            yield f"no section of {case['id']}"
        if case["id"] not in page.links:
            yield f"no clause has {case['id']}"
    if page.rows.get("clauses") != len(found["clauses"]) + 1:
        yield f"{page.rows.get('clauses')} rows of clauses"
    if found["states"] and page.rows.get("states") != len(found["states"]) + 1:
        yield f"{page.rows.get('states')} rows of state tables"
    if page.elements.get("svg", 0) < found["passed"]:
        yield "a case that passed without its diagram"


BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")


def faults_in_browser(path, page):
    """What Chromium makes of the page: elements that it had to move or to close show as other counts."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return
    dumped = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom",
         pathlib.Path(path).resolve().as_uri()], capture_output=True, text=True, timeout=60, check=False)
    if dumped.returncode != 0:
        yield f"{browser} ends with {dumped.returncode}: {dumped.stderr[-200:]}"
        return
    seen = Page()
    seen.feed(dumped.stdout)
    yield from seen.faults
    for tag, count in page.elements.items():
        if seen.elements.get(tag) != count:
            yield f"{count} of <{tag}> are {seen.elements.get(tag)} in the browser"
    if sorted(seen.ids) != sorted(page.ids):
        yield "other ids in the browser"


def main():
    page = Page()
    with open(sys.argv[1], encoding="utf-8") as report, open(sys.argv[2], encoding="utf-8") as data:
        faults = list(faults_of(report.read(), page, json.load(data)))
    faults += faults_in_browser(sys.argv[1], page)
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
