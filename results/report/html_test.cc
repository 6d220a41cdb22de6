#include "results/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "results/files.h"
#include "results/report/sample_run.h"
#include "results/report/well_formed.h"

namespace assay {
namespace {

using sample::SampleRun;
using testing::HasSubstr;
using testing::Not;

// ASSAY_SAMPLE_PAGES=DIR keeps the pages, to be looked at.
void keep(const std::string& name, const std::string& page) {
  if (const char* folder = std::getenv("ASSAY_SAMPLE_PAGES")) {
    ASSERT_TRUE(write_file(std::string(folder) + "/" + name + ".html", page).ok());
  }
}

// Renders, and demands what holds of every page.
std::string page_of(const SampleRun& run, const std::string& name) {
  const std::string page = html_report(Report(run.history, run.verdict, run.info));
  keep(name, page);
  EXPECT_EQ(report::WellFormed::problem(page), "") << name;
  EXPECT_TRUE(report::is_utf8(page)) << name;
  EXPECT_LE(page.size(), kHtmlBytesMax) << name;
  for (const char* forbidden : {"<script", "http://", "https://", "src=", "@import",
                                "javascript:", "<link", "<iframe", "nan", "-nan", "\"inf"}) {
    EXPECT_EQ(page.find(forbidden), std::string::npos) << name << ": " << forbidden;
  }
  return page;
}

size_t count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; at += what.size()) ++n;
  return n;
}

TEST(HtmlReport, AValidRunShowsTheWholeRunAndWhatItCouldHaveCaught) {
  const std::string page = page_of(sample::valid(), "valid");
  EXPECT_THAT(page, HasSubstr("VALID</span>"));
  EXPECT_THAT(page, HasSubstr("Every operation fits one order that respects real time"));
  EXPECT_THAT(page, HasSubstr("The whole run: faults, a lane per node"));
  EXPECT_THAT(page, HasSubstr("n1: leader in term "));
  EXPECT_THAT(page, HasSubstr("does not answer"));
  EXPECT_THAT(page, HasSubstr("What could have been caught"));
  EXPECT_THAT(page, HasSubstr("What was not tested"));
  EXPECT_THAT(page, HasSubstr("assay rerun results/runs/"));
  EXPECT_THAT(page, Not(HasSubstr("The witness")));
}

TEST(HtmlReport, AnInvalidRunShowsItsWitnessWithValuesNodesFaultsAndOrder) {
  const std::string page = page_of(sample::invalid({}), "invalid");
  EXPECT_THAT(page, HasSubstr("Stale read of k7. p1003 read 4 from n2, 212 ms after 5 was"));
  EXPECT_THAT(page, HasSubstr(">cas 4 → 5<"));
  EXPECT_THAT(page, HasSubstr(">read → 4<"));
  EXPECT_THAT(page, HasSubstr(">p1003</text>"));
  EXPECT_THAT(page, HasSubstr("212 ms later in real time"));
  EXPECT_EQ(count(page, "class=\"arrow\""), 2u);  // write before cas before read
  EXPECT_THAT(page, HasSubstr("partition (one) of n2, certain from"));
  EXPECT_THAT(page, HasSubstr("stepping down: no quorum for 600 ms, term 6"));
  EXPECT_THAT(page, HasSubstr("3 lines left out"));
  EXPECT_EQ(count(page, "<tr class=\"hit\">"), 3u);
  EXPECT_THAT(page, HasSubstr("independent of your error mapping"));
}

TEST(HtmlReport, TheLastLegalOrderIsDrawnWithItsStatesAndWhereItBreaks) {
  const std::string page = page_of(sample::invalid({}), "order");
  EXPECT_THAT(page, HasSubstr("The last legal order, the last 2 of 39 steps"));
  EXPECT_THAT(page, HasSubstr(">after 37 steps<"));
  EXPECT_THAT(page, HasSubstr(">leaves 5<"));
  EXPECT_THAT(page, HasSubstr(">fits in no order<"));
  EXPECT_EQ(count(page, "class=\"state\""), 3u) << "null, 4, 5";
  EXPECT_THAT(page, HasSubstr(">state</text>"));
  EXPECT_EQ(count(page, "class=\"cross\""), 2u);
  EXPECT_THAT(page, HasSubstr("monotonic reads: kept: none went back"));
  SampleRun run = sample::invalid({});
  run.verdict.children[0].children.back().witness->order.reset();
  EXPECT_THAT(page_of(run, "no_order"), Not(HasSubstr("The last legal order")));
}

