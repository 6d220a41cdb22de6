#include "results/report/timeline.h"

#include <gtest/gtest.h>

#include "results/report/sample_run.h"

namespace assay::report {
namespace {

TEST(LatencyHistogram, QuantilesAreWithinABin) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(microseconds(i));
  for (double q : {0.5, 0.95, 0.99}) {
    const double exact = q * 1000 * 1e-6;
    EXPECT_GE(to_seconds(histogram.quantile(q)), exact * 0.999);
    EXPECT_LE(to_seconds(histogram.quantile(q)), exact * 1.13);
  }
  EXPECT_EQ(histogram.quantile(1), microseconds(1000));
  EXPECT_EQ(histogram.max(), microseconds(1000));
}

TEST(LatencyHistogram, TheExtremesFindABin) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), Nanos{0});
  histogram.add(Nanos{-5});
  histogram.add(Nanos{0});
  histogram.add(seconds(1'000'000));
  EXPECT_EQ(histogram.count(), 3);
  EXPECT_EQ(histogram.bin(0), 2);
  EXPECT_EQ(histogram.bin(LatencyHistogram::kBins - 1), 1);
}

TEST(Timeline, CountsEveryOperationOnce) {
  const sample::SampleRun run = sample::valid();
  const Digest digest = digest_of(run.history);
  const Timeline timeline = timeline_of(run.history, digest, 97);
  Outcomes sum;
  for (const Outcomes& c : timeline.all)
    sum = {sum.ok + c.ok, sum.fail + c.fail, sum.info + c.info};
  EXPECT_EQ(sum.ok, digest.all.ok);
  EXPECT_EQ(sum.fail, digest.all.fail);
  EXPECT_EQ(sum.info, digest.all.info);
  int64_t by_node = 0;
  for (const auto& columns : timeline.by_node) {
    for (const Outcomes& c : columns) by_node += c.total();
  }
  EXPECT_EQ(by_node, sum.total());
  int64_t ok = 0;
  for (const auto& [f, latency] : timeline.by_f) ok += latency.count();
  EXPECT_EQ(ok, sum.ok);
  EXPECT_NEAR(timeline.column_seconds() * 97, to_seconds(digest.end), 1e-6);
}

TEST(Digest, CountsWhatTheHistoryHolds) {
  const sample::SampleRun run = sample::valid();
  const Digest digest = digest_of(run.history);
  EXPECT_EQ(digest.all.total(), static_cast<int64_t>(run.history.size()));
  EXPECT_EQ(digest.nodes.size(), 5u);
  ASSERT_EQ(digest.faults.size(), 3u);
  EXPECT_EQ(digest.faults[0].kind, "partition");
  EXPECT_EQ(digest.faults[0].bit, digest.faults[0].started);
  EXPECT_GE(digest.elections, 3);
  EXPECT_GT(digest.unknown_updates, 0);
  EXPECT_LT(digest.unknown_updates, digest.all.info);  // reads are no updates
  EXPECT_EQ(digest.by_error[0].first.text(), "mismatch");
  EXPECT_TRUE(digest.timed);
  EXPECT_FALSE(digest_of(sample::foreign().history).timed);
  EXPECT_EQ(fault_text({"kill", 3, 3, 2, 3}), "kill 3 (2 bit)");
  EXPECT_EQ(fault_text({"kill", 3, 3, 3, 3}), "kill 3 (all bit)");
  EXPECT_EQ(fault_text({"kill"}), "kill none");
}

}  // namespace
}  // namespace assay::report
