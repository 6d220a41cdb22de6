#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "harness/certify/certify.h"
#include "results/schema.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// A run of the target that says so of every clause, with every fault having bitten.
CertificateCell cell(const std::string& id, const std::string& word) {
  CertificateCell cell;
  cell.id = id;
  cell.word = word;
  cell.ok = 100;
  cell.bit = {{"partition", 2}, {"pause", 1}, {"kill", 3}};
  cell.healed = cell.bit;
  for (const Clause& clause : all_clauses())
    if (!clause.checks.empty()) cell.clauses[std::string(clause.id)] = {word, "some-check", ""};
  return cell;
}

const CertificateClause& clause_of(const Certificate& certificate, const std::string& id) {
  for (const CertificateClause& clause : certificate.clauses)
    if (clause.id == id) return clause;
  throw std::runtime_error("no clause " + id);
}

CertifyRequest raft() {
  CertifyRequest request;
  request.target = "raft";
  return request;
}

TEST(MakeCertificate, EveryClauseThatIsClaimedHoldsUnderEveryThreat) {
  const Certificate made = make_certificate(raft(), {}, {cell("a", "valid"), cell("b", "valid")});
  EXPECT_EQ(made.word, "valid") << made.sentence;
  EXPECT_EQ(clause_of(made, "V6").word, "not claimed");
  EXPECT_EQ(clause_of(made, "H1").operations, 200);
  EXPECT_EQ(clause_of(made, "H1").faults_bit, 12);
  EXPECT_THAT(made.honest, HasSubstr("0 of 2 runs were invalid: a fault that shows in 77.6 %"));
}

TEST(MakeCertificate, OneInvalidRunBreaksItsClauseWhateverTheOthersSay) {
  CertificateCell bad = cell("bad", "valid");
  bad.word = "invalid";
  bad.clauses["V4"] = {"invalid", "update-chain", "p3 lost it"};
  const Certificate made = make_certificate(raft(), {}, {cell("a", "valid"), bad, cell("c", "valid")});
  EXPECT_EQ(made.word, "invalid");
  EXPECT_EQ(made.sentence, "it breaks V4");
  EXPECT_EQ(clause_of(made, "V4").reason, "p3 lost it");
  EXPECT_EQ(clause_of(made, "V4").cell, "bad");
  EXPECT_EQ(clause_of(made, "V3").word, "valid");
}

TEST(MakeCertificate, AThreatThatNeverBitLeavesItsClausesVacuous) {
  CertificateCell calm = cell("a", "valid");
  calm.bit.erase("pause");
  const Certificate made = make_certificate(raft(), {}, {calm});
  EXPECT_EQ(made.word, "vacuous");
  EXPECT_EQ(clause_of(made, "H1").word, "vacuous");
  EXPECT_THAT(clause_of(made, "H1").reason, HasSubstr("pause"));
  EXPECT_EQ(clause_of(made, "H2").word, "valid");
}

TEST(MakeCertificate, TheWeakContractClaimsTheClausesThatItsChecksSpeakForUnderTheirThreats) {
  CertifyRequest weak = raft();
  weak.contract = "weak";
  CertificateCell run = cell("a", "valid");
  std::erase_if(run.clauses, [](const auto& said) {
    return said.first != "H2" && said.first != "H3" && said.first != "H4";
  });
  const Certificate made = make_certificate(weak, {}, {run});
  EXPECT_EQ(made.word, "valid") << made.sentence;
  EXPECT_EQ(clause_of(made, "H3").word, "valid");
  EXPECT_EQ(clause_of(made, "V4").word, "not claimed");
  run.bit.erase("kill");
  EXPECT_EQ(make_certificate(weak, {}, {run}).word, "vacuous");
}

TEST(MakeCertificate, AThreatThatIsNotPossibleIsSaidFirst) {
  CertificateCell calm = cell("a", "valid");
  calm.bit.erase("pause");
  Suite suite;
  suite.excluded_faults = {"pause"};
  suite.exclusions = {"pause: no power over its nodes"};
  const Certificate made = make_certificate(raft(), suite, {calm});
  EXPECT_EQ(made.word, "valid");
  EXPECT_EQ(made.exclusions.front(), "pause: no power over its nodes");
  EXPECT_THAT(certificate_text(made), ::testing::StartsWith("not asked for: pause"));
}