// Whatever a checker says, the page stands.
TEST(HtmlReport, AnOrderWithLongOrMissingThingsIsDrawnAllTheSame) {
  SampleRun run = sample::invalid({});
  LastOrder& order = *run.verdict.children[0].children.back().witness->order;
  order.of = std::string(5000, 'o');
  order.start = std::string(100'000, '<');
  for (int i = 0; i < 200; ++i) order.steps.push_back({static_cast<size_t>(i), std::string(500, '&')});
  order.steps.push_back({SIZE_MAX, ""});
  order.breaks = SIZE_MAX;
  page_of(run, "long_order");
  order = {};
  page_of(run, "empty_order");
}

TEST(HtmlReport, OfManyInvalidPartsOnlyTheOneShownIsOpenAndSpeaks) {
  SampleRun run = sample::invalid({});
  Verdict other = *run.verdict.find("linearizable/k7");
  other.name = "k8";
  other.facts = {{"rests on", "rests on operation 12 being a definite failure"}};
  run.verdict.children[0].children.push_back(other);
  run.info.logs = {{"n1", {}, 0}};
  const std::string page = page_of(run, "two_invalid");
  EXPECT_EQ(count(page, "open=\"open\""), 3u);  // run, linearizable, k7
  EXPECT_EQ(count(page, "<li>rests on operation 12"), 0u);
  EXPECT_THAT(page, HasSubstr("No node logged anything from "));
}

TEST(HtmlReport, AnUndecidedRunSaysWhatWasMissingAndWhichFlagChangesIt) {
  const std::string vacuous = page_of(sample::vacuous(), "vacuous");
  EXPECT_THAT(vacuous, HasSubstr("cas: 3 ok of 10 needed"));
  EXPECT_THAT(vacuous, HasSubstr("more operations: <code>--rate 1000</code>"));
  EXPECT_THAT(page_of(sample::unknown(), "unknown"), HasSubstr("<code>--budget 10m</code>"));
  EXPECT_THAT(page_of(sample::blocked(), "blocked"), HasSubstr("n4 did not answer within 5 s"));
}

TEST(HtmlReport, AHistoryWithoutOperationsOrTimesIsStillAPage) {
  EXPECT_THAT(page_of(sample::empty(), "empty"), HasSubstr("The history holds no operation"));
  const std::string foreign = page_of(sample::foreign(), "foreign");
  EXPECT_THAT(foreign, HasSubstr(">read → null<"));
  EXPECT_THAT(foreign, HasSubstr("process 1 read null after 1 had been written"));
  EXPECT_THAT(page_of(sample::failed(), "failed"), HasSubstr("nothing about the store"));
}

TEST(HtmlReport, TheSizeDoesNotFollowTheHistory) {
  const SampleRun small = sample::valid();
  const SampleRun large = sample::valid({.operations = 150'000, .length = seconds(120)});
  ASSERT_GT(large.history.size(), 80'000u);
  EXPECT_LT(page_of(large, "large").size(), 2 * page_of(small, "small").size());
}

TEST(HtmlReport, ManyNodesStillFit) {
  page_of(sample::valid({.nodes = 33, .processes = 66}), "many_nodes");
  page_of(sample::invalid({.nodes = 9, .processes = 36}), "nine_nodes");
}

// A tree, values, logs and a spec as large and as hostile as they come.
TEST(HtmlReport, HostileTextAndHugePartsStayWithinTheCapAndText) {
  SampleRun run = sample::invalid({});
  const std::string evil =
      "</title></style><script src=\"https://evil\">\x01\xff&</script>" + std::string(5000, '<');
  run.verdict.reason = evil;
  run.verdict.name = evil;
  for (int i = 0; i < 3000; ++i) {
    Verdict part;
    part.name = evil;
    part.safety = i % 2 == 0 ? Safety::kInvalid : Safety::kValid;
    part.reason = evil;
    part.facts.assign(i == 0 ? 20'000 : 1, {evil, evil});
    part.counts.assign(i == 1 ? 20'000 : 1, {evil, 1});
    part.witness = Witness{{0, 1, 99'999'999}, {evil, evil}};
    run.verdict.children[0].children.push_back(part);
  }
  NodeLog log{evil, {}, 0};
  for (int i = 0; i < 5000; ++i) log.lines.push_back({milliseconds(i), evil});
  run.info.logs = {log, log, log};
  run.info.rerun = evil;
  run.info.command = evil;
  run.info.not_tested.assign(1000, evil);
  Value::Object spec;
  for (int i = 0; i < 3000; ++i) spec.emplace_back(Symbol("option" + std::to_string(i)), evil);
  run.info.spec = Value::object(std::move(spec));
  const std::string page = html_report(Report(run.history, run.verdict, run.info));
  keep("hostile", page);
  EXPECT_EQ(report::WellFormed::problem(page), "");
  EXPECT_TRUE(report::is_utf8(page));
  EXPECT_LE(page.size(), kHtmlBytesMax);
  EXPECT_EQ(count(page, "<script"), 0u);
}

// Every node changes its role with every sample, and faults come by the thousand.
TEST(HtmlReport, ARunThatNeverRestsIsStillAPage) {
  HistoryBuilder builder;
  HistoryHeader header;
  header.present = true;
  header.faults = {"partition"};
  for (int n = 0; n < 64; ++n) header.nodes.push_back("node-" + std::to_string(n));
  const std::vector<std::string> nodes = header.nodes;
  builder.set_header(header);
  int64_t index = 0;
  const auto add = [&](Nanos time, Process process, OpType type, Symbol f, Value value) {
    Op op;
    op.index = index++;
    op.time = time;
    op.process = process;
    op.type = type;
    op.f = f;
    op.value = std::move(value);
    if (process.is_client()) op.node = Symbol(nodes[static_cast<size_t>(process.id)]);
    ASSERT_TRUE(builder.add(op).ok());
  };
  const auto object = [](std::vector<std::pair<const char*, Value>> members) {
    Value::Object out;
    for (auto& [name, value] : members) out.emplace_back(Symbol(name), value);
    return Value::object(std::move(out));
  };
  Value::Array victims(nodes.begin(), nodes.end());
  const Value fault = object({{"shape", "halves"},
                              {"victims", Value::array(victims)},
                              {"installed", true},
                              {"bit", true},
                              {"healed", true},
                              {"evidence", std::string(2000, '&')}});
  const char* kRoles[] = {"leader", "follower", "candidate", "down"};
  for (int64_t t = 0; t < 2000; ++t) {
    const Nanos now = milliseconds(200 * t);
    for (size_t n = 0; n < nodes.size(); ++n) {
      add(now, kObserver, OpType::kInfo, f::status,
          object({{"node", nodes[n]},
                  {"role", kRoles[(t + static_cast<int64_t>(n)) % 4]},
                  {"term", t}}));
    }
    for (const char* f : {"start-partition", "stop-partition"}) {
      add(now, kNemesis, OpType::kInfo, Symbol(f), {});
      add(now, kNemesis, OpType::kInfo, Symbol(f), fault);
    }
    const Process process{t % 64};
    add(now, process, OpType::kInvoke, f::write, t);
    add(now + milliseconds(t % 100), process, t % 3 == 0 ? OpType::kFail : OpType::kOk, f::write,
        t);
  }
  SampleRun run{builder.build(), {}, {}};
  const std::string page = page_of(run, "restless");
  EXPECT_THAT(page, HasSubstr("The whole run"));
  EXPECT_THAT(page, HasSubstr("Outcomes per node"));  // nothing had to be left out
  EXPECT_THAT(page, HasSubstr("and 40 more nodes"));
}

TEST(HtmlReport, AWitnessOfManyLongOperationsIsCut) {
  HistoryBuilder builder;
  int64_t index = 0;
  Witness witness;
  const std::string value(20'000, 'v');
  for (int64_t i = 0; i < 3000; ++i) {
    Op op;
    op.index = index++;
    op.time = milliseconds(i);
    op.process = Process{i};
    op.f = f::write;
    op.key = Symbol("k");
    op.node = Symbol("n" + std::to_string(i % 400));
    op.value = value;
    ASSERT_TRUE(builder.add(op).ok());
    Op done = complete(op, OpType::kOk);
    done.index = index++;
    done.time = op.time + microseconds(300);
    ASSERT_TRUE(builder.add(done).ok());
    witness.operations.push_back(static_cast<size_t>(i));
  }
  SampleRun run{builder.build(), {}, {}};
  run.verdict.safety = Safety::kInvalid;
  run.verdict.witness = witness;
  const std::string page = page_of(run, "many");
  EXPECT_LT(page.size(), 1'500'000u);
}

}  // namespace
}  // namespace assay
