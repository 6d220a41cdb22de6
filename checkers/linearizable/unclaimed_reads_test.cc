#include "checkers/linearizable/unclaimed_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkers/facts.h"
#include "checkers/history/test_history.h"
#include "checkers/linearizable/linearizable.h"
#include "checkers/registry.h"

namespace assay::linearizable {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

std::string claiming(const std::string& reads, const std::string& more = "") {
  return R"({"workload":"register","claims":{"read":")" + reads + "\"}" + more + "}";
}

Verdict judged(std::string_view script, const std::string& header = claiming("stale"),
               int edits = 30) {
  const History history = history_of(script, header);
  const auto accepted = linearizable_checker().accepts(history);
  EXPECT_TRUE(accepted) << accepted.error().message;
  LinearizableOptions options;
  options.prove = true;
  options.sensitivity.edits = edits;
  return check_linearizable(history, Budget{}, options);
}

std::string fact_of(const Verdict& verdict, std::string_view name) {
  for (const auto& [key, text] : verdict.facts) {
    if (key == name) return text;
  }
  return "";
}

int64_t number_of(const Verdict& verdict, const std::string& name) {
  for (const auto& [key, number] : verdict.counts) {
    if (key == name) return number;
  }
  return -1;
}

// The last two reads are of a value that had been replaced long ago.
constexpr std::string_view kStale = R"(
  0 invoke write k 1
  0 ok write k 1
  0 invoke cas k [1,2]
  0 ok cas k [1,2]
  1 invoke read k
  1 ok read k 2
  1 invoke read k
  1 ok read k 1
  1 invoke read k
  1 ok read k null
)";

TEST(UnclaimedReads, StaleOnesAreAcceptedAndSaidNotToBeClaimed) {
  EXPECT_EQ(judged(kStale, claiming("linearizable")).safety, Safety::kInvalid);
  const Verdict verdict = judged(kStale);
  ASSERT_EQ(verdict.safety, Safety::kValid) << verdict.reason;
  EXPECT_EQ(verdict.reason,
            "the changes fit one order that respects real time, and each of 3 reads found the "
            "initial value or one that had been written");
  EXPECT_EQ(fact_of(verdict, fact::kNotClaimed),
            "linearizable reads are not claimed: 3 reads are judged only for values that nobody "
            "wrote");
  EXPECT_EQ(number_of(verdict, "reads not claimed"), 3);
  EXPECT_EQ(fact_of(verdict, fact::kNotTested), "");
  EXPECT_THAT(verdict.facts, Contains(Pair(std::string(fact::kConvention),
                                           StartsWith("reads are stale, as the target claims"))));
}

TEST(UnclaimedReads, TheOrderThatSequentialClaimsIsSaidNotToBeTested) {
  const Verdict verdict = judged(kStale, claiming("sequential"));
  ASSERT_EQ(verdict.safety, Safety::kValid) << verdict.reason;
  EXPECT_THAT(fact_of(verdict, fact::kNotTested), HasSubstr("each process"));
}

TEST(UnclaimedReads, AHistoryWithoutClaimsIsJudgedAsLinearizable) {
  EXPECT_EQ(judged(kStale, "").safety, Safety::kInvalid);
  EXPECT_EQ(fact_of(judged("0 invoke read k\n0 ok read k null\n", ""), fact::kNotClaimed), "");
}

struct Origin {
  const char* name;
  const char* script;
  Safety safety;
  const char* words = "";  // of the first line of the witness
  const char* rests_on = "";
};
void PrintTo(const Origin& origin, std::ostream* out) { *out << origin.name; }

class OriginOfAValue : public testing::TestWithParam<Origin> {};