TEST(MakeCertificate, AClauseWithoutARunThatSpeaksForItIsVacuous) {
  CertificateCell silent = cell("a", "valid");
  silent.clauses.erase("V5");
  const Certificate made = make_certificate(raft(), {}, {silent});
  EXPECT_EQ(clause_of(made, "V5").word, "vacuous");
  EXPECT_EQ(made.word, "vacuous");
}

TEST(MakeCertificate, AMissedCanaryTakesTheWordValidAway) {
  CertificateCell canary = cell("canary", "valid");
  canary.target = "naive-local-reads";
  canary.canary_of = "H4";
  const Certificate missed = make_certificate(raft(), {}, {cell("a", "valid"), canary});
  EXPECT_EQ(missed.word, "vacuous");
  EXPECT_THAT(missed.sentence, HasSubstr("naive-local-reads"));
  EXPECT_EQ(clause_of(missed, "H4").word, "vacuous");
  EXPECT_EQ(clause_of(missed, "V4").word, "valid");
  canary.word = "invalid";
  canary.clauses["H4"] = {"invalid", "linearizable", ""};
  const Certificate convicted = make_certificate(raft(), {}, {cell("a", "valid"), canary});
  EXPECT_EQ(convicted.word, "valid");
  EXPECT_EQ(convicted.runs(), 1u);
}

TEST(MakeCertificate, AnInvalidRunThatNoClauseSpeaksOfIsNotPassedOver) {
  CertificateCell bad = cell("bad", "valid");
  bad.word = "invalid";
  bad.witness = "n2 left with a failed assertion";
  const Certificate made = make_certificate(raft(), {}, {cell("a", "valid"), bad});
  EXPECT_EQ(made.word, "invalid");
  EXPECT_THAT(made.sentence, HasSubstr("bad"));
}

TEST(MakeCertificate, ItsJunitIsNotGreenWhereAClauseLessReasonKeepsItFromBeingValid) {
  CertificateCell broken;
  broken.id = "b";
  broken.word = "failed";
  const Certificate made = make_certificate(raft(), {}, {cell("a", "valid"), broken});
  EXPECT_EQ(made.word, "vacuous");
  const std::string junit = certificate_junit(made);
  EXPECT_THAT(junit, HasSubstr("errors=\"1\""));
  EXPECT_THAT(junit, HasSubstr("<error type=\"vacuous\" message=\"runs that failed: b"));
}

TEST(MakeCertificate, ItsPagesShowTheSettings) {
  CertifyRequest request = raft();
  request.settings = {{"raft.local-reads", "<true>"}};
  const Certificate made = make_certificate(request, {}, {cell("a", "valid")});
  EXPECT_THAT(certificate_html(made), HasSubstr("raft.local-reads=&lt;true&gt;"));
  EXPECT_THAT(certificate_markdown(made), HasSubstr("raft.local-reads=\\<true\\>"));
}

TEST(MakeCertificate, ABlockedClauseIsNeitherValidNorInvalid) {
  CertificateCell stuck = cell("a", "valid");
  stuck.clauses["V5"] = {"blocked", "lock", ""};
  const Certificate made = make_certificate(raft(), {}, {stuck});
  EXPECT_EQ(made.word, "blocked");
  EXPECT_EQ(clause_of(made, "V5").word, "blocked");
}

TEST(MakeCertificate, ARunThatWasNeverPlayedIsNotForgotten) {
  CertificateCell missing;
  missing.id = "b";
  missing.word = "not played";
  EXPECT_EQ(make_certificate(raft(), {}, {cell("a", "valid"), missing}).word, "vacuous");
}

