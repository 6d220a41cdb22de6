#include "targets/kv/service/service.h"

#include <gtest/gtest.h>

#include "targets/kv/service/transcript.h"
#include "targets/kv/service/validate.h"

namespace assay::kv {
namespace {

// A script: requests, each followed by the answer that it must get.
struct Script {
  const char* name;
  std::vector<std::pair<const char*, const char*>> lines;
};

class ServiceScript : public ::testing::TestWithParam<Script> {};

TEST_P(ServiceScript, IsAnsweredAsWritten) {
  Service service;
  for (const auto& [request, answer] : GetParam().lines) {
    EXPECT_EQ(TranscriptWriter::show(service.apply(TranscriptReader::request(request))), answer)
        << request;
  }
}

const Script kScripts[] = {
    {"RevisionAdvancesOncePerChange",
     {{"get a - 0 0 -", "get rev=1 count=0 more=0 []"},
      {"put a x -", "put rev=2 -"},
      {"put a x -", "put rev=3 -"},
      {"del zz - -", "del rev=3 deleted=0 []"},
      {"txn [ ] [ put b x - put c x - del a - - ] [ ]",
       "txn rev=4 ok=1 { put rev=4 - ; put rev=4 - ; del rev=4 deleted=1 [] ; }"},
      {"txn [ ] [ del zz - - get b - 0 0 - ] [ ]",
       "txn rev=4 ok=1 { del rev=4 deleted=0 [] ; get rev=4 count=1 more=0 [b:4:4:1:x] ; }"}}},
    {"ARecreatedKeyStartsAnew",
     {{"put a x -", "put rev=2 -"},
      {"put a y p", "put rev=3 a:2:2:1:x"},
      {"del a - p", "del rev=4 deleted=1 [a:2:3:2:y]"},
      {"put a z p", "put rev=5 -"},
      {"get a - 0 0 -", "get rev=5 count=1 more=0 [a:5:5:1:z]"}}},
    {"AnOldRevisionIsReadAsItWas",
     {{"put a x -", "put rev=2 -"},
      {"put b x -", "put rev=3 -"},
      {"del a - -", "del rev=4 deleted=1 []"},
      {"get a z 0 3 -", "get rev=4 count=2 more=0 [a:2:2:1:x b:3:3:1:x]"},
      {"get a z 0 4 -", "get rev=4 count=1 more=0 [b:3:3:1:x]"},
      {"get a z 0 1 -", "get rev=4 count=0 more=0 []"},
      {"get a z 0 5 -", "error 11 etcdserver: mvcc: required revision is a future revision"}}},
    {"CompactionForgetsWhatWasBefore",
     {{"put a x -", "put rev=2 -"},
      {"put a y -", "put rev=3 -"},
      {"put b x -", "put rev=4 -"},
      {"del b - -", "del rev=5 deleted=1 []"},
      {"compact 6", "error 11 etcdserver: mvcc: required revision is a future revision"},
      {"compact 4", "compact rev=5"},
      {"compact 4", "error 11 etcdserver: mvcc: required revision has been compacted"},
      {"get a z 0 3 -", "error 11 etcdserver: mvcc: required revision has been compacted"},
      {"get a z 0 4 -", "get rev=5 count=2 more=0 [a:2:3:2:y b:4:4:1:x]"},
      {"txn [ ] [ put c x - get a - 0 2 - ] [ ]",
       "error 11 etcdserver: mvcc: required revision has been compacted"},
      {"get c - 0 0 -", "get rev=5 count=0 more=0 []"}}},
    {"GuardsAreEvaluatedWithTheWrite",
     {{"put a x -", "put rev=2 -"},
      {"txn [ ( mod a - = 2 ) ] [ put a y - ] [ get a - 0 0 - ]",
       "txn rev=3 ok=1 { put rev=3 - ; }"},
      {"txn [ ( mod a - = 2 ) ] [ put a z - ] [ get a - 0 0 - ]",
       "txn rev=3 ok=0 { get rev=3 count=1 more=0 [a:2:3:2:y] ; }"},
      {"txn [ ( mod n - = 0 ) ] [ put n x - ] [ ]", "txn rev=4 ok=1 { put rev=4 - ; }"},
      {"txn [ ( version n - = 0 ) ] [ put n x - ] [ ]", "txn rev=4 ok=0 { }"}}},
    {"AValueOfAnAbsentKeyComparesWithNothing",
     {{"txn [ ( value a - = x ) ] [ ] [ ]", "txn rev=1 ok=0 { }"},
      {"txn [ ( value a - != x ) ] [ ] [ ]", "txn rev=1 ok=0 { }"},
      {"txn [ ( value a - < x ) ] [ ] [ ]", "txn rev=1 ok=0 { }"},
      {"txn [ ( create a - < 1 ) ] [ ] [ ]", "txn rev=1 ok=1 { }"}}},
    {"ReadsInATransactionSeeItsWrites",
     {{"txn [ ] [ get a - 0 0 - put a x - get a - 0 0 - ] [ ]",
       "txn rev=2 ok=1 { get rev=1 count=0 more=0 [] ; put rev=2 - ; "
       "get rev=2 count=1 more=0 [a:2:2:1:x] ; }"}}},
    {"NestedGuardsSeeTheStateBefore",
     {{"txn [ ] [ put a x - txn [ ( version a - = 0 ) ] [ put b x - ] [ put c x - ] ] [ ]",
       "txn rev=2 ok=1 { put rev=2 - ; txn rev=0 ok=1 { put rev=2 - ; } ; }"}}},
    {"AKeyIsChangedOnceInATransaction",
     {{"txn [ ] [ put a x - put a y - ] [ ]",
       "error 3 etcdserver: duplicate key given in txn request"},
      {"txn [ ] [ del a c - put b y - ] [ ]",
       "error 3 etcdserver: duplicate key given in txn request"},
      {"txn [ ] [ put a x - ] [ put a y - ]", "txn rev=2 ok=1 { put rev=2 - ; }"},
      {"txn [ ] [ txn [ ] [ put a x - ] [ put a y - ] ] [ ]",
       "txn rev=3 ok=1 { txn rev=0 ok=1 { put rev=3 - ; } ; }"}}},
    {"LimitsCountsAndKeysOnly",
     {{"put a x -", "put rev=2 -"},
      {"put b x -", "put rev=3 -"},
      {"put c x -", "put rev=4 -"},
      {"get a \\0 2 0 -", "get rev=4 count=3 more=1 [a:2:2:1:x b:3:3:1:x]"},
      {"get a \\0 3 0 -", "get rev=4 count=3 more=0 [a:2:2:1:x b:3:3:1:x c:4:4:1:x]"},
      {"get a \\0 1 0 k", "get rev=4 count=3 more=1 [a:2:2:1:]"},
      {"get a \\0 1 0 c", "get rev=4 count=3 more=0 []"},
      {"get c a 0 0 -", "get rev=4 count=0 more=0 []"}}},
};

INSTANTIATE_TEST_SUITE_P(All, ServiceScript, ::testing::ValuesIn(kScripts),
                         [](const auto& info) { return std::string(info.param.name); });

Result run(Service& service, const char* line) {
  return service.apply(TranscriptReader::request(line));
}

TEST(Service, EventsFollowEachOtherByRevisionAndAreNeverSplit) {
  Service service;
  run(service, "put a x -");
  run(service, "txn [ ] [ put b x - put c x - del a - - ] [ ]");
  run(service, "put d x -");
  const auto shown = [&](int64_t from, size_t limit) {
    std::string out;
    for (const KeyValuePtr& kv : service.store().events({from}, limit)) {
      out.append(kv->tombstone() ? "-" : "+").append(kv->key);
      out.append(std::to_string(kv->mod_revision.value)).append(" ");
    }
    return out;
  };
  EXPECT_EQ(shown(0, 100), "+a2 +b3 +c3 -a3 +d4 ");
  EXPECT_EQ(shown(3, 1), "+b3 +c3 -a3 ");
  EXPECT_EQ(shown(4, 1), "+d4 ");
  EXPECT_EQ(shown(5, 1), "");
  run(service, "compact 3");
  EXPECT_EQ(shown(0, 100), "+b3 +c3 -a3 +d4 ") << "the tombstone at the compacted revision stays";
}

TEST(Service, EqualStatesHaveEqualHashesAndOthersDiffer) {
  Service first;
  Service second;
  run(first, "put a x -");
  run(first, "put b y -");
  run(second, "put b y -");
  run(second, "put a x -");
  EXPECT_NE(first.state_hash(), second.state_hash()) << "the revisions of the keys differ";

  Service third = first;
  EXPECT_EQ(third.state_hash(), first.state_hash());
  run(first, "put c x -");
  EXPECT_NE(third.state_hash(), first.state_hash());
  run(third, "put c x -");
  EXPECT_EQ(third.state_hash(), first.state_hash());
  run(first, "put c y -");
  run(third, "put c z -");
  EXPECT_NE(third.state_hash(), first.state_hash());
}

TEST(Service, ACopyIsIndependent) {
  Service first;
  run(first, "put a x -");
  Service second = first;
  run(second, "del a - -");
  EXPECT_EQ(TranscriptWriter::show(run(first, "get a - 0 0 -")),
            "get rev=2 count=1 more=0 [a:2:2:1:x]");
}

TEST(Service, QueriesAnswerReadsAndNothingElse) {
  Service service;
  run(service, "put a x -");
  const auto query = [&](const char* line) {
    return TranscriptWriter::show(service.query(TranscriptReader::request(line)));
  };
  EXPECT_EQ(query("get a - 0 0 -"), "get rev=2 count=1 more=0 [a:2:2:1:x]");
  EXPECT_EQ(query("txn [ ( mod a - = 2 ) ] [ get a - 0 0 - ] [ ]"),
            "txn rev=2 ok=1 { get rev=2 count=1 more=0 [a:2:2:1:x] ; }");
  EXPECT_EQ(query("txn [ ( mod a - = 2 ) ] [ get a - 0 0 - ] [ put a x - ]"),
            "error 3 etcdserver: key is not provided");
  EXPECT_EQ(service.revision(), Revision{2});
}

TEST(Requests, AreReadOnlyOrSerializableByAllTheirParts) {
  const auto request = [](const char* line) { return TranscriptReader::request(line); };
  EXPECT_TRUE(is_read_only(request("get a - 0 0 -")));
  EXPECT_FALSE(is_read_only(request("put a x -")));
  EXPECT_FALSE(is_read_only(request("compact 1")));
  EXPECT_TRUE(is_read_only(request("txn [ ] [ txn [ ] [ get a - 0 0 - ] [ ] ] [ ]")));
  EXPECT_FALSE(is_read_only(request("txn [ ] [ txn [ ] [ ] [ del a - - ] ] [ ]")));
  RangeRequest stale;
  stale.key = "a";
  stale.serializable = true;
  EXPECT_TRUE(is_serializable(stale));
  EXPECT_TRUE(is_serializable(TxnRequest{{}, {{stale}}, {}}));
  RangeRequest fresh = stale;
  fresh.serializable = false;
  EXPECT_FALSE(is_serializable(TxnRequest{{}, {{stale}}, {{fresh}}}));
  EXPECT_FALSE(is_serializable(TxnRequest{})) << "it has nothing that says so";
}

TEST(Validate, RefusesEmptyKeysEverywhere) {
  EXPECT_EQ(validate(RangeRequest{}), kEmptyKey);
  EXPECT_EQ(validate(PutRequest{}), kEmptyKey);
  EXPECT_EQ(validate(DeleteRangeRequest{}), kEmptyKey);
  EXPECT_EQ(validate(TxnRequest{{Compare{}}, {}, {}}), kEmptyKey);
  EXPECT_EQ(validate(TxnRequest{{}, {}, {{PutRequest{}}}}), kEmptyKey);
  EXPECT_EQ(validate(TxnRequest{{}, {{TxnRequest{{}, {{RangeRequest{}}}, {}}}}, {}}), kEmptyKey);
  EXPECT_EQ(validate(TxnRequest{}), std::nullopt);
  EXPECT_EQ(validate(CompactionRequest{}), std::nullopt);
}

TEST(Validate, BoundsTheSizeAndDepthOfTransactions) {
  TxnRequest txn;
  for (size_t i = 0; i < kTxnOpsMax; ++i)
    txn.success.push_back({PutRequest{std::to_string(i), "", false}});
  EXPECT_EQ(validate(txn), std::nullopt);
  txn.success.push_back({PutRequest{"x", "", false}});
  EXPECT_EQ(validate(txn), kTooManyOps);
  TxnRequest deep;
  for (int depth = 1; depth < kTxnDepthMax; ++depth) deep = TxnRequest{{}, {{deep}}, {}};
  EXPECT_EQ(validate(deep), std::nullopt);
  deep = TxnRequest{{}, {{deep}}, {}};
  EXPECT_EQ(validate(deep), kTooManyOps);
}

// --- Policies that are wrong on purpose ----------------------------------------------------------

struct Policy : Service {
  using Service::Service;
  bool write(const char* key, const char* value, int64_t wall_ms = 0) {
    return std::holds_alternative<Response>(apply(PutRequest{.key = key, .value = value}, wall_ms));
  }
  int64_t token(const char* key) const {
    const auto answer = std::get<Response>(query(RangeRequest{.key = key}));
    const auto& kvs = std::get<RangeResponse>(answer.body).kvs;
    return kvs.empty() ? 0 : kvs[0]->mod_revision.value;
  }
  bool write_if(const Compare& compare, const char* value) {
    TxnRequest txn;
    txn.compare.push_back(compare);
    txn.success.push_back({PutRequest{.key = compare.key, .value = value}});
    return std::get<TxnResponse>(std::get<Response>(apply(txn)).body).succeeded;
  }
  bool write_if(const char* key, int64_t token, const char* value) {
    return write_if({.target = CompareTarget::kMod, .key = key, .number = token}, value);
  }
};

TEST(ServicePolicy, WhoeverIgnoresGuardsWritesOverAnyVersionAndStillComparesValues) {
  Policy policy({.wrong_ignore_guards = true});
  policy.write("a", "1");
  EXPECT_TRUE(policy.write_if("a", 99, "2"));
  EXPECT_TRUE(policy.write_if("a", 0, "3"));
  EXPECT_EQ(policy.token("a"), 4);
  EXPECT_FALSE(policy.write_if({.target = CompareTarget::kValue, .key = "a", .value = "1"}, "4"));
  EXPECT_FALSE(policy.write_if({.target = CompareTarget::kCreate, .key = "a"}, "4"));
  EXPECT_TRUE(policy.write_if({.target = CompareTarget::kCreate, .key = "a", .number = 9}, "4"));
  EXPECT_TRUE(policy.write_if({.target = CompareTarget::kVersion, .key = "a", .number = 9}, "5"));
}

TEST(ServicePolicy, EveryKindOfTokenHonoursGuardsWhileNothingComesBack) {
  for (const TokenKind kind : {TokenKind::kRevision, TokenKind::kContentHash,
                               TokenKind::kKeyCounter, TokenKind::kWallClock}) {
    Policy policy({.token = kind});
    EXPECT_TRUE(policy.write_if("a", 0, "0"));
    policy.write("a", "1", 500);
    const int64_t token = policy.token("a");
    EXPECT_GT(token, 0);
    policy.write("a", "2", 600);
    EXPECT_NE(policy.token("a"), token);
    EXPECT_FALSE(policy.write_if("a", token, "3"));
    EXPECT_TRUE(policy.write_if("a", policy.token("a"), "3"));
    EXPECT_EQ(policy.token("b"), 0);
  }
}

TEST(ServicePolicy, AContentHashComesBackWithTheValue) {
  Policy policy({.token = TokenKind::kContentHash});
  policy.write("a", "x");
  const int64_t token = policy.token("a");
  policy.write("a", "y");
  policy.write("a", "x");
  EXPECT_TRUE(policy.write_if("a", token, "z"));
}

TEST(ServicePolicy, AKeysCounterStartsAgainWhenItIsMadeAnew) {
  Policy policy({.token = TokenKind::kKeyCounter});
  policy.write("a", "x");
  EXPECT_EQ(policy.token("a"), 1);
  policy.apply(DeleteRangeRequest{.key = "a"});
  policy.write("a", "y");
  EXPECT_TRUE(policy.write_if("a", 1, "z"));
  EXPECT_EQ(policy.token("a"), 2);
}

TEST(ServicePolicy, AClocksTokenIsThatOfTheNodeAndMayStandStillOrGoBack) {
  Policy policy({.token = TokenKind::kWallClock});
  policy.write("a", "x", 700);
  policy.write("a", "y", 700);
  EXPECT_EQ(policy.token("a"), 700);
  EXPECT_TRUE(policy.write_if("a", 700, "z"));
  policy.write("a", "y", 650);
  EXPECT_EQ(policy.token("a"), 650);
}

}  // namespace
}  // namespace assay::kv
