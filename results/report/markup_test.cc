#include "results/report/markup.h"

#include <gtest/gtest.h>

#include "results/report/well_formed.h"

namespace assay::report {
namespace {

TEST(Markup, EscapedTextIsSafeInContentAndAttributes) {
  EXPECT_EQ(escape("a<b>&\"c'é→"), "a&lt;b&gt;&amp;&quot;c&#39;é→");
  EXPECT_EQ(escape("\x01\x1b[0m\tx\n"), "\uFFFD\uFFFD[0m\tx\n");
  EXPECT_EQ(escape("]]><script>"), "]]&gt;&lt;script&gt;");
}

TEST(Markup, EveryByteIsMadeWellFormed) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  all +=
      "\xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf \xe2\x82";  // surrogate, too large, overlong, cut off
  const std::string text = escape(all);
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(WellFormed::problem("<a b=\"" + text + "\">" + text + "</a>"), "");
}

TEST(Markup, TheTestsCheckerKnowsWhatIsNotWellFormed) {
  for (const char* bad :
       {"<a>", "<a></b>", "<a>&</a>", "<a b=\"<\"/>", "<a b=c/>", "text", "<a/><b/>",
        "<a b=\"1\" b=\"2\"/>", "<a>\x01</a>", "<a>></a>", "<a b=\"1\"c=\"2\"/>"}) {
    EXPECT_NE(WellFormed::problem(bad), "") << bad;
  }
  EXPECT_EQ(WellFormed::problem("<?xml?><!-- x --><a b=\"1\"><c/>t&amp;</a>\n"), "");
}

TEST(Markup, WhatIsPrintedSteersNoTerminal) {
  EXPECT_EQ(printable("a\tb\n\x1b[2J\x7f"), "a b  [2J ");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J \x9b"
                      "2J"),
            " 2J \uFFFD2J");  // CSI as one character or byte
  EXPECT_EQ(printable("é → ü"), "é → ü");
}

TEST(Markup, TextIsCutBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab…");
  EXPECT_EQ(shortened("→→→→", 3), "→→…");
  EXPECT_EQ(shortened("\xff\xff\xff", 2), "\xff…");
  EXPECT_EQ(shortened("", 3), "");
}

TEST(Markup, NumbersReadAsPeopleWriteThem) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(counted(1, "key", "keys"), "1 key");
  EXPECT_EQ(counted(2000, "key", "keys"), "2,000 keys");
  EXPECT_EQ(fixed(13.9, 3), "13.900");
  EXPECT_EQ(sentence("so it is"), "so it is.");
  EXPECT_EQ(sentence("so?"), "so?");
  EXPECT_EQ(sentence(""), "");
  EXPECT_EQ(capitalised("so it is"), "So it is");
  EXPECT_EQ(capitalised("n4 is down"), "n4 is down");
  EXPECT_EQ(capitalised("a b"), "a b");
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
  EXPECT_EQ(fixed(-0.5, 1), "-0.5");
  EXPECT_EQ(capitalised("éa"), "éa");
}

}  // namespace
}  // namespace assay::report
