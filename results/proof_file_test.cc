#include "results/proof_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>

#include "checkers/history/history_io.h"
#include "checkers/history/json_text.h"
#include "checkers/history/rng.h"
#include "checkers/history/test_history.h"
#include "results/schema.h"
#include "results/temp_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string lines_of(const History& history, const std::string& header = "") {
  std::string text = header;
  history.for_each_line([&](const Op& op) { append_line(text, op), text += '\n'; });
  return text;
}

Proof proof_of(const History& history) {
  auto proof = prove(history, Budget{});
  EXPECT_TRUE(proof) << proof.error().message;
  return *proof;
}

// What the script says of a history and a proof, both as texts.
class ProofFile : public testing::Test {
 protected:
  std::string verify(const std::string& history, const std::string& proof) {
    std::ofstream(folder_ / "history.jsonl") << history;
    std::ofstream(folder_ / "proof.jsonl") << proof;
    const std::string command = std::string("python3 ") + ASSAY_SOURCE_DIR +
                                "/checkers/verify_proof.py " + folder_.path() +
                                "/history.jsonl " + folder_.path() + "/proof.jsonl 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string said;
    for (int c; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
    const bool accepted = ::pclose(pipe) == 0;
    EXPECT_EQ(accepted, said.starts_with("verified: ")) << said;
    return said;
  }
  std::string verify(const History& history, const Proof& proof) {
    return verify(lines_of(history), proof_to_jsonl(proof, history));
  }

  TempFolder folder_;
};

struct Accepted {
  const char* name;
  const char* script;
  const char* header = "";
};

constexpr Accepted kAccepted[] = {
    {"a cas that failed, a write that nobody knows of", R"(
      0 invoke write k 1
      0 ok write k 1
      1 invoke cas k [2,3]
      1 fail cas k [2,3]
      2 invoke write k 2
      2 info write k 2
      3 invoke read k
      3 ok read k 2
      4 invoke write k 9
      4 info write k 9
      5 invoke write k 8
      5 fail write k 8)"},
    {"two keys, a delete, an initial value", R"(
      0 invoke read a
      1 invoke delete b
      0 ok read a 7
      1 ok delete b
      0 invoke read b
      0 ok read b null)",
     R"({"initial":{"a":7,"b":8}})"},
    {"a cas that compared a token, and one that was refused", R"(
      0 invoke cas k [1,2] expected=5
      0 fail cas k [1,2] error=conflict
      1 invoke cas k [null,2]
      1 fail cas k [null,2] error=refused
      1 invoke read k
      1 ok read k null)"},
    {"reads of null say nothing", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke read k
      0 ok read k null)",
     R"({"null_read":"unknown"})"},
    {"reads that are not claimed", R"(
      0 invoke write k 1
      0 ok write k 1
      0 invoke read k
      0 ok read k null)",
     R"({"claims":{"read":"stale"}})"},
    {"a mutex", R"(
      0 invoke acquire
      1 invoke acquire
      0 ok acquire
      0 invoke release
      0 ok release
      1 ok acquire)"},
    {"a set", R"(
      0 invoke add s 1
      1 invoke add s "1"
      1 info add s "1"
      0 ok add s 1
      0 invoke read s
      0 ok read s ["1",1]
      0 invoke remove s 1
      0 ok remove s 1
      0 invoke read s
      0 ok read s ["1"])"},
    {"texts that grow", R"(
      0 invoke append k "a"
      1 invoke put k "b"
      0 ok append k "a"
      1 ok put k "b"
      0 invoke append k "c"
      0 ok append k "c"
      0 invoke get k
      0 ok get k "bc")"},
    {"transactions in Jepsen's words", R"(
      0 invoke txn [["w","x",1],["r","y",null]]
      0 ok txn [["w","x",1],["r","y",null]]
      1 invoke txn [["r","x",null]]
      1 ok txn [["r","x",1]])"},
    {"transactions", R"(
      0 invoke txn [["write","x",1],["write","y",2]]
      1 invoke txn [["read","x",null],["read","y",null]]
      0 ok txn [["write","x",1],["write","y",2]]
      1 ok txn [["read","x",1],["read","y",2]])"},
};

