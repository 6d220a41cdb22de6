// Formats by their content, Porcupine's logs, compressed files, and what comes out again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "checkers/history/compressed.h"
#include "checkers/history/history_collector.h"
#include "checkers/history/history_export.h"
#include "checkers/history/history_io.h"
#include "checkers/history/history_readers.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class StringSink : public ByteSink {
 public:
  explicit StringSink(std::string& text) : text_(text) {}
  Result<void> write(std::string_view bytes) override {
    text_ += bytes;
    return {};
  }
  Result<void> close() override { return {}; }

 private:
  std::string& text_;
};

std::string exported(const History& history, HistoryFormat format) {
  std::string text;
  StringSink sink(text);
  EXPECT_TRUE(write_history(history, sink, format));
  return text;
}

History read_text(const std::string& text, const ReadOptions& options = {}) {
  Result<History> history = parse_history(text, "h", options);
  EXPECT_TRUE(history.ok()) << history.error().message << "\n" << text;
  return history.ok() ? std::move(*history) : History();
}

std::string refused(const std::string& text, const ReadOptions& options = {}) {
  const Result<History> history = parse_history(text, "h", options);
  EXPECT_FALSE(history.ok()) << text;
  if (history.ok()) return "";
  EXPECT_EQ(history.error().fault, Fault::kInput);
  EXPECT_EQ(history.error().message.find('\n'), std::string::npos) << history.error().message;
  return history.error().message;
}

// --- By content --------------------------------------------------------------------------------

TEST(Formats, AreGuessedFromTheFirstBytes) {
  const std::pair<const char*, HistoryFormat> cases[] = {
      {"", HistoryFormat::kJsonl},
      {"hello", HistoryFormat::kJsonl},
      {"{}", HistoryFormat::kJsonl},
      {"{'a", HistoryFormat::kJsonl},
      {"[{\"process\":0", HistoryFormat::kJsonl},
      {"[1,2]", HistoryFormat::kJsonl},
      {"\xef\xbb\xbf{\"process\":0", HistoryFormat::kJsonl},
      {" \n{ \"process\" : 0", HistoryFormat::kJsonl},
      {"{:process 0", HistoryFormat::kEdn},
      {"\xef\xbb\xbf{:process 0", HistoryFormat::kEdn},
      {"{ ; why\n :process 0", HistoryFormat::kEdn},
      {"[{:process 0", HistoryFormat::kEdn},
      {"(\n; why\n{:process 0", HistoryFormat::kEdn},
      {"; a comment\n\n{:process 0", HistoryFormat::kEdn},
      {"#jepsen.history.Op{:index 0", HistoryFormat::kEdn},
      {"[#jepsen.history.Op{:index 0", HistoryFormat::kEdn},
      {"[]", HistoryFormat::kEdn},
      {";; assay-history\n{:f :get, :key \"0\"}", HistoryFormat::kEdn},
      {"{:process 0, :type :invoke, :f :get, :key \"0\", :value nil}", HistoryFormat::kPorcupineKv},
      {"{:process 0, :type :invoke, :f :get, :value nil}", HistoryFormat::kEdn},
      {"INFO  jepsen.util - 2 :invoke :cas [3 4]", HistoryFormat::kPorcupineEtcd},
      {"2024-05-01 INFO [main] jepsen.core - Up\n2024-05-01 INFO [w] jepsen.util - 0 :invoke",
       HistoryFormat::kPorcupineEtcd},
      {"0\t:invoke\t:read\tnil", HistoryFormat::kPorcupineEtcd},
      {":nemesis\t:info\t:start\tnil", HistoryFormat::kPorcupineEtcd},
  };
  for (const auto& [text, format] : cases)
    EXPECT_EQ(static_cast<int>(format_that_fits(text)), static_cast<int>(format)) << text;
}

TEST(Formats, HaveNames) {
  EXPECT_THAT(history_format_names(),
              ElementsAre("jsonl", "edn", "porcupine-etcd", "porcupine-kv"));
  for (const std::string& name : history_format_names()) EXPECT_TRUE(history_format(name)) << name;
  EXPECT_FALSE(history_format("xml"));
}

TEST(Formats, AJepsenTestFileIsNamed) {
  EXPECT_THAT(refused(std::string("JEPSEN\0\0\0\1", 10)),
              StartsWith("h:1:1: expected a history, found Jepsen's binary test.jepsen: "));
}

// --- Porcupine's logs --------------------------------------------------------------------------