TEST(MakeCertificate, ItsFileGivesTheSameCertificate) {
  CertificateCell bad = cell("bad", "invalid");
  bad.witness = "a \"witness\" with | and <tags>";
  Certificate made = make_certificate(raft(), {}, {cell("a", "valid"), bad});
  made.binaries = {{"assay-raft", "sha256:1"}};
  made.settings = {{"raft.x", "1"}};
  const Value value = certificate_to_value(made);
  auto read = certificate_from_value(value, "certificate.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(certificate_to_value(*read), value);
  const auto fits = validate_form(value, "certificate", value.to_json(), "certificate.json");
  EXPECT_TRUE(fits.ok()) << fits.error().message;
  EXPECT_THAT(certificate_html(made), HasSubstr("&lt;tags&gt;"));
  EXPECT_THAT(certificate_junit(made), HasSubstr("<failure type=\"invalid\""));
  EXPECT_THAT(certificate_markdown(made), HasSubstr("## INVALID: raft"));
}

// --- Kinds of token (V6) -------------------------------------------------------------------------

const Clause& v6() { return *find_clause("V6"); }

Suite two_kinds() {
  Suite suite;
  suite.token_kinds = {"revision", "key-version"};
  return suite;
}
// A workload with each kind, and the canary whose tokens are a content hash.
std::vector<CertificateCell> pairs_and_canary(int pairs = 2) {
  std::vector<CertificateCell> cells;
  for (int i = 0; i < pairs; ++i) {
    for (const char* kind : {"revision", "key-version"}) {
      cells.push_back(cell("w" + std::to_string(i) + "-" + kind, "valid"));
      cells.back().workload = "w" + std::to_string(i);
      cells.back().token_kind = kind;
    }
  }
  CertificateCell canary = cell("canary", "invalid");
  canary.target = kUnsoundTokens;
  canary.canary_of = "V2";
  cells.push_back(canary);
  return cells;
}

TEST(TokenKinds, WithTheSameVerdictsAndAnUnsoundOneConvictedAreValid) {
  const Certificate made = make_certificate(raft(), two_kinds(), pairs_and_canary());
  EXPECT_EQ(made.word, "valid") << made.sentence;
  const CertificateClause& clause = clause_of(made, "V6");
  EXPECT_EQ(clause.word, "valid") << clause.reason;
  EXPECT_EQ(clause.reason,
            "2 kinds of token (revision and key-version), the same verdicts of V2, V3, V4 and V5 over 2 pairs of "
            "runs; naive-content-hash was convicted");
  EXPECT_EQ(clause.cells, 4);
  EXPECT_EQ(clause.operations, 400);
  EXPECT_EQ(clause_of(made, "V4").cells, 2) << "the second kind's runs are evidence for V6 alone";
  for (const std::string& page : {certificate_html(made), certificate_text(made), certificate_markdown(made)})
    EXPECT_THAT(page, HasSubstr("over 2 pairs of runs"));
  EXPECT_THAT(certificate_junit(made), HasSubstr("V6"));
}

TEST(TokenKinds, OfWhichOneIsConvictedAndTheOtherNotAreInvalid) {
  for (const size_t which : {0u, 3u}) {
    auto cells = pairs_and_canary();
    cells[which].word = "invalid";
    cells[which].clauses["V4"] = {"invalid", "update-chain", "p3 lost it"};
    const Certificate made = make_certificate(raft(), two_kinds(), cells);
    const CertificateClause& clause = clause_of(made, "V6");
    EXPECT_EQ(clause.word, "invalid");
    EXPECT_EQ(clause.cell, cells[which].id);
    EXPECT_THAT(clause.reason, HasSubstr("V4 is broken with tokens of the kind " + cells[which].token_kind + " (" +
                                         cells[which].id + ")"));
    EXPECT_THAT(clause.reason, HasSubstr("p3 lost it"));
    EXPECT_EQ(made.sentence, "it breaks V4 and V6") << "a lost update is one with either kind";
  }
}

TEST(TokenKinds, AllConvictedHaveNothingSoundToCompare) {
  auto cells = pairs_and_canary();
  for (const size_t which : {0u, 1u}) cells[which].clauses["V4"] = {"invalid", "update-chain", ""};
  EXPECT_EQ(clause_of(make_certificate(raft(), two_kinds(), cells), "V6").word, "vacuous");
}

TEST(TokenKinds, WithARunOfAPairMissingAreNotValid) {
  const auto word_without = [](size_t which, bool in_suite) {
    auto cells = pairs_and_canary();
    Suite suite = two_kinds();
    if (in_suite) {
      for (const CertificateCell& cell : cells) {
        SuiteCell planned{{cell.id, {}}, cell.canary_of, cell.token_kind};
        planned.cell.spec.workload = cell.workload;
        suite.cells.push_back(planned);
      }
    }
    cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(which));
    return clause_of(make_certificate(raft(), suite, cells), "V6").word;
  };
  EXPECT_EQ(word_without(0, false), "vacuous");
  for (const size_t which : {0u, 1u, 2u, 3u}) EXPECT_EQ(word_without(which, true), "vacuous") << which;
  EXPECT_EQ(word_without(4, false), "vacuous") << "nothing unsound was convicted";
  auto failed = pairs_and_canary();
  failed[1].word = "failed";
  failed[1].clauses.clear();
  EXPECT_EQ(clause_of(make_certificate(raft(), two_kinds(), failed), "V6").word, "vacuous");
}

