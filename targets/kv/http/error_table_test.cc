#include "targets/kv/http/error_table.h"

#include <gtest/gtest.h>

namespace assay::kv {
namespace {

TEST(ErrorTable, HttpStatusIsThatOfTheGateway) {
  const std::pair<int, int> cases[] = {{0, 200},  {1, 408},  {2, 500},  {3, 400},  {4, 504},
                                       {5, 404},  {6, 409},  {7, 403},  {8, 429},  {9, 400},
                                       {10, 409}, {11, 400}, {12, 501}, {13, 500}, {14, 503},
                                       {15, 500}, {16, 401}, {17, 500}, {-1, 500}};
  for (const auto& [code, status] : cases) EXPECT_EQ(http_status_of(code), status) << code;
}

TEST(ErrorTable, EachCodeHasItsMeaning) {
  struct Case {
    int code;
    std::string_view message;
    std::string_view cls;
    bool definite;
  };
  const Case cases[] = {
      {1, "", "canceled", false},
      {2, "", "unknown", false},
      {3, "etcdserver: key is not provided", "invalid", true},
      {4, "", "timeout", false},
      {5, "", "not-found", true},
      {6, "", "exists", true},
      {7, "", "denied", true},
      {8, "etcdserver: mvcc: database space exceeded", "exhausted", false},
      {8, "etcdserver: too many requests", "unavailable", true},
      {9, "etcdserver: not leader", "not-leader", true},
      {9, "", "precondition", true},
      {10, "", "aborted", false},
      {11, "etcdserver: mvcc: required revision has been compacted", "out-of-range", true},
      {12, "", "unimplemented", true},
      {13, "", "internal", false},
      {14, "etcdserver: no leader", "unavailable", true},
      {14, "etcdserver: leader changed", "unknown", false},
      {14, "etcdserver: request timed out", "timeout", false},
      {14, "etcdserver: request timed out, possibly due to connection lost", "timeout", false},
      {14, "etcdserver: server stopped", "unknown", false},
      {14, "anything else", "unknown", false},
      {15, "", "data-loss", false},
      {16, "", "denied", true},
      {0, "", "unknown", false},
      {99, "", "unknown", false},
      {-1, "", "unknown", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::to_string(c.code) + " " + std::string(c.message));
    EXPECT_EQ(meaning_of(c.code, c.message).cls, c.cls);
    EXPECT_EQ(meaning_of(c.code, c.message).definite, c.definite);
  }
}

}  // namespace
}  // namespace assay::kv