std::string lines_of_log(const std::string& text, std::vector<std::string>* warnings = nullptr) {
  const History history = read_text(text, {.format = HistoryFormat::kPorcupineEtcd});
  if (warnings != nullptr) *warnings = history.warnings();
  return exported(history, HistoryFormat::kJsonl);
}

TEST(PorcupineEtcd, LinesAreOperations) {
  const std::string wanted =
      R"({"index":0,"process":2,"type":"invoke","f":"cas","value":[3,4]})"
      "\n"
      R"({"index":1,"process":0,"type":"invoke","f":"read"})"
      "\n"
      R"({"index":2,"process":2,"type":"info","f":"cas","value":[3,4],"error":{"class":"timed-out"}})"
      "\n"
      R"({"index":3,"process":0,"type":"fail","f":"read","error":{"class":"timed-out"}})"
      "\n";
  EXPECT_EQ(lines_of_log("INFO  jepsen.util - 2 :invoke :cas [3 4]\n"
                         "INFO  jepsen.util - 0\t:invoke\t:read\tnil\r\n"
                         "\n"
                         "INFO  jepsen.util - 2\t:info\t:cas\t:timed-out\n"
                         "INFO  jepsen.util - 0 :fail :read :timed-out\n"),
            wanted);
  std::vector<std::string> warnings;
  EXPECT_EQ(lines_of_log("2024-05-01 00:00:01 INFO [jepsen node n1] jepsen.db: set up\n"
                         "2024-05-01 INFO [jepsen worker 2] jepsen.util: 2 :invoke :cas [3 4]\n"
                         "INFO  jepsen.util - Waiting for the nodes\n"
                         "0\t:invoke\t:read\tnil\n"
                         "2\t:info\t:cas\t[3 4]\t:timed-out\n"
                         "  at java.lang.Thread.run (Thread.java:748)\n"
                         "0\t:fail\t:read\tnil\t:timed-out\n",
                         &warnings),
            wanted);
  EXPECT_THAT(warnings, ElementsAre("3 lines of the log are no operations, first line 1"));
}

TEST(PorcupineEtcd, ErrorsNameLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"INFO  jepsen.util - 2 :invoke :cas [3 4\n",
       "h:1:40: expected ']' to close what begins at 1:36, found the end of the file"},
      {"INFO  jepsen.util - 2 :invok :cas [3 4]\n",
       "h:1:23: expected \"invoke\", \"ok\", \"fail\" or \"info\" as \"type\", found \"invok\""},
      {"INFO  jepsen.util - 2 :invoke :read\n",
       "h:1:36: expected process, :type, :f and value, found 3 of them"},
      {"INFO  jepsen.util - 2 :invoke :read nil nil 7\n",
       "h:1:45: expected the end of the line, found a sixth column"},
      {"INFO  jepsen.util - 2 :ok :read 4\n",
       "h:1:21: expected an invocation of process 2 before its completion, found ok of \"read\" "
       "alone"},
      {"", "h:1:1: expected an operation of jepsen.util, found nothing"},
      {"\nINFO  jepsen.util - no\n{}\n",
       "h:2:1: expected an operation of jepsen.util, as no line is one, found \"INFO  jepsen.util "
       "- "
       "no\""},
      {"{\"process\":0}\nx\n",
       "h:1:1: expected an operation of jepsen.util, as no line is one, found "
       "\"{\\\"process\\\":0}\""},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(refused(text, {.format = HistoryFormat::kPorcupineEtcd}), message) << text;
}