TEST_P(OriginOfAValue, DecidesWhetherItIsOutOfThinAir) {
  for (const char* claim : {"stale", "sequential"}) {
    const Verdict verdict = judged(GetParam().script, claiming(claim));
    ASSERT_EQ(verdict.safety, GetParam().safety) << verdict.reason;
    if (verdict.safety != Safety::kInvalid) continue;
    EXPECT_EQ(verdict.reason, "read of a value nobody wrote on k");
    const Verdict* key = verdict.find("k");
    ASSERT_TRUE(key && key->witness);
    EXPECT_LE(key->witness->operations.size(), 2u);
    EXPECT_THAT(key->witness->lines[0], HasSubstr(GetParam().words));
    EXPECT_THAT(fact_of(*key, fact::kRestsOn), StartsWith(GetParam().rests_on));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, OriginOfAValue,
    testing::Values(
        Origin{"Nobody", "0 invoke write k 1\n0 ok write k 1\n1 invoke read k @n2\n1 ok read k 7\n",
               Safety::kInvalid, "p1 read 7 from n2, but nobody had written 7", "independent"},
        Origin{"AnotherKey", "0 invoke write j 7\n0 ok write j 7\n1 invoke read k\n1 ok read k 7\n",
               Safety::kInvalid, "nobody had written 7", "independent"},
        Origin{"ALaterWrite",
               "1 invoke read k\n1 ok read k 7\n0 invoke write k 7\n0 ok write k 7\n",
               Safety::kInvalid, "p0 began to write it only 1 ms after that", "independent"},
        Origin{
            "ADefiniteFailure",
            "0 invoke write k 7\n0 fail write k 7 error=refused\n1 invoke read k\n1 ok read k 7\n",
            Safety::kInvalid, "an attempt by p0 is recorded as failed",
            "rests on operation 0 being a definite failure"},
        Origin{"AFailedCas",
               "0 invoke cas k [1,7]\n0 fail cas k [1,7] error=mismatch\n1 invoke read k\n"
               "1 ok read k 7\n",
               Safety::kInvalid, "an attempt by p0 is recorded as failed",
               "rests on operation 0 being a definite failure"},
        Origin{"AWriteUnderWay",
               "1 invoke read k\n0 invoke write k 7\n1 ok read k 7\n0 ok write k 7\n",
               Safety::kValid},
        Origin{"AnUnknownWrite",
               "0 invoke write k 7\n0 info write k 7\n1 invoke read k\n1 ok read k 7\n",
               Safety::kValid},
        Origin{"AWriteThatNeverReturned", "0 invoke write k 7\n1 invoke read k\n1 ok read k 7\n",
               Safety::kValid},
        Origin{"AnUnknownCas",
               "0 invoke cas k [1,7]\n0 info cas k [1,7]\n1 invoke read k\n1 ok read k 7\n",
               Safety::kValid},
        Origin{"ADelete",
               "0 invoke write k 7\n0 ok write k 7\n0 invoke delete k\n0 ok delete k\n"
               "1 invoke read k\n1 ok read k null\n1 invoke read k\n1 ok read k 7\n",
               Safety::kValid}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(UnclaimedReads, TheInitialValueIsNobodysAndInOrder) {
  constexpr std::string_view kReads = R"(
    0 invoke write k 1
    0 ok write k 1
    0 invoke read k
    0 ok read k 5
    0 invoke read k
    0 ok read k 1
  )";
  EXPECT_EQ(judged(kReads, claiming("stale", R"(,"initial":5)")).safety, Safety::kValid);
  const std::string null_read = std::string(kReads) + "0 invoke read k\n0 ok read k null\n";
  EXPECT_EQ(judged(null_read, claiming("stale", R"(,"initial":5)")).safety, Safety::kInvalid);
  EXPECT_EQ(judged(null_read, claiming("stale", R"(,"initial":5,"null_read":"unknown")")).safety,
            Safety::kValid);
}

TEST(UnclaimedReads, ALostUpdateIsFoundAllTheSame) {
  const Verdict verdict = judged(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke read k
    1 ok read k null
    0 invoke cas k [1,2]
    0 ok cas k [1,2]
    1 invoke read k
    1 ok read k 1
    1 invoke cas k [1,3]
    1 ok cas k [1,3]
  )");
  ASSERT_EQ(verdict.safety, Safety::kInvalid);
  EXPECT_EQ(verdict.reason, "CAS succeeded twice from one value on k");
  // The reads are no part of the proof.
  const Verdict* key = verdict.find("k");
  ASSERT_TRUE(key && key->witness);
  EXPECT_THAT(key->witness->operations, ElementsAre(0, 2, 4));
}

TEST(UnclaimedReads, AFailedCasIsAChangeAndNoRead) {
  constexpr std::string_view kScript = R"(
    0 invoke write k 1
    0 ok write k 1
    0 invoke cas k [1,2]
    0 fail cas k [1,2] error=mismatch
  )";
  EXPECT_EQ(judged(kScript).safety, Safety::kInvalid);
  EXPECT_EQ(judged(kScript, claiming("stale", R"(,"failed_cas":"ignore")")).safety,
            Safety::kVacuous);
}

TEST(UnclaimedReads, TheSimplestWitnessOfAllKeysComesFirst) {
  const Verdict verdict = judged(R"(
    0 invoke cas a [null,2]
    0 ok cas a [null,2]
    0 invoke cas a [null,3]
    0 ok cas a [null,3]
    1 invoke read b
    1 ok read b 9
  )");
  ASSERT_EQ(verdict.safety, Safety::kInvalid);
  ASSERT_THAT(verdict.children, SizeIs(2));
  EXPECT_EQ(verdict.children[0].name, "b");
}

TEST(UnclaimedReads, AreAnObservationOnlyWhereTheyFoundWhatWasWritten) {
  const Verdict valid = judged(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke read k
    1 ok read k 1
  )");
  EXPECT_EQ(valid.safety, Safety::kValid);
  EXPECT_THAT(valid.reason, StartsWith("the read found"));
  EXPECT_THAT(fact_of(valid, fact::kNotTested), StartsWith("the order of the changes"));
  EXPECT_THAT(fact_of(valid, fact::kCouldHaveBeenCaught),
              StartsWith("reads of values that nobody wrote: 1 "));
  EXPECT_EQ(number_of(valid, "illegal edits"), -1) << "there is nothing to edit";

  const Verdict vacuous = judged(R"(
    0 invoke write k 1
    0 ok write k 1
    1 invoke read k
    1 ok read k null
  )");
  EXPECT_EQ(vacuous.safety, Safety::kVacuous);
  EXPECT_THAT(fact_of(vacuous, fact::kMissing), HasSubstr("values that were written"));
  EXPECT_EQ(judged("0 invoke write k 1\n0 ok write k 1\n").safety, Safety::kVacuous);
  EXPECT_EQ(fact_of(judged("0 invoke write k 1\n0 ok write k 1\n"), fact::kNotClaimed),
            "linearizable reads are not claimed: none was answered");
}

// One client; every second read finds what was there before.
std::string rounds(int count, bool with_cas) {
  std::string script;
  const auto add = [&](const std::string& f, const std::string& argument, const std::string& result,
                       const char* type = "ok") {
    script += "0 invoke " + f + " k " + argument + "\n0 " + type + " " + f + " k " + result + "\n";
  };
  for (int i = 0; i < count; ++i) {
    const std::string a = std::to_string(2 * i), b = std::to_string(2 * i + 1);
    add("write", a, a);
    add("read", "", a);
    if (!with_cas) continue;
    const std::string pair = "[" + a + "," + b + "]";
    add("cas", pair, pair);
    add("read", "", a);
    add("cas", pair, pair, "fail");
  }
  return script;
}

TEST(UnclaimedReads, TheSensitivityTestEditsOnlyWhatIsJudged) {
  const Verdict verdict = judged(rounds(20, true));
  ASSERT_EQ(verdict.safety, Safety::kValid) << verdict.reason;
  EXPECT_GT(number_of(verdict, "illegal edits"), 0);
  EXPECT_EQ(number_of(verdict, "illegal edits"), number_of(verdict, "illegal edits caught"));
  const std::string caught(fact::kCouldHaveBeenCaught);
  EXPECT_THAT(verdict.facts,
              Contains(Pair(caught, HasSubstr("illegal edits of the changes were caught: "))));
  EXPECT_THAT(verdict.facts, Not(Contains(Pair(caught, HasSubstr("stale reads")))));
  EXPECT_THAT(verdict.facts, Not(Contains(Pair(caught, HasSubstr("lost writes")))));
}

TEST(UnclaimedReads, WhereNothingCouldBeEditedTheVerdictSaysSo) {
  const Verdict verdict = judged(R"(
    0 invoke cas k [null,1]
    0 ok cas k [null,1]
  )");
  ASSERT_EQ(verdict.safety, Safety::kValid) << verdict.reason;
  EXPECT_THAT(verdict.facts, Contains(Pair(std::string(fact::kCouldHaveBeenCaught),
                                           HasSubstr("no illegal edit of the changes"))));
}

// A register whose reads find any value that it has ever had; three clients that overlap, outcomes
// that get lost.
class StaleRegister {
 public:
  explicit StaleRegister(uint64_t seed) : rng_(seed) {}

  std::string script(int operations) {
    while (operations > 0 || !under_way_.empty()) {
      const auto p = static_cast<int64_t>(rng_.below(3));
      const auto found = under_way_.find(p);
      if (found != under_way_.end()) {
        finish(p, found->second);
        under_way_.erase(found);
      } else if (operations > 0) {
        --operations;
        begin(p);
      }
    }
    return text_;
  }
  const std::vector<std::string>& reads() const { return reads_; }  // their completion lines

 private:
  struct Asked {
    int kind = 0;  // read, write, cas
    int64_t from = 0;
    int64_t to = 0;
    bool after = false;  // takes effect at its return, else at its call
    bool done = false;
  };
  void say(int64_t p, const std::string& words) {
    text_ += std::to_string(p + 3 * infos_[p]) + " " + words + "\n";
  }
  static std::string json(int64_t v) { return v == 0 ? "null" : std::to_string(v); }
  static std::string argument(const Asked& asked) {
    if (asked.kind == 1) return "write k " + json(asked.to);
    return "cas k [" + json(asked.from) + "," + json(asked.to) + "]";
  }
  void begin(int64_t p) {
    Asked asked{.kind = static_cast<int>(rng_.below(3)),
                .from = static_cast<int64_t>(rng_.below(4)),
                .to = 1 + static_cast<int64_t>(rng_.below(4)),
                .after = rng_.chance(1, 2)};
    say(p, "invoke " + (asked.kind == 0 ? "read k" : argument(asked)));
    if (asked.kind != 0 && !asked.after) apply(asked);
    under_way_[p] = asked;
  }
  void apply(Asked& asked) {
    asked.done = asked.kind == 1 || state_ == asked.from;
    if (asked.done) known_.push_back(state_ = asked.to);
  }
  void finish(int64_t p, Asked& asked) {
    if (asked.kind == 0) {
      const std::string line = "ok read k " + json(known_[rng_.below(known_.size())]);
      reads_.push_back(line);
      return say(p, line);
    }
    if (asked.after) apply(asked);
    if (rng_.chance(1, 8)) {
      say(p, "info " + argument(asked));
      ++infos_[p];
    } else {
      say(p, (asked.done ? "ok " : "fail ") + argument(asked));
    }
  }

  Rng rng_;
  int64_t state_ = 0;
  std::vector<int64_t> known_{0};
  std::map<int64_t, Asked> under_way_;
  std::map<int64_t, int64_t> infos_;
  std::string text_;
  std::vector<std::string> reads_;
};

TEST(UnclaimedReads, AStoreThatOnlyReadsLateIsNeverAccused) {
  int stale = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    StaleRegister store(seed);
    const std::string script = store.script(40);
    const Verdict verdict = judged(script, claiming("stale"), 0);
    ASSERT_EQ(verdict.safety, Safety::kValid) << verdict.reason << "\n" << script;
    stale += judged(script, claiming("linearizable"), 0).safety == Safety::kInvalid;
    ASSERT_FALSE(store.reads().empty());
    std::string wrong = script;
    const std::string& read = store.reads()[seed % store.reads().size()];
    wrong.replace(wrong.find(read), read.size(), "ok read k 99");
    ASSERT_EQ(judged(wrong).safety, Safety::kInvalid) << wrong;
  }
  EXPECT_GT(stale, 250);
}

}  // namespace
}  // namespace assay::linearizable
