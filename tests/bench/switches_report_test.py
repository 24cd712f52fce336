#!/usr/bin/env python3
"""Shows what switches.sh makes of what it measures: readings, goals and page. All results are made up."""
import os
import tempfile
import unittest
from collections import defaultdict

import measuring
import switches_measure
import switches_report


def made(**variants):
    """variant=(metric, values of the rounds from 1 on), `_` for `-` in its name."""
    results = defaultdict(lambda: defaultdict(dict))
    for name, (metric, values) in variants.items():
        results[name.replace("_", "-")][metric] = dict(enumerate(values, 1))
    return results


def goal(words):
    return next(one for one in switches_report.GOALS if words in one.what)


class Readings(unittest.TestCase):
    TEXT = "sent_per_s 300\narrived_per_s 200\nlost_percent 33.30\narrived 1000\n"

    def test_processor_time_is_per_cell_that_arrived(self):
        self.assertEqual(switches_measure.forward_results("fast", self.TEXT, 0.5, 2.0),
                         {"fast_per_s": 200, "fast_sent_per_s": 300, "fast_lost": 33.3, "fast_busy_us": 2000, "fast_cpu_us": 500})

    def test_a_forwarder_without_a_process_has_no_processor_time(self):
        self.assertNotIn("fast_cpu_us", switches_measure.forward_results("fast", self.TEXT, None, 2.0))

    def test_nothing_that_arrived_is_a_failure(self):
        with self.assertRaises(measuring.Failed):
            switches_measure.forward_results("fast", self.TEXT.replace("arrived 1000", "arrived 0"), 0.5, 2.0)

    def test_processor_time_of_a_process_whose_name_has_blanks_and_brackets(self):
        tick = os.sysconf("SC_CLK_TCK")
        stat = "77 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 30 12 999 999 20 0 1"
        self.assertEqual(switches_measure.process_seconds(stat), 42 / tick)

    def test_replies_are_lines_with_a_time(self):
        replies = [("64 bytes from 10.77.0.2: icmp_seq=1 ttl=64 time=0.1 ms\n", 100.5),
                   ("From 10.77.0.1 icmp_seq=2 Destination Host Unreachable\n", 100.7),
                   ("64 bytes from 10.77.0.2: icmp_seq=3 ttl=64 time=0.2 ms\n", 101.0), ("64 bytes from 10", 101.1)]
        text = "PING 10.77.0.2\n" + "".join(f"[{at}] {line}" for line, at in replies)
        self.assertEqual(switches_measure.reply_times(text), [100.5, 101.0])

    def test_a_gap_counts_if_it_ends_after_the_kill(self):
        times = [1.0, 1.9, 2.0, 2.3, 2.35]
        self.assertAlmostEqual(switches_measure.longest_gap_ms(times, 2.1), 300)
        self.assertAlmostEqual(switches_measure.longest_gap_ms(times, 1.5), 900)
        with self.assertRaises(measuring.Failed):
            switches_measure.longest_gap_ms(times, 3.0)


class Goals(unittest.TestCase):
    def test_a_ratio_at_its_limit(self):
        for value, result in ((65, "met"), (64.9, "**not met**")):
            line = switches_report.goal_line(goal("to the LAN: one hop"), made(direct=("tcp_to_lan_1", [100]), hop=("tcp_to_lan_1", [value])))
            self.assertEqual(line[-1], result)

    def test_a_difference_is_of_medians_and_its_range_of_rounds(self):
        results = made(direct_busy=("ping_us", [10, 20, 12]), hop_busy=("ping_us", [24, 25, 20]))
        self.assertEqual(switches_report.goal_line(goal("ping, spinning"), results)[1:],
                         ["<= 12 us", "12 us", "5 to 14", "met"])
        results["hop-busy"]["ping_us"][1] = 25
        self.assertEqual(switches_report.goal_line(goal("ping, spinning"), results)[-1], "**not met**")

    def test_rounds_are_paired_by_number(self):
        self.assertEqual(switches_report.difference({2: 5, 3: 9}, {1: 100, 2: 1, 3: 1})[1:], (4, 8))
        self.assertIsNone(switches_report.difference({1: 5}, {2: 1}))

    def test_the_better_bridge_counts(self):
        results = made(cells=("best_per_s", [300]), bridge=("best_per_s", [100]), bridge_2=("best_per_s", [200]))
        self.assertEqual(switches_report.goal_line(goal("bridge"), results)[1:], [">= 1.5", "1.50", "1.50 to 1.50", "met"])
        del results["bridge-2"]
        self.assertEqual(switches_report.goal_line(goal("bridge"), results)[2], "3.00")

    def test_a_goal_without_its_comparator_is_not_measured(self):
        line = switches_report.goal_line(goal("Open vSwitch"), made(cells=("best_per_s", [300])))
        self.assertEqual(line[1:], [">= 2", "-", "-", "not measured"])

    def test_of_failovers_median_and_longest_of_all_kills(self):
        results = made(all_paths=("gap_1_ms", [30, 40]))
        results["all-paths"]["gap_2_ms"] = {1: 50, 2: 250}
        median, longest = switches_report.gap_lines(results)
        self.assertEqual(median[1:], ["<= 200 ms", "45 ms", "30 to 250", "met"])
        self.assertEqual(longest[1:], ["<= 200 ms", "250 ms", "30 to 250", "**not met**"])
        self.assertEqual([line[-1] for line in switches_report.gap_lines(made())], ["not measured"] * 2)

    def test_each_variant_of_a_goal_has_a_title(self):
        titles = dict((*switches_report.HOPS, *switches_report.FORWARDERS, *switches_report.PATHS,
                       *switches_report.TRIPS_OF_CELLS))
        for one in switches_report.GOALS:
            for variant in (one.variant, *one.others):
                self.assertIn(variant, titles)


