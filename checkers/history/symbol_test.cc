#include "checkers/history/symbol.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace assay {
namespace {

TEST(Symbol, EqualTextGivesTheSameSymbol) {
  const std::string copy = std::string("le") + "ader";
  EXPECT_EQ(Symbol("leader"), Symbol(copy));
  EXPECT_NE(Symbol("leader"), Symbol("leader "));
  EXPECT_EQ(Symbol("leader").text(), "leader");
}

TEST(Symbol, TheEmptyTextIsTheDefault) {
  EXPECT_EQ(Symbol(""), Symbol());
  EXPECT_TRUE(Symbol("").empty());
  EXPECT_EQ(Symbol().text(), "");
  EXPECT_FALSE(Symbol(" ").empty());
}

TEST(Symbol, KeepsEveryByte) {
  const std::string odd("a\0b\xff\n", 5);
  EXPECT_EQ(Symbol(odd).text(), odd);
  EXPECT_NE(Symbol(odd), Symbol(std::string_view(odd).substr(0, 4)));
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(Symbol(large).text(), large);
}

TEST(Symbol, TextsStayInPlaceWhileTheTableGrows) {
  const Symbol first("stays/first");
  const std::string_view text = first.text();
  std::vector<Symbol> symbols;
  for (int i = 0; i < 50'000; ++i) symbols.emplace_back("stays/" + std::to_string(i));
  EXPECT_EQ(text.data(), first.text().data());
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = "stays/" + std::to_string(i);
    ASSERT_EQ(symbols[i].text(), name);
    ASSERT_EQ(symbols[i], Symbol(name));
  }
}

TEST(Symbol, IdLeadsBackToTheSymbol) {
  EXPECT_EQ(Symbol::from_id(Symbol("back").id()), Symbol("back"));
}

TEST(Symbol, CountsItsMemory) {
  const uint64_t before = symbol_bytes();
  for (int i = 0; i < 10'000; ++i) Symbol("memory/" + std::string(20, 'm') + std::to_string(i));
  const uint64_t grown = symbol_bytes() - before;
  EXPECT_GE(grown + 64 * 1024, 10'000u * 27);  // the first of them may fill a block
  EXPECT_LE(grown, 10'000u * 200);
}

TEST(SymbolDeathTest, AnIdThatWasNeverGivenAborts) {
  EXPECT_DEATH(Symbol::from_id(4'000'000'000u).text(), "4000000000");
}

// Every thread interns the same texts in another order and hands its symbols to its neighbour,
// which reads them while tables and chunks grow.
TEST(Symbol, ThreadsAgreeWhileTheTableGrows) {
  constexpr int kThreads = 4;
  constexpr int kTexts = 20'000;
  std::vector<std::vector<std::atomic<uint32_t>>> ids(kThreads);
  for (auto& column : ids) column = std::vector<std::atomic<uint32_t>>(kTexts);
  std::atomic<int> mismatches{0};
  const auto name = [](int i) { return "race/" + std::to_string(i); };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int step = 0; step < kTexts; ++step) {
        const int i = t % 2 == 0 ? step : kTexts - 1 - step;
        const Symbol symbol(name(i));
        if (symbol.text() != name(i)) ++mismatches;
        ids[t][i].store(symbol.id(), std::memory_order_release);
        const uint32_t other = ids[(t + 1) % kThreads][i].load(std::memory_order_acquire);
        if (other != 0 && (other != symbol.id() || Symbol::from_id(other).text() != name(i)))
          ++mismatches;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(mismatches, 0);
  for (int t = 1; t < kThreads; ++t)
    for (int i = 0; i < kTexts; ++i) ASSERT_EQ(ids[0][i].load(), ids[t][i].load()) << name(i);
}

}  // namespace
}  // namespace assay
