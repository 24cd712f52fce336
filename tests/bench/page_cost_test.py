"""Shows what page_cost.py makes of results. All results are made up."""
import unittest

from page_cost import goal_lines, line_of, median_with_range, verdict


class Ranges(unittest.TestCase):
    def test_few_values_have_their_whole_range(self):
        self.assertEqual(median_with_range([3, 1, 2]), (2, 1, 3))
        self.assertEqual(median_with_range([1.0]), (1.0, 1.0, 1.0))

    def test_the_range_of_a_median_by_order_statistics(self):
        # Tables of the sign test: of 10 values the 2nd and the 9th, of 20 the 6th and the 15th.
        self.assertEqual(median_with_range(range(1, 11)), (5.5, 2, 9))
        self.assertEqual(median_with_range(range(1, 21)), (10.5, 6, 15))

    def test_a_line_compares_each_run_with_the_one_before(self):
        # The machine gets slower from round to round; each pair differs by 1 %.
        without = [10.0, 8.0, 5.0]
        line = line_of("page", "throughput", without, [0.99 * value for value in without])
        self.assertEqual(line, "page: throughput: 8.000 without, 7.920 with: -1.00 % (-1.00 to -1.00)")

    def test_the_range_decides_about_the_goal(self):
        self.assertEqual(verdict([0.99, 1.0, 0.985], less_is_better=False), "within 2 %")
        self.assertEqual(verdict([1.5, 1.4, 1.6], less_is_better=False), "within 2 %")  # more throughput
        self.assertEqual(verdict([0.9, 0.95, 0.97], less_is_better=False), "NOT within 2 %")
        self.assertEqual(verdict([1.03, 1.05, 1.04], less_is_better=True), "NOT within 2 %")
        self.assertTrue(verdict([0.95, 1.0, 1.01], less_is_better=False).startswith("not decided"))

    def test_the_goal_is_about_throughput_and_round_trips(self):
        without = [[10.0, 1.0, 1.0, 50.0]] * 3
        self.assertEqual(goal_lines(without, [[9.9, 2.0, 2.0, 50.5]] * 3),
                         ["goal: throughput, Gbit/s: within 2 %", "goal: round trip, us: within 2 %"])
        self.assertEqual(goal_lines(without, [[9.0, 1.0, 1.0, 40.0]] * 3),
                         ["goal: throughput, Gbit/s: NOT within 2 %", "goal: round trip, us: within 2 %"])


if __name__ == "__main__":
    unittest.main()
