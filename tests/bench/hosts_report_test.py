#!/usr/bin/env python3
"""Shows what hosts.sh makes of results: readings, shares, what a host adds, goal, page and plot. All results are made up."""
import os
import pathlib
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree

import hosts_measure
import hosts_report
import line_plot
import measuring


def report_of(megabytes, seconds=1):
    return {"end": {"sum_received": {"bytes": megabytes * 1e6, "bits_per_second": megabytes * 8e6 / seconds}}}


class Readings(unittest.TestCase):
    def test_rates_are_added_and_cpu_is_per_gigabyte_of_all(self):
        found = hosts_measure.run_results("to_lan", [report_of(300), report_of(100)], 2.0)
        self.assertAlmostEqual(found["tcp_to_lan"], 3200)
        self.assertAlmostEqual(found["cpu_to_lan"], 5)
        self.assertAlmostEqual(found["first_to_lan"], 1.5)
        self.assertAlmostEqual(found["least_to_lan"], 0.5)

    def test_one_host_alone_has_no_shares(self):
        self.assertEqual(set(hosts_measure.run_results("to_host", [report_of(1)], 1.0)), {"tcp_to_host", "cpu_to_host"})

    def test_nothing_that_arrived_is_a_failure(self):
        with self.assertRaises(measuring.Failed):
            hosts_measure.run_results("to_lan", [report_of(0), report_of(0)], 1.0)

    def test_even_shares_are_1_and_a_host_that_has_all_is_one_of_n(self):
        self.assertEqual(hosts_measure.shares([5, 5, 5, 5]), (1, 1, 1, 1))
        self.assertEqual(hosts_measure.shares([8, 0, 0, 0]), (0.25, 0, 4, 4))

    def test_memory_is_the_pss_of_the_process(self):
        self.assertGreater(measuring.pss_mib(os.getpid()), 1)

    def test_data_threads_are_the_main_one_and_those_of_queues(self):
        alone = measuring.data_threads_seconds(os.getpid())
        self.assertGreater(alone, 0)
        ready, done = threading.Event(), threading.Event()

        def work(name):
            pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name, encoding="ascii")
            end = time.thread_time() + 0.2
            while time.thread_time() < end:
                pass
            ready.set()
            done.wait()
        for name, counts in (("network work", False), ("queue-1", True)):
            ready.clear()
            thread = threading.Thread(target=work, args=(name,))
            thread.start()
            ready.wait()
            more = measuring.data_threads_seconds(os.getpid()) - measuring.thread_seconds(os.getpid())
            done.set()
            thread.join()
            done.clear()
            self.assertEqual(more > 0.1, counts, name)


RESULTS = {
    "1.1": {"tcp_to_lan": 1000, "tcp_to_host": 1000, "cpu_to_lan": 1.5, "cpu_to_host": 2, "pss_idle_mib": 10, "pss_after_mib": 12},
    "2.1": {"tcp_to_lan": 2000, "tcp_to_host": 1000, "pss_idle_mib": 20, "pss_after_mib": 22},
    "3.1": {"tcp_to_lan": 1000, "tcp_to_host": 1000, "pss_idle_mib": 10, "pss_after_mib": 12},
    "1.64": {"tcp_to_lan": 750, "tcp_to_host": 950, "cpu_to_lan": 2.5, "cpu_to_host": 2, "pss_idle_mib": 73, "pss_after_mib": 12 + 63 * 25},
    "2.64": {"tcp_to_lan": 1600, "tcp_to_host": 950, "pss_idle_mib": 83, "pss_after_mib": 22 + 63 * 25,
             "jain_to_lan": 0.875},
}


class Page(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "rounds"))
            for name, results in RESULTS.items():
                self.write(os.path.join(folder, "rounds", f"{name}.results"), results)
            self.write(os.path.join(folder, "settings"), {"date": "2026-01-02", "seconds": 3, "load": "0.50"})
            self.text, self.picture = hosts_report.page(folder)

    @staticmethod
    def write(path, values):
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(f"{name} {value}\n" for name, value in values.items())

    def test_a_ratio_is_of_medians_and_what_a_host_adds_of_one_round(self):
        self.assertIn("| TCP to the LAN, 64 hosts to 1 | 1.18 (0.75-0.80) | >= 0.85 | >= 1.2 | met |", self.text)
        self.assertIn("| TCP to the hosts, 64 hosts to 1 | 0.95 (0.95-0.95) | >= 0.85 | >= 1.2 | met |", self.text)
        self.assertIn("| memory of each added host, idle, MiB | 1.00 (1.00-1.00) | <= 8 | <= 5 | met, and beyond |", self.text)
        self.assertIn("| memory of each added host, after traffic, MiB | 25.00 (25.00-25.00) | <= 8 | <= 5 | not met |",
                      self.text)

    def test_tables_are_by_number_and_leave_out_what_nobody_measured(self):
        self.assertIn("| 1 | 10.0 (10.0-20.0) | 12.0 (12.0-22.0) | - | - |", self.text)
        self.assertIn("| hosts | to the LAN: Jain's index |\n|---|---|\n| 64 | 0.875 |", self.text)
        self.assertNotIn("1 Gbit/s |", self.text)
        self.assertIn("2026-01-02 by `tests/bench/hosts.sh`: 3 rounds, runs of 3 s.", self.text)

    def test_the_plot_has_a_line_for_each_metric_inside_the_picture(self):
        root = xml.etree.ElementTree.fromstring(self.picture)
        space = "{http://www.w3.org/2000/svg}"
        lines = root.findall(f"{space}polyline")
        self.assertEqual(len(lines), 6)
        for line in lines:
            points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
            self.assertEqual([x for x, _ in points], [line_plot.LEFT, line_plot.WIDTH - line_plot.RIGHT])
            for _, y in points:
                self.assertTrue(0 < y < float(root.get("height")))
        throughput = [float(point.split(",")[1]) for point in lines[0].get("points").split()]
        self.assertLess(throughput[0], line_plot.HEIGHT - line_plot.BOTTOM, "1 Gbit/s is above the floor")

    def test_the_top_of_an_axis_is_a_round_number_that_all_fits_under(self):
        self.assertEqual([line_plot.nice_top(most) for most in (0.9, 1, 1.1, 2.2, 30, 99)], [1, 1, 2, 2.5, 50, 100])


if __name__ == "__main__":
    unittest.main()