class Page(unittest.TestCase):
    def page_of(self, settings, **variants):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "rounds"))
            for name, lines in variants.items():
                for number in (1, 2, 3):
                    with open(os.path.join(folder, "rounds", f"{number}.{name.replace('_', '-')}.results"), "w", encoding="ascii") as file:
                        file.writelines(f"{metric} {value * number}\n" for metric, value in lines.items())
            with open(os.path.join(folder, "settings"), "w", encoding="ascii") as file:
                file.write("date 2026-01-02\nseconds 3\nload 0.50\n" + settings)
            text, picture = switches_report.page(folder)
        self.assertIsNone(picture)
        return text

    def test_a_run_of_all_parts(self):
        tcp = {name: 1000 for name, _, _ in switches_report.TCP} | {"cpu_to_lan_1": 1, "cpu_to_host_1": 1}
        text = self.page_of(
            "rate 200 Mbit/s\npeers iperf3 3.12, ovs-vswitchd 3.1.0\n", direct=tcp | {"ping_us": 50, "rtt_p50_us": 60}, direct_busy={"ping_us": 20},
            hop={name: value * 0.7 for name, value in tcp.items()} | {"ping_us": 80, "rtt_p50_us": 90}, hop_busy={"ping_us": 30},
            trip_direct={"trip_p50_us": 2, "trip_p99_us": 3, "trips": 100, "trips_lost": 0}, trip={"trip_p50_us": 7, "trips_lost": 0},
            bridge={"best_per_s": 500, "fast_per_s": 500, "fast_lost": 0, "window_per_s": 400}, ovs={"best_per_s": 200, "fast_per_s": 200},
            cells={"best_per_s": 600, "fast_per_s": 500, "fast_lost": 10, "fast_cpu_us": 0.5, "window_per_s": 600},
            one_path=tcp, two_paths={name: value * 1.8 for name, value in tcp.items()},
            all_paths={"gap_1_ms": 20, "gap_2_ms": 30}, pair={"gap_1_ms": 600, "gap_2_ms": 610})
        self.assertIn("by `tests/bench/switches.sh`: 3 rounds, runs of 3 s", text)
        self.assertIn("ovs-vswitchd 3.1.0", text)
        for line in ("| TCP to the LAN: one hop / direct | >= 0.65 | 0.70 | 0.70 to 0.70 | met |",
                     "| ping, spinning: one hop - direct | <= 12 us | 20 us | 10 to 30 | **not met** |",
                     "| TCP round trip p50, spinning: one hop - direct | <= 12 us | - | - | not measured |",
                     "| round trip of a cell, spinning: one hop - direct | <= 12 us | 10 us | 5 to 15 | met |",
                     "| cells of 64 bytes per second / frames by the kernel's bridge | >= 1.5 | 1.20 | 1.20 to 1.20 | **not met** |",
                     "| cells of 64 bytes per second / frames by Open vSwitch | >= 2 | 3.00 | 3.00 to 3.00 | met |",
                     "| TCP to the host, 1 stream: two paths / one | >= 1.6 | 1.80 | 1.80 to 1.80 | met |",
                     "| speed profile | 0.70 (0.70-0.70) | 0.70 (0.70-0.70) | 60 (30 to 90) | 60 (30 to 90) |",
                     "| spinning | - | - | 20 (10 to 30) | - |",
                     "| two spines, `path=all` | 6 | 50 (20-90) |",
                     "| two switches as a redundant pair, one path at a time | 6 | 1210 (600-1830) |"):
            self.assertIn(line + "\n", text)
        self.assertIn("## Two paths of 200 Mbit/s each", text)
        self.assertIn("at most 200 Mbit/s (tc tbf)", text)
        self.assertIn("| two paths / one | 1.80 (1.80-1.80) |", text)
        self.assertLess(text.index("## Goals"), text.index("## One hop"))
        self.assertNotIn("Not installed", text)

    def test_a_run_of_one_part_without_open_vswitch(self):
        text = self.page_of("skipped Open vSwitch\n", bridge={"best_per_s": 500, "window_per_s": 500},
                            cells={"best_per_s": 900, "window_per_s": 900})
        self.assertIn("Not installed, so not measured: Open vSwitch.", text)
        self.assertIn("| cells of 64 bytes per second / frames by Open vSwitch | >= 2 | - | - | not measured |", text)
        self.assertIn("| kernel bridge | 1000 (500-1500) |", text)
        for heading in ("## One hop", "## Two paths", "## Failover", "## 64 bytes, as fast"):
            self.assertNotIn(heading, text)


if __name__ == "__main__":
    unittest.main()
