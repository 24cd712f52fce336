"""Shows what page_cost.py makes of results. All results are made up."""
import unittest

from page_cost import line_of, median_with_range


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


if __name__ == "__main__":
    unittest.main()
