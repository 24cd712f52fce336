#!/usr/bin/env python3
"""Shows what profile_page.py and sizes.py make of samples and results. All of them are made up."""
import contextlib
import io
import os
import tempfile
import unittest
import xml.etree.ElementTree

import profile_page
import sizes

SAMPLES = """queue-1  41 
\tffff _copy_to_iter
\tffff ksys_read
\tffff do_syscall_64
\t55aa splitnic::lan::TapPort::read

network work  41 
\t55aa crc32_iscsi_by16_10
\t55aa splitnic::fabric::Requester::emit

swapper     0 
\tffff pv_native_safe_halt

network work  41 
\tffff handle_softirqs
\tffff asm_sysvec_apic_timer_interrupt
\t55aa splitnic::fabric::Requester::emit
"""


class Profile(unittest.TestCase):
    def test_a_sample_counts_for_what_it_entered_the_kernel_for(self):
        found = profile_page.read_samples(SAMPLES.splitlines(), {41: "splitnic-host"})
        self.assertEqual(found["splitnic-host"],
                         {("read", "copies"): 1, ("own code", "CRC of cells"): 1, ("interrupts", "rest"): 1})
        self.assertEqual(found["swapper"], {("other", "rest"): 1})

    def test_the_crc_of_a_header_counts_too(self):
        for symbol in ("splitnic::base::Crc32c::extend", "splitnic::base::(anonymous namespace)::extend_short", "crc32_iscsi_01"):
            self.assertEqual(profile_page.kind_of([symbol, "splitnic::fabric::emit_cell"]), ("own code", "CRC of cells"))

    def test_shares_of_a_frame_add_up_to_all_processors(self):
        rows = profile_page.table(profile_page.read_samples(SAMPLES.splitlines(), {41: "splitnic-host"}), 100)
        self.assertIn("| **`splitnic-host`** | all | **75.00** | | |", rows)
        self.assertIn("| | read from the TAP | 25.00 | 25.00 | 0.00 |", rows)
        self.assertIn("| | own code | 25.00 | 0.00 | 25.00 |", rows)
        self.assertIn("| **idle** | all | **25.00** | | |", rows)


class Sizes(unittest.TestCase):
    def test_the_page_has_medians_and_the_goal(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, factor in ((1, 1.0), (2, 3.0), (3, 2.0)):
                for carrier, _ in sizes.CARRIERS:
                    with open(os.path.join(folder, f"{number}.{carrier}.sizes"), "w", encoding="ascii") as file:
                        for metric, _, lengths, _ in sizes.RESULTS:
                            file.writelines(f"{metric} {one} {factor}\n" for one in lengths)
                        file.write(f"load 1000 {40 * factor}\nload 10000 {20 if number == 3 else 10}\nload 50000 5\n")
            with open(os.path.join(folder, "settings"), "w", encoding="ascii") as file:
                file.write("date 2026-01-02\nseconds 1\nload 0.50\n")
            with contextlib.redirect_stdout(io.StringIO()):
                sizes.report(folder, folder)
            with open(os.path.join(folder, "sizes.md"), encoding="utf-8") as file:
                page = file.read()
            self.assertIn("| 64 | 2.00 (1.00-3.00) | 2.00 (1.00-3.00) | 2.00 (1.00-3.00) |", page)
            self.assertIn("UDP fabric: cost of a frame at 10,000 per second to that at 1,000, each less the cost of the idle programs: "
                          "0.12 (0.08-0.25), wanted <= 1.0: met.", page)
            self.assertIn("2026-01-02 by `tests/bench/sizes.sh`: 3 rounds, runs of 1 s, all variants in turn.", page)
            tree = xml.etree.ElementTree.parse(os.path.join(folder, "sizes.svg"))
            self.assertEqual(len(tree.findall(".//{http://www.w3.org/2000/svg}polyline")),
                             len(sizes.RESULTS) * len(sizes.CARRIERS))


if __name__ == "__main__":
    unittest.main()