TEST_F(ProofFile, TheScriptAcceptsTheProofOfEveryModelAndConvention) {
  for (const Accepted& c : kAccepted) {
    const History history = history_of(c.script, c.header);
    const Proof proof = proof_of(history);
    EXPECT_EQ(unproven_sentence(proof), "") << c.name;
    EXPECT_THAT(verify(history, proof), StartsWith("verified: ")) << c.name;
  }
}

// Processes on a few keys, each with a register that keeps its promise.
History simulated(uint64_t seed, int values) {
  struct Client {
    int64_t process;
    int stage = 0;
    Op op;
  };
  Rng rng(seed);
  HistoryBuilder builder;
  std::map<Symbol, Value> state;
  std::vector<Client> clients;
  int64_t next = 0, fresh = 0, lines = 0;
  auto add = [&](Op op) {
    op.index = lines++;
    op.time = milliseconds(op.index);
    const auto added = builder.add(op);
    EXPECT_TRUE(added) << added.error().message;
  };
  for (; next < 8; ++next) clients.push_back({next});
  auto value = [&] {
    return Value(values > 0 ? static_cast<int64_t>(rng.below(static_cast<uint64_t>(values))) : ++fresh);
  };
  for (int step = 0; step < 3000; ++step) {
    Client& c = clients[rng.below(clients.size())];
    if (c.stage == 0) {
      const Symbol key(rng.chance(1, 3) ? "a" : "b");
      c.op = op_of(std::to_string(c.process) + " invoke read " + std::string(key.text()));
      c.op.f = rng.chance(1, 3) ? f::read : rng.chance(1, 2) ? f::write : f::cas;
      if (c.op.f == f::write) c.op.value = value();
      if (c.op.f == f::cas) c.op.value = Value::pair(rng.chance(1, 2) ? state[key] : value(), value());
      add(c.op);
      c.stage = 1;
      continue;
    }
    const bool unknown = rng.chance(1, 8);
    OpType type = unknown ? OpType::kInfo : OpType::kOk;
    if (c.stage == 1) {  // it takes effect, or the answer and the effect are both lost
      Value& now = state[c.op.key];
      if (c.op.f == f::write && !(unknown && rng.chance(1, 2))) now = c.op.value;
      if (c.op.f == f::cas && c.op.value.as_array()[0] == now) {
        now = c.op.value.as_array()[1];
      } else if (c.op.f == f::cas && !unknown) {
        type = OpType::kFail;
      }
      c.op = complete(c.op, type);
      if (c.op.f == f::read && type == OpType::kOk) c.op.value = now;
      c.stage = 2;
      if (!unknown) continue;
    }
    add(c.op);
    if (c.op.type == OpType::kInfo) c.process = next++;
    c.stage = 0;
  }
  return builder.build();
}

TEST_F(ProofFile, TheScriptAcceptsSimulatedHistoriesWithUnknownAndFailedOperations) {
  for (int values : {0, 4}) {
    const History history = simulated(7, values);
    const Proof proof = proof_of(history);
    EXPECT_THAT(verify(history, proof), StartsWith("verified: ")) << values;
    int64_t failed = 0, unknown = 0;
    for (const PartProof& part : proof.parts) {
      for (uint32_t id : part.order) {
        failed += history[id].type() == OpType::kFail;
        unknown += history[id].type() == OpType::kInfo;
      }
    }
    EXPECT_GT(failed, 10) << values;
    EXPECT_GT(unknown, 10) << values;
  }
}