TEST(TokenKinds, WithoutAPairThatSpeaksForAClauseOrAnyAtAllAreNotExercised) {
  auto cells = pairs_and_canary();
  cells[0].clauses.erase("V5");
  cells[3].clauses.erase("V5");
  const Certificate made = make_certificate(raft(), two_kinds(), cells);
  EXPECT_EQ(clause_of(made, "V6").word, "vacuous");
  EXPECT_THAT(clause_of(made, "V6").reason, HasSubstr("V5"));
  EXPECT_EQ(made.word, "vacuous");
  EXPECT_EQ(clause_of(make_certificate(raft(), two_kinds(), {cell("a", "valid")}), "V6").word, "vacuous");
  auto undecided = pairs_and_canary();
  undecided[1].clauses["V3"] = {"unknown", "conflicts", ""};
  EXPECT_EQ(clause_of(make_certificate(raft(), two_kinds(), undecided), "V6").word, "unknown");
}

TEST(TokenKinds, APairInWhichOneRunSaidNothingIsNotCountedAndIsTold) {
  auto cells = pairs_and_canary();
  cells[1].word = "vacuous";
  cells[1].clauses.clear();
  const Certificate made = make_certificate(raft(), two_kinds(), cells);
  EXPECT_THAT(clause_of(made, "V6").reason, HasSubstr("over 1 pair of runs"));
  EXPECT_THAT(made.not_exercised, ::testing::Contains(HasSubstr("V6: w0 under ")));
}

TEST(TokenKinds, AFaultThreatensThemOnlyWhereItBitInBothRunsOfAPair) {
  auto cells = pairs_and_canary();
  for (const size_t which : {1u, 2u}) cells[which].bit.erase("kill");
  const CertificateClause clause = clause_of(make_certificate(raft(), two_kinds(), cells), "V6");
  EXPECT_EQ(clause.word, "vacuous");
  EXPECT_THAT(clause.reason, HasSubstr("never seen to bite in a run that speaks for it: kill"));
}

TEST(TokenKinds, OfWhichThereIsOneAreNotClaimed) {
  const CertificateClause clause = clause_of(make_certificate(raft(), {}, pairs_and_canary()), "V6");
  EXPECT_EQ(clause.word, "not claimed");
  EXPECT_TRUE(v6().checks.empty() && !v6().same_verdicts.empty());
}

TEST(TokenKinds, OfShardsAreComparedOnceTheyAreTogether) {
  const auto all = pairs_and_canary();
  std::vector<CertificateCell> first, second;
  for (size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? first : second).push_back(all[i]);
  for (const auto& part : {first, second})
    EXPECT_EQ(clause_of(make_certificate(raft(), two_kinds(), part), "V6").word, "vacuous");
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(clause_of(make_certificate(raft(), two_kinds(), first), "V6").word, "valid");
}

TEST(DesignTable, ShowsExpectedBesideSeenAndCountsWhatDiffers) {
  CertifyRequest request;
  request.target = "naive-last-writer-wins";
  CertificateCell good = cell("a", "valid");
  int wrong = 0;
  design_table({make_certificate(request, {}, {good})}, wrong);
  EXPECT_EQ(wrong, 3);  // V3, V4, V5
  for (const char* id : {"V3", "V4", "V5"}) good.clauses[id] = {"invalid", "update-chain", ""};
  wrong = 0;
  const std::string table = design_table({make_certificate(request, {}, {good})}, wrong);
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(table, HasSubstr("invalid / invalid (update-chain)"));
}

TEST(Suite, OfTheBundledStoreHasARunForEveryClauseAndACanaryForMost) {
  CertifyRequest request = raft();
  request.bin_dir = ASSAY_BIN_DIR;
  auto suite = make_suite(request, 0);
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  std::set<std::string> canaries, workloads;
  for (const SuiteCell& cell : suite->cells) {
    if (!cell.canary_of.empty()) canaries.insert(cell.canary_of);
    workloads.insert(cell.cell.spec.workload);
  }
  EXPECT_THAT(canaries, ::testing::ElementsAre("H3", "H4", "V2", "V4", "watch"));
  EXPECT_THAT(workloads, ::testing::IsSupersetOf({"register", "set", "field-ownership", "watch"}));
  EXPECT_THAT(suite->exclusions, ::testing::IsEmpty());
}

