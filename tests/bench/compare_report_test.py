#!/usr/bin/env python3
"""Shows what compare.sh makes of results: readings, medians, ratios, goals, page and plot. All results are made up."""
import os
import tempfile
import unittest
import xml.etree.ElementTree

import compare_goals
import compare_measure
import compare_plot
import compare_report
import measuring
import report_page


def by_round(*values):
    return dict(enumerate(values, 1))


def goal(name, metric):
    return next(one for one in compare_goals.GOALS if (one.name, one.metric) == (name, metric))


class Readings(unittest.TestCase):
    def test_tcp_is_what_arrived_and_cpu_is_per_gigabyte_of_it(self):
        report = {"end": {"sum_sent": {"bytes": 9e9, "bits_per_second": 9e9, "retransmits": 17},
                          "sum_received": {"bytes": 2e9, "bits_per_second": 4e9}}}
        self.assertEqual(compare_measure.tcp_results("to_lan_1", report, 5.0),
                         {"tcp_to_lan_1": 4000, "cpu_to_lan_1": 2.5, "retransmits_to_lan_1": 17})

    def test_nothing_that_arrived_is_a_failure(self):
        end = {"sum_sent": {"retransmits": 0}, "sum_received": {"bytes": 0, "bits_per_second": 0}}
        with self.assertRaises(measuring.Failed):
            compare_measure.tcp_results("to_lan_1", {"end": end}, 1.0)

    def test_busy_is_neither_idle_nor_iowait_nor_stolen(self):
        tick = os.sysconf("SC_CLK_TCK")
        self.assertEqual(measuring.busy_seconds("cpu  1 2 4 1000 2000 8 16 4000 0 0\ncpu0 9 9"), 31 / tick)

    def test_udp_counts_are_found_by_name(self):
        snmp = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 70 5 3\nUdpLite: InDatagrams\nUdpLite: 0\n"
        self.assertEqual(measuring.udp_counts(snmp), {"InDatagrams": 70, "NoPorts": 5, "RcvbufErrors": 3})

    def test_ping_is_the_average(self):
        text = "200 packets transmitted\nrtt min/avg/max/mdev = 0.010/0.025/0.900/0.100 ms\n"
        self.assertAlmostEqual(compare_measure.ping_average_us(text), 25)
        with self.assertRaises(measuring.Failed):
            compare_measure.ping_average_us("100% packet loss")

    def test_drops_of_interfaces_are_drops_and_errors_each_way(self):
        links = [{"ifname": "lo", "stats64": {way: {"dropped": 9, "errors": 9} for way in ("rx", "tx")}},
                 {"ifname": "fab0", "stats64": {"rx": {"dropped": 2, "errors": 1}, "tx": {"dropped": 4, "errors": 0}}}]
        self.assertEqual(compare_measure.drops_of_links("iou", links), {"iou.fab0.rx": 3, "iou.fab0.tx": 4})

    def test_drops_of_packet_sockets_are_summed(self):
        self.assertEqual(compare_measure.drops_of_sockets(
            "p_raw skmem:(r0,rb83,t0,f0,w0,o0,bl0,d12)\np_raw skmem:(r0,rb2,t0,f0,w0,o8,bl0,d3)\n"), 15)

    def test_drops_of_a_host_are_not_counted_twice(self):
        stats = {"lan.rx.frames": 1, "lan.rx.drop.host_full": 2, "host.a.lan.rx.drop.host_full": 2, "host.tx.drop.too_long": 3}
        self.assertEqual(compare_measure.drops_of_stats("iou", stats), {"iou.splitnic:lan.rx.drop.host_full": 2})
        self.assertIn("host.splitnic:host.tx.drop.too_long", compare_measure.drops_of_stats("host", stats))

    def test_what_was_lost_or_retransmitted_counts_like_a_drop(self):
        stats = dict.fromkeys(("fabric.rc.retransmit", "fabric.rc.timeout", "fabric.stream.tx.retransmit", "host.tx.lost",
                               "fabric.uc.lost", "tap.rx.drop.kernel", "host.tx.frames", "pool.flush_timeout"), 1)
        self.assertEqual([hop.split(":")[1] for hop in compare_measure.drops_of_stats("host", stats)], list(stats)[:6])
        self.assertEqual(compare_measure.drops_of_stats("iou", {"iou.to_host.lost": 2, "host.a.iou.to_host.lost": 2}),
                         {"iou.splitnic:iou.to_host.lost": 2})

    def test_only_what_changed_is_a_drop_of_the_run(self):
        self.assertEqual(compare_measure.differences("tcp", {"a": 5, "b": 1}, {"a": 5, "b": 4, "new": 2}),
                         {"drop.tcp.b": 3, "drop.tcp.new": 2})


