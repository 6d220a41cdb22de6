// Bad input: one clear line, exit code 254, nothing left behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/e2e/program.h"

namespace assay::e2e {
namespace {

namespace fs = std::filesystem;

class BadInput : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = scratch_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  Ended assay_in_scratch(std::vector<std::string> arguments) {
    Launch launch = assay(std::move(arguments));
    launch.folder = scratch_.path();
    return run(launch);
  }
  void expect_refused(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& words) {
    const Ended ended = assay_in_scratch(arguments);
    std::string line;
    for (const auto& a : arguments) line += a + " ";
    EXPECT_EQ(ended.code, 254) << line << ended.out << ended.err;
    EXPECT_TRUE(ended.out.empty()) << line << ended.out;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << line << ended.err;
    for (const std::string& word : words)
      EXPECT_NE(ended.err.find(word), std::string::npos) << line << "\n" << ended.err;
    EXPECT_FALSE(fs::exists(scratch_.path() + "/results")) << line;
  }

  ScratchFolder scratch_;
};

TEST_F(BadInput, AnOutputIsNeverTheHistory) {
  const std::string text =
      "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n"
      "{\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\":null}\n";
  const std::string history = file("h.jsonl", text);
  fs::create_symlink(history, scratch_.path() + "/link.jsonl");
  const std::string words = "expected another file than the history itself";
  expect_refused({"check", "h.jsonl", "--html", "-o", "h.jsonl"}, {words});
  expect_refused({"check", "h.jsonl", "--proof", "link.jsonl"}, {words});
  expect_refused({"convert", "h.jsonl", "-o", "./h.jsonl", "--to", "edn"}, {words});
  expect_refused({"check", "h.jsonl", "--html", "-o", "p", "--proof", "p"}, {"each of two outputs"});
  std::ifstream in(history);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_F(BadInput, OnTheCommandLine) {
  expect_refused({"certainly", "--target", "raft"}, {"unknown command \"certainly\"", "run"});
  expect_refused({"certify", "--target", "rift"}, {"rift"});
  expect_refused({"certify", "--shard", "3/2"}, {"--shard", "3/2"});
  expect_refused({"experiment", "lost-updates"}, {"lost-updates", "lost-update"});
  expect_refused({}, {"subcommand"});
  expect_refused({"run", "--tarpit", "raft"}, {"--tarpit"});
  expect_refused({"run", "--target", "rift"}, {"unknown target \"rift\"", "raft, etcd"});
  expect_refused({"run", "--workload", "registrar"}, {"unknown workload", "register"});
  expect_refused({"run", "--nemesis", "earthquake"}, {"unknown nemesis", "partition"});
  expect_refused({"run", "--nemesis", "kill:king"}, {"kill \"king\"", "leader"});
  expect_refused({"run", "--target", "memory", "--nemesis", "kill"}, {"kill", "has no nodes"});
  expect_refused({"run", "--net", "host", "--nemesis", "partition"}, {"partition", "--net host"});
  expect_refused({"run", "--nodes", "none"}, {"--nodes", "none"});
  expect_refused({"run", "--time-limit", "soon"}, {"--time-limit", "soon"});
  expect_refused({"run", "--set", "raft.colour=red"}, {"raft.colour"});
  expect_refused({"run", "--expect", "maybe"}, {"--expect", "maybe"});
  expect_refused({"run", "--seeds", "9..3"}, {"--seeds", "9..3"});
  expect_refused({"run", "--seed", "1", "--seeds", "1..2"}, {"--seed"});
  expect_refused({"check", "--model", "queue",
                  file("h.jsonl", "{\"process\":0,\"type\":\"ok\",\"f\":\"read\"}\n")},
                 {"h.jsonl"});
  expect_refused({"list", "stars"}, {"stars"});
  expect_refused({"schema", "poem"}, {"poem", "verdict"});
  expect_refused({"explain", "love"}, {"love", "exit-codes", "option"});
  expect_refused({"report", "nowhere"}, {"nowhere"});
  expect_refused({"rerun", "nowhere"}, {"nowhere"});
  expect_refused({"shell", "nowhere", "n1"}, {"nowhere"});
}

TEST_F(BadInput, InASpecFile) {
  expect_refused({"run", file("a.json", "{\n  \"nodes\": 3,\n  \"colour\": 1\n}")},
                 {"a.json:3:3", "colour"});
  expect_refused({"run", file("b.json", "{\"nodes\": 3")}, {"b.json:1:"});
  expect_refused(
      {"run", file("c.json", "{\n\"workload\": \"script\",\n\"script\": [{\"f\": \"fly\"}]}")},
      {"step 1"});
  expect_refused(
      {"run", file("d.json", "{\"script\": [{\"on\": \"n1\", \"f\": \"read\", \"key\": \"k\"}]}")},
      {"has a script", "--workload script"});
  expect_refused({"run", "missing.json"}, {"missing.json"});
}

TEST_F(BadInput, InAHistory) {
  const std::string head =
      "{\"format\":\"assay-history\",\"version\":1,\"time_unit\":\"ns\",\"model\":\"register\"}\n";
  const std::string invoke =
      "{\"index\":0,\"time\":1,\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"key\":\"k\","
      "\"value\":1}\n";
  const std::string ok =
      "{\"index\":1,\"time\":2,\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"key\":\"k\","
      "\"value\":1}\n";
  expect_refused({"check", file("empty", "")}, {"empty"});
  expect_refused({"check", file("garbage", "hello\n")}, {"garbage:1:"});
  expect_refused({"check", file("binary", std::string("\x00\x01\xff\n", 4))}, {"binary:1:"});
  expect_refused({"check", file("future", "{\"format\":\"assay-history\",\"version\":2}\n")},
                 {"future:1:", "version"});
  expect_refused(
      {"check", file("nameless", "{\"format\":\"assay-history\",\"version\":1,\"model\":\"\"}\n")},
      {"nameless:1:", "the name of a model", "\"\""});
  expect_refused({"check", "nameless", "--model", ""}, {"--model", "the name of a model"});
  expect_refused({"check", "nameless", "--memory", ""}, {"--memory", "a size such as 8G", "\"\""});
  expect_refused({"convert", "nameless", "-o", "-", "--to", "edn", "--memory", ""}, {"--memory"});
  expect_refused({"check", file("shuffled", head + ok + invoke)}, {"shuffled:2"});
  expect_refused({"check", file("middle", head + invoke.substr(0, 40) + "\n" + ok)}, {"middle:2:"});
  expect_refused({"check", file("twice", head + invoke + invoke)}, {"twice:3"});
  expect_refused(
      {"check",
       file("type",
            head + "{\"index\":0,\"time\":1,\"process\":0,\"type\":\"maybe\",\"f\":\"read\"}\n")},
      {"type:2:", "maybe"});
  for (const std::string verb : {"check", "convert"}) {
    std::vector<std::string> arguments = {verb, "missing"};
    if (verb == "convert") arguments.insert(arguments.end(), {"-o", "out.edn"});
    expect_refused(arguments,
                   {"there is no file or folder \"missing\", nor a run of that name in "});
    arguments[1] = "no/where";
    expect_refused(arguments, {"there is no file or folder \"no/where\"\n"});
  }
  expect_refused({"check", file("map.edn", "{:process 0, :type :invoke, :f :read\n")},
                 {"map.edn:2:1: expected '}' to close what begins at 1:1"});
  expect_refused({"check", file("op.log", "INFO  jepsen.util - 2 :invok :cas [3 4]\n")},
                 {"op.log:1:23: expected", "invok"});
  expect_refused({"check", file("packed", "\x1f\x8b\x08")},
                 {"packed:1:1: expected whole gzip data"});
  expect_refused({"check", "--from", "edn", file("lines", head + invoke)}, {"lines:1:"});
  expect_refused({"check", "--from", "xml", "lines"}, {"--from", "xml"});
  expect_refused({"check", "--independent", "maybe", "lines"}, {"--independent", "maybe"});
  expect_refused({"convert", "lines"}, {"--output"});
  expect_refused({"convert", "lines", "-o", "lines.txt"}, {"--to", "jsonl or edn", "lines.txt"});
  expect_refused({"convert", "missing", "-o", "lines.edn"}, {"missing"});
  expect_refused({"convert", file("broken", head + ok), "-o", "lines.edn"}, {"broken:2:1"});
  EXPECT_FALSE(fs::exists(scratch_.path() + "/lines.edn"));
  fs::create_directory(scratch_.path() + "/store");
  file("store/test.jepsen", "JEPSEN");
  expect_refused({"check", "store"}, {"store", "history.edn", "test.jepsen"});
}

TEST_F(BadInput, AnOperationThatDoesNotFitTheModelIsNamedByItsPlace) {
  const std::string head = "{\"format\":\"assay-history\",\"version\":1}\n\n";
  const auto lines = [](const std::string& f, const std::string& asked, const std::string& answer) {
    const std::string common = "{\"process\":0,\"f\":\"" + f + "\",\"key\":\"k\",";
    return common + "\"type\":\"invoke\",\"value\":" + asked + "}\n" + common +
           "\"type\":\"ok\",\"value\":" + answer + "}\n";
  };
  const std::string put = lines("put", "\"a\"", "\"a\"");
  expect_refused({"check", "--model", "kv", file("kv", head + put + lines("append", "5", "5"))},
                 {"kv:5:1: append needs a text, found 5"});
  expect_refused({"check", "--model", "set", file("f", put)}, {"f:1:1: the model set judges"});
  expect_refused({"check", "--model", "register", file("r", head + put)},
                 {"r:3:1: the model of a register judges"});
  expect_refused({"check", file("cas", lines("read", "null", "1") + lines("cas", "1", "1"))},
                 {"cas:3:1: a cas needs [expected, new]"});
  const std::string read = lines("read", "null", "1");
  expect_refused({"check", "--model", "set", file("answer", lines("add", "1", "1") + read)},
                 {"answer:4:1: read needs an array of elements as its answer, found 1"});
  expect_refused({"check", "--key", "k", "--model", "kv", file("key", "\n" + read)}, {"key:2:1: "});
  expect_refused({"check", "--model", "mutex",
                  file("form.edn",
                       ";; none\n{:process 0, :type :invoke, :f :acquire}  "
                       "{:process 1, :type :invoke, :f :read}")},
                 {"form.edn:2:43: the model mutex judges acquire and release, not read"});
  const std::string no_key =
      "{\"process\":1,\"type\":\"invoke\",\"f\":\"read\"}\n{\"process\":1,\"type\":\"ok\",\"f\":"
      "\"read\"}\n";
  expect_refused({"check", file("mixed", read + no_key)},
                 {"mixed:3:1: expected a key as operation 0 has one, \"k\", found none"});
  expect_refused({"check", "--model", "queue", "kv"}, {"kv: the model queue is not known"});
}

TEST_F(BadInput, AnInitialValueIsOneOfTheModelAndOfAKeyThatOccurs) {
  const std::string text =
      "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\",\"key\":\"x\"}\n"
      "{\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"key\":\"x\",\"value\":1}\n";
  file("x", text);
  file("xz", text + "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\",\"key\":\"z\"}\n");
  expect_refused({"check", "--model", "set", "--initial", "5",
                  file("s", "{\"process\":0,\"type\":\"invoke\",\"f\":\"add\",\"value\":1}\n")},
                 {"s: initial: the model set begins with an array"});
  expect_refused({"check", "--initial", R"({"y":1})", "x"},
                 {"x: initial: an object gives the initial value by key", "the key \"y\""});
  const Ended some = assay_in_scratch({"check", "--initial", R"({"x":1,"y":2})", "x"});
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_EQ(some.err,
            "warning: the initial value of \"y\" is not used: no operation has that key\n");
  const Ended of_one =
      assay_in_scratch({"check", "--initial", R"({"x":1,"z":2})", "--key", "x", "xz"});
  EXPECT_EQ(of_one.code, 0) << of_one.err;
  EXPECT_EQ(of_one.err, "");
}

TEST_F(BadInput, AJepsenFolderIsNone) {
  fs::create_directory(scratch_.path() + "/store");
  file(
      "store/history.edn",
      "{:process 0, :type :invoke, :f :write, :value 1}\n{:process 0, :type :ok, :f :write, :value "
      "1}\n{:process 1, :type :invoke, :f :read, :value nil}\n{:process 1, :type :ok, :f :read, "
      ":value 2}\n");
  EXPECT_EQ(assay_in_scratch({"check", "store"}).code, 1);
  EXPECT_EQ(assay_in_scratch({"convert", "store", "-o", "h.jsonl.gz"}).code, 0);
  EXPECT_EQ(assay_in_scratch({"check", "h.jsonl.gz"}).code, 1);
  const Ended edn = assay_in_scratch({"convert", "h.jsonl.gz", "-o", "-", "--to", "edn"});
  EXPECT_EQ(edn.code, 0) << edn.err;
  EXPECT_NE(edn.out.find("{:index 3, :type :ok, :process 1, :f :read, :value 2}\n"),
            std::string::npos)
      << edn.out;
}

TEST_F(BadInput, ATornTailIsNoDamage) {
  const std::string head =
      "{\"format\":\"assay-history\",\"version\":1,\"time_unit\":\"ns\",\"model\":\"register\"}\n";
  const Ended ended = assay_in_scratch(
      {"check",
       file("torn", head + "{\"index\":0,\"time\":1,\"process\":0,\"type\":\"invoke\",\"f\":"
                           "\"write\",\"key\":\"k\",\"value\":1}\n{\"index\":1,\"ti")});
  EXPECT_NE(ended.code, 254) << ended.err;
  EXPECT_NE(ended.code, 255) << ended.err;
  EXPECT_NE(ended.err.find("torn"), std::string::npos) << ended.err;
}

TEST_F(BadInput, EveryCommandHasHelp) {
  for (const char* verb : {"run", "rerun", "check", "convert", "report", "list", "shell", "explain",
                           "schema", "version"}) {
    const Ended ended = assay_in_scratch({verb, "--help"});
    EXPECT_EQ(ended.code, 0) << verb;
    EXPECT_NE(ended.out.find(verb), std::string::npos) << verb;
  }
  EXPECT_EQ(assay_in_scratch({"--help"}).code, 0);
}

TEST_F(BadInput, AnOutputThatCannotBeWrittenIsNoticedBeforeTheWork) {
  file("h", "not a history");  // nobody reads it
  fs::create_directory(scratch_.path() + "/folder");
  const std::vector<std::pair<std::string, std::string>> outs = {
      {"no/x", "cannot write no/x: No such file or directory"},
      {"folder", "cannot write folder: Is a directory"},
      {"", "cannot write to a file without a name"}};
  for (const auto& [out, words] : outs) {
    expect_refused({"check", "h", "--html", "-o", out}, {words});
    expect_refused({"check", "h", "--proof", out}, {words});
    expect_refused({"convert", "h", "--to", "edn", "-o", out}, {words});
  }
  expect_refused({"check", "h", "--proof", "./p", "--html", "-o", "p"}, {"each of two outputs"});
  expect_refused({"check", "h", "--proof", "p"}, {"h:1:2"});
  for (const auto& entry : fs::directory_iterator(scratch_.path()))
    EXPECT_EQ(entry.path().extension(), "") << entry.path();
}

TEST_F(BadInput, AnOutputThatCannotBeFinishedHidesNoFailure) {
  const std::string stale =
      "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n"
      "{\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\":";
  file("invalid", stale + "1}\n");
  file("valid", stale + "null}\n");
  EXPECT_EQ(assay_in_scratch({"check", "invalid", "--html", "-o", "/dev/full"}).code, 1);
  const Ended valid = assay_in_scratch({"check", "valid", "--proof", "/dev/full"});
  EXPECT_EQ(valid.code, 255);
  EXPECT_EQ(valid.err, "assay: cannot write /dev/full: No space left on device\n");
}

bool is_waiting(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return static_cast<bool>(file >> number >> name >> state) && state == "S";
}

TEST_F(BadInput, WhoeverIsInterruptedWhileReadingLeavesNothingBehind) {
  const std::vector<std::string> lines[] = {{"convert", "-", "-o", "out.jsonl"},
                                            {"check", "-", "--html", "-o", "out", "--proof", "p"}};
  for (const int number : {SIGINT, SIGTERM}) {
    for (const auto& line : lines) {
      SCOPED_TRACE(line[0]);
      int pipe[2];
      ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
      Launch launch = assay(line);
      launch.folder = scratch_.path();
      launch.before_exec = [&] { ::dup2(pipe[0], STDIN_FILENO); };
      Program program(launch);  // reads, and the pipe has nothing
      const std::string last = scratch_.path() + (line[0] == "check" ? "/p.part" : "/out.jsonl.part");
      EXPECT_TRUE(eventually([&] { return fs::exists(last); }, std::chrono::seconds(20)));
      // It knows what to remove once it waits for its input.
      EXPECT_TRUE(eventually([&] { return is_waiting(program.pid()); }, std::chrono::seconds(20)));
      program.signal(number);
      const Ended ended = program.wait();
      EXPECT_EQ(ended.code, 130);
      EXPECT_EQ(ended.err, "assay: interrupted\n");
      for (const auto& entry : fs::directory_iterator(scratch_.path()))
        EXPECT_NE(entry.path().extension(), ".part") << entry.path();
      ::close(pipe[0]), ::close(pipe[1]);
    }
  }
}

// What standard output is, and what is said of it.
TEST(BadOutput, WhatCannotBeWrittenIsAFailure) {
  const std::pair<std::function<void()>, std::string> cases[] = {
      {[] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); }, "No space left on device"},
      {[] { ::close(STDOUT_FILENO); }, "Bad file descriptor"},
      {[] {
         int pipe[2];
         if (::pipe(pipe) != 0) return;
         ::dup2(pipe[1], STDOUT_FILENO);
         ::close(pipe[0]), ::close(pipe[1]);
       },
       "Broken pipe"},
  };
  const ScratchFolder scratch;
  const std::string history = scratch.path() + "/h";
  std::ofstream(history) << "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n"
                            "{\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\":null}\n";
  for (const auto& [before, cause] : cases) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"list", "targets"},
          {"check", history},
          {"check", history, "--json"},
          {"convert", history, "--to", "edn", "-o", "-"},
          {"check", history, "--proof", "-"}}) {
      Launch launch = assay(arguments);
      launch.before_exec = before;
      const Ended ended = e2e::run(launch);
      EXPECT_EQ(ended.code, 255) << cause << ": " << arguments[0] << ended.err;
      EXPECT_NE(ended.err.find("assay: cannot write "), std::string::npos) << cause << ended.err;
      EXPECT_NE(ended.err.find("standard output: " + cause + "\n"), std::string::npos) << ended.err;
    }
  }
}

}  // namespace
}  // namespace assay::e2e
