// `assay try`: clients that are right conform, and each classic mistake is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

bool has(const std::string& program) {
  return e2e::run({.argv = {"/bin/sh", "-c", "command -v " + program}}).code == 0;
}
#define SKIP_WITHOUT(program, package) \
  if (!has(program)) GTEST_SKIP() << "there is no " program " here (package " package ")"

class Try : public testing::Test {
 protected:
  Ended try_target(const std::string& target) const {
    Launch launch = assay({"try", target, "--json"});
    launch.folder = scratch_.path();
    return e2e::run(launch);
  }
  // The example in a folder of its own, with one line of one file changed.
  void copy_example(const std::string& file, const std::string& from, const std::string& to) const {
    fs::copy(std::string(ASSAY_SOURCE_DIR) + "/targets/third_party/examples/etcd", folder(),
             fs::copy_options::recursive);
    if (file.empty()) return;
    std::string text = text_of_file(folder() + "/" + file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << "the example no longer has: " << from;
    text.replace(at, from.size(), to);
    std::ofstream(folder() + "/" + file) << text;
  }
  std::string folder() const { return scratch_.path() + "/example"; }

  ScratchFolder scratch_;
};

std::string step_of(const Value& result, const std::string& grade, const std::string& words) {
  for (const Value& step : result["steps"].as_array()) {
    const std::string seen(step.text_or("seen", ""));
    const std::string all = std::string(step.text_or("step", "")) + " | " + seen + " | " +
                            std::string(step.text_or("mend", ""));
    if (step.text_or("grade", "") == grade && all.find(words) != std::string::npos) return all;
  }
  return "";
}

TEST_F(Try, TheBundledTargetsConform) {
  for (const char* target : {"memory", "raft"}) {
    const Ended ended = try_target(target);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_EQ(ended.json()["conforms"], Value(true)) << ended.out;
  }
}

TEST_F(Try, EtcdConforms) {
  SKIP_WITHOUT("etcd", "etcd-server");
  const Ended ended = try_target("etcd");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(Try, RedisConforms) {
  SKIP_WITHOUT("redis-server", "redis-server");
  SKIP_WITHOUT("redis-sentinel", "redis-sentinel");
  const Ended ended = try_target("redis");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
}

TEST_F(Try, AGoodClientProgramConforms) {
  SKIP_WITHOUT("etcd", "etcd-server");
  SKIP_WITHOUT("python3", "python3");
  copy_example("", "", "");
  const Ended ended = try_target(folder() + "/etcd.json");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_GE(ended.json()["steps"].as_array().size(), 12u) << ended.out;
  for (const char* fault : {"compact", "defragment", "no-space"})
    EXPECT_NE(step_of(ended.json(), "fine", std::string("own fault ") + fault), "") << ended.out;
}

struct Mistake {
  const char* name;
  const char* file;
  const char* from;
  const char* to;
  const char* grade;
  const char* words;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

constexpr Mistake kMistakes[] = {
    {"ATimeOutThatIsCalledAFailure", "etcd.json", R"("timeout": {"definite": false)",
     R"("timeout": {"definite": true)", "wrong", "a time-out is not a failure"},
    {"AHiddenRetry", "etcd_client.py",
     "    connection.request(\"POST\", path, json.dumps(body))\n"
     "    answer = connection.getresponse()\n",
     "    for attempt in range(2):\n"
     "        try:\n"
     "            connection.request(\"POST\", path, json.dumps(body))\n"
     "            answer = connection.getresponse()\n"
     "            break\n"
     "        except (OSError, http.client.HTTPException):\n"
     "            if attempt: raise\n"
     "            connection.close()\n"
     "            connection.auto_open = 1\n",
     "wrong", "a hidden retry"},
    {"ALostArgument", "etcd_client.py", "{\"id\": request[\"id\"], **answer}",
     "{\"id\": request[\"id\"], \"value\": None, **answer}", "wrong", "the value null"},
    {"ARefusalThatIsCalledUnknown", "etcd.json", R"("refused": {"definite": true)",
     R"("refused": {"definite": false)", "weak", "nothing was sent"},
    {"AMismatchThatIsCalledUnknown", "etcd_client.py", R"({"type": "fail", "at": at)",
     R"({"type": "info", "at": at)", "weak", "a mismatch is not unknown"},
    {"AFaultOfItsOwnThatIsNeverSeenInForce", "etcd_fault.py", "sys.exit(0 if alarms() else",
     "sys.exit(1 if alarms() else", "wrong", "\"verify\" must exit 0 while it is in force"},
};

class Mistakes : public Try, public testing::WithParamInterface<Mistake> {};
INSTANTIATE_TEST_SUITE_P(Of, Mistakes, testing::ValuesIn(kMistakes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Mistakes, AreNamed) {
  SKIP_WITHOUT("etcd", "etcd-server");
  SKIP_WITHOUT("python3", "python3");
  const Mistake& mistake = GetParam();
  copy_example(mistake.file, mistake.from, mistake.to);
  const Ended ended = try_target(folder() + "/etcd.json");
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_NE(step_of(ended.json(), mistake.grade, mistake.words), "") << ended.out << ended.err;
}

}  // namespace
}  // namespace assay::e2e
