#!/usr/bin/env python3
"""Checks a report of `splitnic conform`: report_check.py FILE.html FILE.json [PICTURE]. The page is well formed, needs nothing outside of
it, every link in it leads somewhere, and it has the cases, clauses and state tables of the JSON. In headless Chromium it has the same
elements, and shows what it should (report_browser.py). Exits with 1 if not, or if there is no Chromium. PICTURE.png and
PICTURE-case.png are made if they are named."""
import html.parser
import json
import sys

from report_browser import faults_in_browser

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


def main():
    page = Page()
    with open(sys.argv[1], encoding="utf-8") as report, open(sys.argv[2], encoding="utf-8") as data:
        faults = list(faults_of(report.read(), page, json.load(data)))
    faults += faults_in_browser(sys.argv[1], page, *sys.argv[3:])
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