TEST(PorcupineEtcd, ATornTailIsDroppedWithAWarning) {
  std::vector<std::string> warnings;
  const std::string line = "INFO  jepsen.util - 2 :invoke :write 3\n";
  const std::string wanted = lines_of_log(line);
  for (const std::string tail :
       {"INFO  jepsen.util - 3 :inv", "INFO  jepsen.util - 3 :invoke :cas [3"}) {
    EXPECT_EQ(lines_of_log(line + tail, &warnings), wanted);
    EXPECT_THAT(warnings, ElementsAre("torn_tail: the last line, 2, is cut off and was dropped"));
  }
  lines_of_log(line + "INFO  jepsen.util - 3 :invoke :cas [3 4]", &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  lines_of_log(line + "INFO  jepsen.util - 3 :invoke :write 1\nINFO  jepsen.util - 3 :ok :write 1",
               &warnings);
  EXPECT_THAT(warnings, ElementsAre("the last line has no newline: its value may be cut off"));
}

TEST(PorcupineKv, HasKeysAndBeginsWithNothing) {
  const History history = read_text(
      "{:process 0, :type :invoke, :f :append, :key \"0\", :value \"x 0 0 y\"}\n"
      "{:process 0, :type :ok, :f :append, :key \"0\", :value \"x 0 0 y\"}\n"
      "{:process 0, :type :invoke, :f :get, :key \"7\", :value nil}\n"
      "{:process 0, :type :ok, :f :get, :key \"7\", :value \"\"}\n");
  EXPECT_EQ(history.header().initial, Value(""));
  EXPECT_EQ(history[1].key().text(), "7");
  EXPECT_EQ(history[1].result(), Value(""));
  EXPECT_EQ(refused("{:process 0, :type :invoke, :f :del, :key \"0\", :value nil}",
                    {.format = HistoryFormat::kPorcupineKv}),
            "h:1:1: expected :get, :put or :append as :f, found :del");
  EXPECT_EQ(refused("{:process 0, :type :invoke, :f :get, :value nil}",
                    {.format = HistoryFormat::kPorcupineKv}),
            "h:1:1: expected a text as :key, found none");
  EXPECT_EQ(refused("{:process 0, :type :invoke, :f :put, :key \"0\", :value 1}",
                    {.format = HistoryFormat::kPorcupineKv}),
            "h:1:1: expected a text or nil as :value, found 1");
  for (const char* nothing : {"", "\n", "{:process 0, :ty"}) {
    EXPECT_THAT(refused(nothing, {.format = HistoryFormat::kPorcupineKv}), HasSubstr(": expected "))
        << nothing;
  }
  EXPECT_EQ(refused("", {.format = HistoryFormat::kPorcupineKv}),
            "h:1:1: expected an operation, found nothing");
}

// --- What comes out again ----------------------------------------------------------------------

TEST(Export, JsonLinesThroughEdnAreTheSame) {
  const std::string header =
      R"({"format":"assay-history","version":1,"time_unit":"ns","initial":{"x":0},"free":["a b",1.0]})"
      "\n";
  const std::string lines =
      R"({"index":3,"time":10,"process":0,"type":"invoke","f":"cas","key":"k/1","value":[1,2],"expected":7,"scheduled":9})"
      "\n"
      R"({"index":4,"time":11,"process":"nemesis","type":"info","f":"start-kill","value":{"node":"n1","odd name":[null,true]}})"
      "\n"
      R"({"index":9,"time":12,"process":0,"type":"fail","f":"cas","key":"k/1","value":[1,2],"node":"n2","revision":77,"at":"r-1","error":{"class":"conflict","text":"a \"quote\" \\ \u0001","current":78,"more":{"x":1e+30}},"intent":"lost","a b":{":x":"nil"}})"
      "\n"
      R"({"index":10,"time":13,"process":"observer","type":"info","f":"status","value":{"node":"n1","term":-0.5}})"
      "\n"
      R"({"index":11,"time":13,"process":40000000000,"type":"invoke","f":"odd word","key":"k","value":")"
      "\xf0\x9f\x98\x80"
      R"("})"
      "\n"
      R"({"index":12,"time":13,"process":1,"type":"invoke","f":"read","value":["k",null]})"
      "\n"
      R"({"index":13,"time":13,"process":1,"type":"info","f":"read","error":{"class":"timeout"},":node":[1]})"
      "\n";
  for (const std::string& text : {header + lines, lines}) {
    const History history = read_text(text);
    EXPECT_EQ(exported(history, HistoryFormat::kJsonl), text);
    const std::string edn = exported(history, HistoryFormat::kEdn);
    EXPECT_THAT(edn, StartsWith(";; assay-history"));
    const History again = read_text(edn);
    EXPECT_EQ(exported(again, HistoryFormat::kJsonl), text) << edn;
    EXPECT_EQ(again.header().present, history.header().present);
  }
}

TEST(Export, EdnIsWhatJepsenWrites) {
  const History history =
      read_text(R"({"time":5,"process":0,"type":"invoke","f":"cas","value":[1,2]})"
                "\n"
                R"({"time":6,"process":0,"type":"info","f":"cas","value":[1,2],"error":"timeout"})"
                "\n");
  EXPECT_EQ(
      exported(history, HistoryFormat::kEdn),
      ";; assay-history\n"
      "{:index 0, :time 5, :type :invoke, :process 0, :f :cas, :value [1 2]}\n"
      "{:index 1, :time 6, :type :info, :process 0, :f :cas, :value [1 2], :error :timeout}\n");
}

