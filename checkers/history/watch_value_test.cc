#include "checkers/history/watch_value.h"

#include <gtest/gtest.h>

#include "checkers/history/history_io.h"

namespace assay {
namespace {

Value json(std::string_view text) { return *parse_value(text); }

TEST(WatchValue, AWishIsReadAsItWasWrittenAndItsSpanAlsoAsADuration) {
  const WatchWish wish{Symbol("w/"), 17, milliseconds(1500)};
  const Value value = to_value(wish);
  EXPECT_EQ(value.to_json(), R"({"prefix":"w/","from":17,"for":1500000000})");
  const auto read = watch_wish(value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->prefix, wish.prefix);
  EXPECT_EQ(read->from, 17);
  EXPECT_EQ(read->span, wish.span);
  EXPECT_EQ(watch_wish(json(R"({"prefix":"","for":"2s"})"))->span, seconds(2));
}

TEST(WatchValue, WhatWasSeenIsReadAsItWasWritten) {
  const char* text =
      R"({"events":[[2,"w/1","put",{"a":1},null,2],[3,"w/1","put",5,[2,{"a":1}],2],)"
      R"([4,"w/1","delete",null,[3,5]],[5,"w/2","put",6]],"progress":[[4,3],[9,4]],"start":2,)"
      R"("split":[3],"next":10,"end":"compacted","compact_revision":12})";
  const auto seen = watch_seen(json(text));
  ASSERT_TRUE(seen);
  EXPECT_EQ(to_value(*seen).to_json(), text);
  EXPECT_EQ(seen->events[0].before->revision, 0) << "there was nothing";
  EXPECT_FALSE(seen->events[3].before) << "nothing was said";
  EXPECT_EQ(seen->events[1].created, 2);
  EXPECT_TRUE(seen->events[2].deleted);
  EXPECT_EQ(seen->progress[0].events, 3u);
  EXPECT_EQ(seen->end, WatchEnd::kCompacted);
}

TEST(WatchValue, WhatIsNoneIsRefused) {
  for (const char* text :
       {"null", "{}", R"({"prefix":"w/"})", R"({"prefix":1,"for":"1s"})",
        R"({"prefix":"w/","for":"soon"})", R"({"prefix":"w/","from":-1,"for":1})",
        R"({"prefix":"w/","from":"x","for":1})"}) {
    EXPECT_FALSE(watch_wish(json(text))) << text;
  }
  for (const char* text :
       {"null", "{}", R"({"events":[],"end":"over"})", R"({"events":[1],"end":"done"})",
        R"({"events":[[0,"k","put",1]],"end":"done"})",
        R"({"events":[[2,"k","patch",1]],"end":"done"})",
        R"({"events":[[2,"k","put",1,5]],"end":"done"})",
        R"({"events":[],"progress":["x"],"end":"done"})", R"({"events":5,"end":"done"})"}) {
    EXPECT_FALSE(watch_seen(json(text))) << text;
  }
}

}  // namespace
}  // namespace assay
