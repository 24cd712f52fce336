#!/usr/bin/env python3
"""splitnic sim, as people use it. Argument: the program."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, "sim", *arguments], capture_output=True, text=True, check=False)


class SimCommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, form):
        made = run("--make", form)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        path = self.path(form.replace(":", "_") + ".toml")
        with open(path, "w", encoding="ascii") as file:
            file.write(made.stdout)
        return path

    def simulate(self, path, *options):
        """The exit status, what was printed on stderr, and the JSON."""
        out = self.path("out.json")
        done = run(path, "--json", out, *options)
        with open(out, encoding="ascii") as file:
            found = json.load(file)
        cells = found["cells"]
        self.assertEqual(cells["sent"], cells["delivered"] + cells["in_flight"] + sum(cells["lost"].values()))
        return done, found

    def test_a_ring_by_updown_and_by_shortest_paths(self):
        ring = self.make("ring:4")
        done, found = self.simulate(ring, "--workload", "all-to-all", "--duration", "200us")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((found["routing"], found["deadlock"], found["cells"]["in_flight"]), ("updown", [], 0))
        self.assertIn("deadlock    none", done.stdout)
        done, found = self.simulate(ring, "--routing", "shortest", "--workload", "uniform", "--duration", "60s")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Asplitnic: deadlock: sw\d:2 waits for sw\d:2 .*--routing updown.*\n\Z")
        self.assertEqual(sorted(found["deadlock"]), ["sw1:2", "sw2:2", "sw3:2", "sw4:2"])

    def test_S000_41_layers_of_lanes(self):
        torus = self.make("torus:6x6")
        found = {}
        for routing, status in (("shortest", 1), ("updown", 0), ("layered", 0)):
            # Layered, a lane has the buffers of two.
            lanes = "1" if routing == "layered" else "2"
            done, found[routing] = self.simulate(torus, "--workload", "uniform", "--routing", routing, "--lanes", lanes)
            self.assertEqual((done.returncode, found[routing]["routing"]), (status, routing))
        layered = found["layered"]
        self.assertEqual((layered["deadlock"], layered["cells"]["in_flight"]), ([], 0))
        self.assertGreater(layered["bits_per_second"], 1.3 * found["updown"]["bits_per_second"])
        # The layers are of each lane, and twice as many have twice the buffers.
        done, more = self.simulate(torus, "--workload", "uniform", "--routing", "layered", "--lanes", "2")
        self.assertEqual((done.returncode, more["deadlock"]), (0, []))
        self.assertGreater(more["bits_per_second"], layered["bits_per_second"])

    def test_the_topology_file_is_not_overwritten(self):
        ring = self.make("ring:4")
        with open(ring, encoding="ascii") as file:
            before = file.read()
        link = self.path("link.toml")
        os.symlink(ring, link)
        for option, path in (("--json", ring), ("--svg", ring), ("--json", link)):
            refused = run(ring, option, path)
            self.assertEqual((refused.returncode, refused.stdout), (1, ""))
            self.assertIn(f"{option}: {path} is the topology file", refused.stderr)
            with open(ring, encoding="ascii") as file:
                self.assertEqual(file.read(), before)

    def test_a_tree_with_a_failed_spine(self):
        fat = self.make("fattree:4")
        picture = self.path("out.svg")
        done, found = self.simulate(fat, "--workload", "uniform", "--fail", "spine0@50us", "--duration", "400us")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((found["switches"], found["nodes"], found["cables"]), (20, 16, 32))
        lost = found["cells"]["lost"]
        self.assertGreater(lost["in_switch"], 0)
        self.assertEqual((lost["no_route"], lost["hop_limit"], found["deadlock"]), (0, 0, []))
        self.assertEqual(sum(not link["up"] for link in found["links"]), 8)
        # Another failure, and a repair before the end.
        done, found = self.simulate(fat, "--fail", "spine0@50us", "--repair", "spine0@250us", "--fail", "p0e0:3@100us",
                                    "--duration", "400us", "--svg", picture)
        self.assertEqual((done.returncode, done.stderr, found["deadlock"]), (0, "", []))
        down = [link["from"] for link in found["links"] if not link["up"]]
        self.assertEqual(sorted(down), ["p0a0:1", "p0e0:3"])
        root = tree.parse(picture).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        names = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("spine3", names)
        with open(picture, encoding="ascii") as file:
            self.assertNotIn("href", file.read())

    def test_a_tree_of_1024_nodes_loses_nothing_and_has_no_deadlock(self):
        tree_of_1024 = self.make("fattree:16")
        done, found = self.simulate(tree_of_1024, "--workload", "all-to-all", "--duration", "200us")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((found["nodes"], found["senders"], found["routing"]), (1024, 1024, "fattree"))
        cells = found["cells"]
        self.assertEqual((sum(cells["lost"].values()), cells["in_flight"], found["deadlock"]), (0, 0, []))
        # Half of what the links of the nodes carry in this time, or more: 856 cells each.
        self.assertEqual(cells["delivered"], cells["sent"])
        self.assertGreater(cells["sent"], 1024 * 428)
        self.assertRegex(done.stdout, r"\ncells       \d+ sent, \d+ delivered, 0 lost, 0 left in the fabric\n")
        self.assertIn("deadlock    none\n", done.stdout)
        # Between nodes of one leaf, of one pod, and of two pods.
        self.assertEqual([of["links"] for of in found["latency_ns"]["by_links"]], [2, 4, 6])

    def test_waits_and_latency_by_links(self):
        mesh = self.make("mesh:1x3")
        done, found = self.simulate(mesh, "--workload", "incast", "--duration", "1ms")
        by_links = found["latency_ns"]["by_links"]
        self.assertEqual([of["links"] for of in by_links], [3, 4])
        self.assertEqual(sum(of["cells"] for of in by_links), found["cells"]["delivered"])
        sum_of_all = sum(of["cells"] * of["mean"] for of in by_links)
        self.assertAlmostEqual(sum_of_all / found["cells"]["delivered"], found["latency_ns"]["mean"], places=2)
        # Two senders fill one link, and the next one carries what comes by it.
        waits = {link["from"]: link["wait_ns"] for link in found["links"]}
        self.assertGreater(waits["sw2:2"]["mean"], 6800)
        self.assertGreater(waits["sw2:2"]["longest"], waits["sw2:2"]["mean"])
        self.assertEqual(waits["sw1:5"], {"mean": 0, "longest": 0})
        self.assertRegex(done.stdout, r"\nby links    3: [\d.]+ us, 4: [\d.]+ us\n")
        self.assertRegex(done.stdout, r"\nwaits       mean 6\.\d+ us, longest 7\.\d+ us for the link from sw2:2 to sw1:1, ")

    def test_the_same_seed_writes_the_same_bytes(self):
        mesh = self.make("mesh:3x3")
        texts = []
        for seed in ("5", "5", "6"):
            self.simulate(mesh, "--workload", "uniform", "--seed", seed, "--duration", "100us")
            with open(self.path("out.json"), encoding="ascii") as file:
                texts.append(file.read().replace('"seed":6', '"seed":5'))
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_a_slower_link_and_options_of_the_switches(self):
        mesh = self.make("mesh:1x2")
        _, fast = self.simulate(mesh, "--workload", "permutation", "--load", "1", "--duration", "1ms")
        _, slow = self.simulate(mesh, "--workload", "permutation", "--load", "1", "--duration", "1ms", "--rate", "1G",
                                "--store-and-forward", "--delay", "1us", "--switch-delay", "2us", "--cell", "125")
        # Three links of 1 us and 1 us per cell, two switches of 2 us.
        self.assertEqual(slow["latency_ns"]["longest"], 10000)
        self.assertLess(fast["latency_ns"]["longest"], 1000)

    def test_what_is_wrong_is_one_line(self):
        ring = self.make("ring:4")
        for options, status, text in [
                (("--fail", "sw9@1us"), 1, "--fail: there is no switch sw9"),
                (("--fail", "sw1:4@1us"), 1, "nothing is at port 4 of sw1"),
                (("--routing", "fattree"), 1, "not a fat tree: sw1 and sw2"),
                (("--routing", "fast"), 2, "'fast' is not shortest, updown, fattree or layered"),
                (("--workload", "incast:9"), 1, "incast of 9 senders: there are 4 nodes"),
                (("--json", "/nonexistent/x"), 1, "--json /nonexistent/x")]:
            done = run(ring, *options)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1), done.stderr)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