TEST(Export, ABrokenHeaderOfOursIsToldWithItsColumn) {
  EXPECT_EQ(refused(";; assay-history {\"format\":\"assay-history\",\"version\":2}\n"),
            "h:1:54: expected 1 as \"version\", found 2");
  EXPECT_THAT(refused(";; assay-history {\"format\"\n"), StartsWith("h:1:27: expected "));
}

// --- Files -------------------------------------------------------------------------------------

class FormatFiles : public ::testing::Test {
 protected:
  FormatFiles() {
    char name[] = "/tmp/assay-formats-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~FormatFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string packed_text(Packing packing, const std::string& text) {
    std::string bytes;
    const auto sink = packed(packing, std::make_unique<StringSink>(bytes));
    EXPECT_TRUE(sink->write(text));
    EXPECT_TRUE(sink->close());
    return bytes;
  }
  std::string folder_;
};

std::string some_lines(int operations) {
  std::string text;
  for (int i = 0; i < operations; ++i) {
    const std::string common = R"(,"f":"write","key":"k)" + std::to_string(i % 7) +
                               R"(","value":)" + std::to_string(i * 7919) + "}\n";
    for (const char* type : {"invoke", "ok"})
      text += R"({"index":)" + std::to_string(2 * i + (type[0] == 'o')) +
              R"(,"process":0,"type":")" + type + '"' + common;
  }
  return text;
}

