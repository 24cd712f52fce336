#!/usr/bin/env python3
"""The specification as a PDF: `scripts/protocol-html --pdf` has every clause of docs/protocol, and its contents name the pages.

    protocol_pdf_test.py FILE    (the PDF to make)
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs/protocol"


def pages_of(pdf):
    """The text of each page; spaces and line breaks are one space."""
    found = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout
    return [" ".join(page.split()) for page in found.split("\f")[:-1]]


def clauses():
    """Each clause with the first words of its text, without what Markdown makes of them."""
    for page in FOLDER.glob("*.md"):
        for name, text in re.findall(r"^- \*\*(P-[A-Z]+-\d+)\.\*\* ([^`*\[_<\n]*)", page.read_text(), re.MULTILINE):
            yield name, " ".join(text.split()[:5])


def main():
    pdf = sys.argv[1]
    made = subprocess.run([sys.executable, "-B", str(ROOT / "scripts/protocol-html"), "--pdf", pdf], capture_output=True, text=True,
                          check=False)
    assert made.returncode == 0, made.stderr
    info = subprocess.run(["pdfinfo", pdf], capture_output=True, text=True, check=True).stdout
    pages = pages_of(pdf)
    assert f"Pages: {len(pages)}" in " ".join(info.split()) and len(pages) > 40, info
    assert "A4" in info and "The splitnic protocol" in info, info
    assert "The splitnic protocol" in pages[0] and "splitnic 0" in pages[0], pages[0]

    whole = " ".join(pages)
    wanted = list(clauses())
    assert len(wanted) > 300, len(wanted)
    missing = [name for name, text in wanted if f"{name}. {text}" not in whole]
    assert not missing, missing

    assert pages[1].startswith("Contents"), pages[1]
    lines = re.findall(r"(\d+\. .*?) (\d+)(?= \d+\. | 2$)", pages[1])
    assert len(lines) > 20, pages[1]
    for label, number in lines:
        page = pages[int(number) - 1]
        assert page.startswith(label), f"page {number} does not begin with {label}: {page[:80]}"
        assert page.endswith(f" {number}"), f"page {number} has no number: {page[-20:]}"

    refused = subprocess.run([sys.executable, "-B", str(ROOT / "scripts/protocol-html"), "--pdf", "/nonexistent/a.pdf"],
                             capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "cannot be written" in refused.stderr, refused.stderr
    print(f"{len(pages)} pages, {len(wanted)} clauses")


main()