TEST_F(ProofFile, TheOrdersAreFoundInTheJudgementOfTheVerdict) {
  for (const Accepted& c : kAccepted) {
    const History history = history_of(c.script, c.header);
    Proof proof;
    const auto verdict = check_history(history, {"linearizable"}, Budget{}, &proof);
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(proof_to_jsonl(proof, history), proof_to_jsonl(proof_of(history), history)) << c.name;
    EXPECT_THAT(verify(history, proof), StartsWith("verified: ")) << c.name;
  }
  const History history = simulated(7, 4);
  const auto polls = [&](Proof* proof) {
    std::atomic<int> count = 0;
    Budget budget;
    budget.exhausted = [&] { return ++count < 0; };
    EXPECT_TRUE(check_history(history, {"linearizable"}, budget, proof));
    return count.load();
  };
  Proof proof;
  EXPECT_EQ(polls(&proof), polls(nullptr)) << "of the budget";
}

TEST_F(ProofFile, TheScriptRejectsWhatIsNotAProof) {
  const History history = history_of(kAccepted[0].script);  // in the order 0, 1, 2, 3
  const Proof proof = proof_of(history);
  const auto with = [&](std::vector<uint32_t> order) {
    Proof wrong = proof;
    wrong.parts[0].order = std::move(order);
    return verify(history, wrong);
  };
  ASSERT_EQ(proof.parts[0].order, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_THAT(with({0, 1, 3, 2}), HasSubstr("read 2, and there was 1")) << "swapped";
  EXPECT_THAT(with({0, 2, 1, 3}), HasSubstr("operation 2 had returned before")) << "swapped";
  EXPECT_THAT(with({1, 0, 2, 3}), HasSubstr("operation 0 had returned before")) << "real time";
  EXPECT_THAT(with({0, 1, 2}), HasSubstr("operations [6] are missing")) << "dropped";
  EXPECT_THAT(with({0, 2, 3}), HasSubstr("operations [2] are missing")) << "a failed cas dropped";
  EXPECT_THAT(with({0, 1, 2, 3, 3}), HasSubstr("operation 6 is not one, or comes twice"));
  EXPECT_THAT(with({0, 1, 2, 3, 5}), HasSubstr("operation 10 failed"));
  Proof twice = proof;
  twice.parts.push_back(twice.parts[0]);
  EXPECT_THAT(verify(history, twice), HasSubstr("['k'] come twice"));
  std::string changed = lines_of(history);
  const std::string unknown = R"("write","key":"k","value":2)";
  ASSERT_NE(changed.find(unknown), changed.npos);
  changed.replace(changed.find(unknown), unknown.size(), R"("write","key":"k","value":5)");
  EXPECT_THAT(verify(changed, proof_to_jsonl(proof, history)), HasSubstr("rejected"));
}

TEST_F(ProofFile, WhereAKeyIsNotValidTheOthersAreProven) {
  const History history = history_of(R"(
    0 invoke write a 1
    0 ok write a 1
    0 invoke read a
    0 ok read a null
    0 invoke read b
    0 ok read b null)");
  const Proof proof = proof_of(history);
  EXPECT_EQ(unproven_sentence(proof), "no proof of a: not valid");
  const std::string text = proof_to_jsonl(proof, history);
  EXPECT_THAT(text, HasSubstr(R"({"keys":["a"],"initial":[null],"verdict":"invalid"})"));
  EXPECT_THAT(text, HasSubstr(R"({"keys":["b"],"initial":[null],"order":[4]})"));
  EXPECT_THAT(verify(lines_of(history), text), HasSubstr("no order for ['a']: invalid"));
  size_t at = 0;
  for (size_t end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    const auto valid = validate_form(*parse_json(line, "proof"), "proof", line, "proof");
    EXPECT_TRUE(valid) << valid.error().message;
  }
  Proof of_one = proof;
  of_one.only_key = Symbol("a");
  const std::string said = proof_to_jsonl(of_one, history);
  const std::string head = said.substr(0, said.find('\n'));
  EXPECT_THAT(head, HasSubstr(R"("only_key":"a")"));
  const auto valid = validate_form(*parse_json(head, "proof"), "proof", head, "proof");
  EXPECT_TRUE(valid) << valid.error().message;
}

}  // namespace
}  // namespace assay