class Goals(unittest.TestCase):
    def test_ratio_is_of_medians_and_its_range_of_rounds(self):
        results = {"splitnic-packet": {"udp64_pps": by_round(80, 90, 40)}, "vxlan": {"udp64_pps": by_round(100, 50, 80)}}
        self.assertEqual(compare_report.evaluate(goal("V4", "udp64_pps"), results), ("vxlan", 1.0, 0.5, 1.8))

    def test_rounds_are_paired_by_number(self):
        results = {"splitnic-packet": {"udp64_pps": {2: 80, 3: 90}}, "vxlan": {"udp64_pps": {1: 1, 2: 100, 3: 100}}}
        self.assertEqual(compare_report.evaluate(goal("V4", "udp64_pps"), results)[2:], (0.8, 0.9))

    def test_the_better_comparator_counts(self):
        results = {"splitnic-pcap": {"tcp_to_lan_1": by_round(4000)}, "openvpn": {"tcp_to_lan_1": by_round(400)},
                   "openvpn-9000": {"tcp_to_lan_1": by_round(800)}}
        self.assertEqual(compare_report.evaluate(goal("V3", "tcp_to_lan_1"), results)[:2], ("openvpn-9000", 5))

    def test_the_better_comparator_is_the_lower_where_less_is_better(self):
        either = compare_goals.Goal("V0", "", "ping_us", "splitnic-packet", ("openvpn", "socat"), 1, 0.5, True)
        results = {"splitnic-packet": {"ping_us": by_round(100)}, "openvpn": {"ping_us": by_round(200)},
                   "socat": {"ping_us": by_round(400)}}
        self.assertEqual(compare_report.evaluate(either, results)[:2], ("openvpn", 0.5))

    def test_a_missing_comparator_leaves_the_goal_open(self):
        results = {"splitnic-pcap": {"tcp_to_lan_1": by_round(4000)}, "openvpn": {"tcp_to_lan_1": by_round(400)}}
        self.assertIsNone(compare_report.evaluate(goal("V3", "tcp_to_lan_1"), results))

    def test_a_goal_that_was_measured_in_part_is_reported(self):
        lines = compare_report.goal_table({"splitnic-packet": {"udp64_pps": by_round(80)}, "vxlan": {}})
        self.assertEqual(lines[2:], [
            f"| {name} | UDP frames of 64 bytes | {carriers} | - | - | - | - | - | not measured |"
            for name, carriers in (("V4", "splitnic-packet / vxlan"), ("K3", "splitnic-keyed / splitnic-packet"))])

    def test_results_at_the_limits(self):
        for ratio, words in ((0.6999, "not met"), (0.7, "met"), (0.9999, "met"), (1.0, "met, and beyond")):
            self.assertEqual(report_page.marks(ratio, 0.7, 1.0), [">= 0.7", ">= 1", words], ratio)
        for ratio, words in ((0.9001, "not met"), (0.9, "met"), (0.7, "met, and beyond")):
            self.assertEqual(report_page.marks(ratio, 0.9, 0.7, less_is_better=True), ["<= 0.9", "<= 0.7", words], ratio)
        self.assertEqual(report_page.marks(9.0, None, None), ["-", "-", "-"])

    def test_what_a_goal_needs(self):
        self.assertEqual(compare_goals.needs(["V4"]), (["splitnic-packet", "vxlan"], ["udp64"]))
        self.assertEqual(compare_goals.needs(["V3", "V5"]),
                         (["splitnic-pcap", "openvpn", "openvpn-9000", "splitnic-packet", "vxlan"], ["tcp1", "tcp4", "rtt"]))
        self.assertEqual(compare_goals.needs(["V13"]), (["splitnic-packet", "vxlan"], ["tcp1", "tcp4"]))

    def test_a_goal_of_another_script_names_that_script(self):
        for name, script in (("V7", "fabric.sh --compare"), ("V12", "fabric.sh --compare"), ("V14", "hosts.sh"),
                             ("V15", "sizes.sh")):
            with self.assertRaisesRegex(SystemExit, f"{name} is measured by tests/bench/{script}"):
                compare_goals.check(["V4", name])
        with self.assertRaisesRegex(SystemExit, "no goal V99; here are: V1 V2 V3 V4 V5 V6 V13 K1 K2 K3 K4"):
            compare_goals.check(["V99"])
        compare_goals.check(["V4", "V13"])

    def test_every_carrier_of_a_goal_has_a_title(self):
        for one in compare_goals.GOALS:
            for carrier in (one.carrier, *one.others):
                self.assertIn(carrier, compare_report.TITLES)


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(os.path.join(self.folder.name, "rounds"))
        self.write("settings", "rounds 3\nseconds 2\ndate 2000-01-01\nload 7.25\nversion splitnic 9.9\ncongestion bbr\npeers iperf3 3.12, openvpn 2.6\n")
        for number, ours in enumerate((70, 80, 10), 1):
            self.write(f"rounds/{number}.splitnic-packet.results", f"udp64_pps {ours}\n")
            self.write(f"rounds/{number}.vxlan.results",
                       "udp64_pps 100\n" + ("drop.udp.lan.udp_socket 6\n" if number == 2 else ""))

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as out:
            out.write(text)

    def page(self):
        return compare_report.page(self.folder.name)[0]

    def test_medians_with_least_and_greatest(self):
        self.assertIn("| splitnic, `packet:` port | 70 (10-80) |", self.page())
        self.assertIn("| V4 | UDP frames of 64 bytes | splitnic-packet / vxlan | 0.70 | 0.10 | 0.80 | >= 1.2 | >= 1.5 | not met |",
                      self.page())

    def test_how_it_was_measured(self):
        self.assertIn("Measured on 2000-01-01 by `tests/bench/compare.sh`: 3 rounds, runs of 2 s", self.page())
        self.assertIn("Load average before it began: 7.25.", self.page())
        self.assertIn("Congestion control of the system: bbr. Compared with or by: iperf3 3.12, openvpn 2.6.", self.page())
        self.assertNotIn("Fewer rounds", self.page())

    def test_a_round_without_drops_counts_as_none(self):
        self.assertIn("| kernel VXLAN and bridge | UDP | `lan.udp_socket` | 0 (0-6) |", self.page())

    def test_cells_of_the_fabric_stand_next_to_segments(self):
        for number, again in ((1, 5), (2, 0), (3, 9)):
            cells = f"drop.tcp.host.splitnic:fabric.rc.retransmit {again}\n" if again else ""
            self.write(f"rounds/{number}.splitnic-packet.results", f"tcp_to_lan_1 80\nretransmits_to_lan_1 2\n{cells}")
        self.write("rounds/1.vxlan.results", "tcp_to_lan_1 80\nretransmits_to_lan_1 3\n")
        page = self.page()
        self.assertIn("| splitnic, `packet:` port | 2 (2-2) | 5 (0-9) | 0 (0-0) |", page)
        self.assertIn("| kernel VXLAN and bridge | 3 | - | - |", page)
        self.assertIn("| TCP | `host.splitnic:fabric.rc.retransmit` | 5 (0-9) |", page)

    def test_missing_rounds_and_results_are_reported(self):
        os.remove(os.path.join(self.folder.name, "rounds/3.vxlan.results"))
        self.write("rounds/1.socat.results", "ping_us 200\n")
        self.assertIn("Fewer rounds: kernel VXLAN and bridge: 2; socat TAP over UDP: 1.", self.page())
        self.assertIn("| socat TAP over UDP | - | 200 |", self.page())
        self.assertNotIn("TCP, Mbit/s", self.page())

    def test_half_written_results_are_not_read(self):
        self.write("rounds/4.vxlan.results.new", "udp64_pps 1\n")
        self.assertEqual(set(report_page.load(self.folder.name)), {"splitnic-packet", "vxlan"})


class Plot(unittest.TestCase):
    def test_bars_are_as_long_as_the_medians_and_stay_inside(self):
        results = {"splitnic-packet": {"udp64_pps": by_round(40, 50, 60)}, "vxlan": {"udp64_pps": by_round(100, 90, 200)}}
        tree = xml.etree.ElementTree.fromstring(compare_plot.plot(results, ["splitnic-packet", "vxlan"]))
        bars = [rect for rect in tree.iter("{http://www.w3.org/2000/svg}rect")][1:]
        lengths = [float(rect.get("width")) for rect in bars]
        self.assertEqual(len(lengths), 2)
        self.assertAlmostEqual(lengths[1] / lengths[0], 2, places=2)
        most = (compare_plot.WIDTH - compare_plot.NAME_WIDTH - compare_plot.VALUE_WIDTH) * 100 / 200
        self.assertAlmostEqual(lengths[1], most, places=1)


if __name__ == "__main__":
    unittest.main()
