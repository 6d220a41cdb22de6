// Etcd's own answers to random requests, recorded by testdata/record_etcd.py.
#include "targets/kv/service/transcript.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "targets/kv/service/service.h"

namespace assay::kv {
namespace {

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> files;
  const std::string folder = ASSAY_SOURCE_DIR "/targets/kv/service/testdata";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".txt") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class EtcdTranscript : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(EtcdTranscript, IsRepeatedWordForWord) {
  std::ifstream in(GetParam());
  Service service;
  std::string request;
  std::string answer;
  int pairs = 0;
  int line = 1;
  for (; std::getline(in, request) && std::getline(in, answer); line += 2, ++pairs) {
    const Result result = service.apply(TranscriptReader::request(request));
    ASSERT_EQ("= " + TranscriptWriter::show(result), answer) << "line " << line << ": " << request;
  }
  EXPECT_GE(pairs, 500);
}

INSTANTIATE_TEST_SUITE_P(Recorded, EtcdTranscript, ::testing::ValuesIn(recordings()),
                         [](const auto& info) { return info.param.stem().string(); });

TEST(EtcdTranscripts, AreThere) { EXPECT_GE(recordings().size(), 2u); }

}  // namespace
}  // namespace assay::kv