TEST(Suite, PlaysWhatComparesTokensWithEachSoundKindUnderTheSameSpec) {
  CertifyRequest request = raft();
  request.bin_dir = ASSAY_BIN_DIR;
  request.profile = "release";
  auto suite = make_suite(request, 0);
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  EXPECT_THAT(suite->token_kinds, ::testing::ElementsAre("revision", "key-version"));
  std::set<std::string> twice;
  for (const SuiteCell& cell : suite->cells) {
    if (cell.token_kind != "key-version") continue;
    twice.insert(cell.cell.spec.workload);
    const auto twin = std::find_if(suite->cells.begin(), suite->cells.end(), [&](const SuiteCell& other) {
      return other.cell.id + "-key-version" == cell.cell.id;
    });
    ASSERT_NE(twin, suite->cells.end()) << cell.cell.id;
    EXPECT_EQ(twin->token_kind, "revision");
    EXPECT_EQ(cell.cell.spec.set.at("raft.token"), "key-version");
    TestSpec same = cell.cell.spec;
    same.set = twin->cell.spec.set;
    EXPECT_EQ(spec_to_value(same), spec_to_value(twin->cell.spec));
  }
  EXPECT_THAT(twice, ::testing::IsSupersetOf({"field-ownership", "counter", "aba", "bank"}));
  EXPECT_EQ(twice.count("register") + twice.count("watch"), 0u) << "no token is compared in it";

  request.settings["raft.token"] = "key-version";
  suite = make_suite(request, 0);
  ASSERT_TRUE(suite.ok());
  EXPECT_THAT(suite->token_kinds, ::testing::ElementsAre("key-version", "revision"));
  EXPECT_THAT(suite->not_claimed, ::testing::ElementsAre("watch"));

  request.settings.clear();
  request.contract = "weak";
  EXPECT_THAT(make_suite(request, 0)->token_kinds, ::testing::IsEmpty());
  request.contract = "strong";
  request.target = "naive-last-writer-wins";
  EXPECT_THAT(make_suite(request, 0)->token_kinds, ::testing::IsEmpty());
}

TEST(Suite, ShardsAreDisjointAndTogetherTheWhole) {
  CertifyRequest request = raft();
  request.bin_dir = ASSAY_BIN_DIR;
  auto whole = make_suite(request, 0);
  ASSERT_TRUE(whole.ok());
  std::set<std::string> ids;
  request.shards = 3;
  for (request.shard = 1; request.shard <= 3; ++request.shard) {
    auto part = make_suite(request, 0);
    ASSERT_TRUE(part.ok());
    for (const SuiteCell& cell : part->cells) EXPECT_TRUE(ids.insert(cell.cell.id).second);
  }
  EXPECT_EQ(ids.size(), whole->cells.size());
}

TEST(Suite, ASettingOfAWorkloadIsRefusedAndLeavesNoRunOut) {
  CertifyRequest request = raft();
  request.settings = {{"register.colour", "red"}};
  auto suite = make_suite(request, 0);
  ASSERT_FALSE(suite.ok());
  EXPECT_THAT(suite.error().message, HasSubstr("unknown setting \"register.colour\""));
}

TEST(Suite, TheLargestSeedHasSuccessorsThatASpecCanHold) {
  CertifyRequest request = raft();
  request.profile = "release";
  request.seed = INT64_MAX;
  auto suite = make_suite(request, 0);
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  for (const SuiteCell& cell : suite->cells)
    EXPECT_LE(cell.cell.spec.seed.value_or(0), static_cast<uint64_t>(INT64_MAX)) << cell.cell.id;
}

TEST(Suite, OfTheMemoryTargetSaysWhatItCannotDo) {
  CertifyRequest request;
  request.target = "memory";
  request.bin_dir = ASSAY_BIN_DIR;
  auto suite = make_suite(request, 0);
  ASSERT_TRUE(suite.ok());
  EXPECT_THAT(suite->excluded_faults, ::testing::UnorderedElementsAre("partition", "pause", "kill"));
}

}  // namespace
}  // namespace assay
