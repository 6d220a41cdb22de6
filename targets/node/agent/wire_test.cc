#include "targets/node/agent/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "targets/node/agent/base64.h"

namespace assay::agent {
namespace {

using testing::ElementsAre;

std::vector<std::string> split(const std::string& text, size_t piece, size_t limit) {
  LineSplitter splitter(limit);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at += piece) {
    splitter.feed(
        std::string_view(text).substr(at, piece),
        [&](std::string_view line) { lines.emplace_back(line); },
        [&] { lines.emplace_back("TOO LONG"); });
  }
  return lines;
}

TEST(LineSplitter, GivesTheSameLinesHoweverTheBytesArrive) {
  for (size_t piece = 1; piece < 30; ++piece) {
    EXPECT_THAT(split("one\n\ntwo\nlonger than that\nthree\nrest", piece, 10),
                ElementsAre("one", "", "two", "TOO LONG", "three"))
        << piece;
  }
}

TEST(LineSplitter, ALineOfExactlyTheLimitIsNotTooLong) {
  for (size_t piece : {1, 4, 100})
    EXPECT_THAT(split("1234\n12345\n", piece, 4), ElementsAre("1234", "TOO LONG"));
}

TEST(OutQueue, KeepsWhatThePipeDoesNotTakeAndWritesItLater) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const NonBlocking flag(fds[1]);
  OutQueue out(fds[1]);
  const std::string line(100'000, 'x');
  for (int i = 0; i < 10; ++i) out.push(line);
  out.flush();
  EXPECT_GT(out.bytes(), 0u);
  EXPECT_FALSE(out.flush_for(1));
  size_t got = 0;
  std::vector<char> buffer(200'000);
  while (got < 10 * (line.size() + 1)) {
    got += static_cast<size_t>(read(fds[0], buffer.data(), buffer.size()));
    out.flush();
  }
  EXPECT_EQ(out.bytes(), 0u);
  close(fds[0]);
  signal(SIGPIPE, SIG_IGN);
  out.push("more");
  out.flush();
  EXPECT_TRUE(out.broken());
  close(fds[1]);
}

TEST(Base64, EncodesAsRfc4648AndDecodesAgain) {
  const std::pair<const char*, const char*> rows[] = {{"", ""},
                                                      {"f", "Zg=="},
                                                      {"fo", "Zm8="},
                                                      {"foo", "Zm9v"},
                                                      {"foob", "Zm9vYg=="},
                                                      {"fooba", "Zm9vYmE="},
                                                      {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : rows) {
    EXPECT_EQ(base64_encode(plain), coded);
    EXPECT_EQ(*base64_decode(coded), plain);
  }
  std::string bytes;
  for (int i = 0; i < 1'000; ++i) bytes += static_cast<char>(i * 37);
  EXPECT_EQ(*base64_decode(base64_encode(bytes)), bytes);
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"Z", "Zg=", "Z===", "Zg==Zg==", "Zm9!", "Zm9\n"})
    EXPECT_FALSE(base64_decode(text).ok()) << text;
}

}  // namespace
}  // namespace assay::agent