TEST_F(FormatFiles, CompressedOnesAreReadAndWritten) {
  const std::string text = some_lines(20'000);
  const History history = read_text(text);
  for (const char* name : {"h.jsonl", "h.jsonl.gz", "h.jsonl.zst"}) {
    ASSERT_TRUE(write_history(history, path(name), HistoryFormat::kJsonl)) << name;
    const Result<History> again = read_history(path(name));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(exported(*again, HistoryFormat::kJsonl) == text) << name;
  }
  EXPECT_LT(std::filesystem::file_size(path("h.jsonl.gz")) * 4, text.size());
  EXPECT_LT(std::filesystem::file_size(path("h.jsonl.zst")) * 4, text.size());
}

TEST_F(FormatFiles, AFileIsWrittenWholeOrNotAtAll) {
  const History history = read_text(some_lines(10));
  const auto text_of = [&](const char* name) {
    std::ifstream in(path(name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::ofstream(path("h.jsonl")) << "what was there";
  std::ofstream(path("h.jsonl.part")) << "somebody's";
  {
    auto file = OutputFile::open(path("h.jsonl"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE((*file)->write("half"));
    EXPECT_TRUE(std::filesystem::exists((*file)->part()));
  }
  EXPECT_EQ(text_of("h.jsonl"), "what was there") << "it was not closed";
  EXPECT_TRUE(write_history(history, path("h.jsonl"), HistoryFormat::kJsonl));
  EXPECT_EQ(text_of("h.jsonl").size(), exported(history, HistoryFormat::kJsonl).size());
  EXPECT_EQ(text_of("h.jsonl.part"), "somebody's");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 2);
}

TEST_F(FormatFiles, AnOutputThatCannotBeWrittenIsNoticedWhenItIsOpened) {
  for (const std::string& name : {path("no/h.jsonl"), path(""), std::string()}) {
    const auto file = OutputFile::open(name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().fault, Fault::kInput);
    EXPECT_THAT(file.error().message, StartsWith("cannot write " + name)) << name;
  }
}

TEST_F(FormatFiles, WhatIsNoFileIsWrittenToAndNeverReplaced) {
  const History history = read_text(some_lines(10));
  EXPECT_TRUE(write_history(history, "/dev/null", HistoryFormat::kJsonl));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const auto full = write_history(history, "/dev/full", HistoryFormat::kJsonl);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_EQ(full.error().fault, Fault::kEnvironment);
  std::ofstream(path("target")) << std::string(10'000, 'x');
  std::filesystem::create_symlink(path("target"), path("link"));
  EXPECT_TRUE(write_history(history, path("link"), HistoryFormat::kJsonl));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(std::filesystem::file_size(path("target")),
            exported(history, HistoryFormat::kJsonl).size());
}

TEST_F(FormatFiles, MembersBehindEachOtherAreOneText) {
  const std::string text = some_lines(5'000);
  const size_t half = text.size() / 2;  // in the middle of a line
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    const std::string bytes = packed_text(packing, text.substr(0, half)) +
                              packed_text(packing, "") + packed_text(packing, text.substr(half));
    EXPECT_TRUE(exported(read_text(bytes), HistoryFormat::kJsonl) == text);
  }
}

TEST_F(FormatFiles, DamagedCompressionIsToldWithTheLineReached) {
  const std::string text = some_lines(20'000);
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    const std::string kind = packing == Packing::kGzip ? "gzip" : "zstd";
    const std::string whole = packed_text(packing, text);
    for (const size_t size : {size_t{5}, size_t{12}, whole.size() / 2, whole.size() - 1}) {
      const std::string message = refused(whole.substr(0, size));
      EXPECT_THAT(message, HasSubstr(":1: expected whole " + kind +
                                     " data, found its end at byte " + std::to_string(size)))
          << size;
    }
    for (size_t at = 4; at < whole.size(); at += whole.size() / 50) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ 0x55);
      const Result<History> history = parse_history(broken, "h");
      if (!history.ok()) {
        EXPECT_EQ(history.error().fault, Fault::kInput) << at;
      }
    }
    EXPECT_THAT(refused(whole + "rubbish"), HasSubstr("expected whole " + kind + " data, found "));
    EXPECT_EQ(refused(packed_text(packing, whole)),
              "h:1:1: expected a history, found compressed data in compressed data");
    EXPECT_EQ(refused(packed_text(packing, "")),
              "h:1:1: expected a header or an operation, found nothing");
  }
}

TEST_F(FormatFiles, ABombIsStoppedByTheLimit) {
  const std::string bomb(64 << 20, 'x');
  for (const std::string start :
       {R"({"process":0,"type":"invoke","f":"write","value":")", "{:process 0, :value \"",
        "INFO  jepsen.util - 0 :invoke :write \""}) {
    for (const Packing packing : {Packing::kNone, Packing::kGzip, Packing::kZstd}) {
      std::string bytes;
      const auto sink = packed(packing, std::make_unique<StringSink>(bytes));
      ASSERT_TRUE(sink->write(start) && sink->write(bomb) && sink->close());
      EXPECT_THAT(refused(bytes, {.memory_bytes_max = 64 << 20}), StartsWith("h:1:1: expected a "))
          << start;
      EXPECT_THAT(
          refused(bytes, {.memory_bytes_max = 64 << 20}),
          HasSubstr("of at most 1048576 bytes, as the limit of 67108864 bytes of memory asks"));
    }
  }
}

TEST_F(FormatFiles, DistinctKeysCountAsMemory) {
  for (const bool is_edn : {false, true}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) {
      const std::string n = std::to_string(i);
      text += is_edn ? "{:process " + n + " :type :invoke :f :read :key \"edn key " + n + "\"}\n"
                     : "{\"process\":" + n + R"(,"type":"invoke","f":"read","key":"json key )" + n +
                           "\"}\n";
    }
    EXPECT_THAT(refused(text, {.memory_bytes_max = 8 << 20}), HasSubstr("bytes of memory"));
  }
}

TEST_F(FormatFiles, AJepsenFolderHoldsItsHistory) {
  EXPECT_FALSE(jepsen_history_in(folder_));
  EXPECT_FALSE(jepsen_history_in(path("missing")));
  put("test.jepsen", "JEPSEN");
  EXPECT_THAT(
      jepsen_history_in(folder_)->error().message,
      StartsWith(folder_ + ": expected history.edn, found only Jepsen's binary test.jepsen"));
  for (const char* name : {"history.txt", "jepsen.history", "history.edn.gz", "history.edn"}) {
    put(name, "");
    const auto found = jepsen_history_in(folder_);
    ASSERT_TRUE(found && found->ok());
    EXPECT_EQ(**found, path(name));
  }
}

TEST_F(FormatFiles, GarbageIsOneLineInEveryFormat) {
  std::vector<std::string> garbage = {std::string(1'000, '\0'),
                                      std::string(1'000, '\xff'),
                                      std::string(1'000, '['),
                                      std::string(1'000, '{'),
                                      "%PDF-1.4\n",
                                      "\x7f"
                                      "ELF\n",
                                      "<history/>\n",
                                      "SQLite format 3"};
  for (const HistoryFormat format :
       {HistoryFormat::kGuess, HistoryFormat::kJsonl, HistoryFormat::kEdn,
        HistoryFormat::kPorcupineEtcd, HistoryFormat::kPorcupineKv}) {
    for (const std::string& text : garbage)
      EXPECT_THAT(refused(text, {.format = format}),
                  ::testing::MatchesRegex("h:[0-9]+:[0-9]+: expected .*, found .*"));
  }
}

}  // namespace
}  // namespace assay
