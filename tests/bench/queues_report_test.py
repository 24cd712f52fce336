#!/usr/bin/env python3
"""Shows what queues_report.py makes of results. All of them are made up."""
import os
import tempfile
import unittest

import queues_report


class Queues(unittest.TestCase):
    def test_the_page_has_each_number_in_order_and_its_gain(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "rounds"))
            for name, speed in (("1", 1000), ("2", 1500), ("10", 2000), ("vxlan", 4000)):
                for number in (1, 2, 3):
                    with open(os.path.join(folder, "rounds", f"{number}.{name}.results"), "w", encoding="ascii") as file:
                        for metric, _ in queues_report.STREAMS:
                            file.write(f"{metric} {speed * number}\n")
                        file.write("ping_us 50\n")
            with open(os.path.join(folder, "settings"), "w", encoding="ascii") as file:
                file.write("date 2026-01-02\nseconds 3\nload 0.50\n")
            text, picture = queues_report.page(folder)
        self.assertIsNone(picture)
        self.assertIn("3 rounds, runs of 3 s", text)
        self.assertIn("| 1 queue | 2000 (1000-3000) |", text)
        self.assertLess(text.index("| 2 queues | 3000 "), text.index("| 10 queues | 4000 "))
        self.assertIn("| 2 queues | 1.50 (1.50-1.50) |", text)
        self.assertIn("| kernel VXLAN | 4.00 (4.00-4.00) |", text)
        self.assertIn("| 10 queues | 50 (50-50) |", text)
        self.assertNotIn("CPU seconds per GB\n", text)


if __name__ == "__main__":
    unittest.main()
