#include "workloads/gen/deck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace assay {
namespace {

TEST(Deck, GivesEveryItemOncePerRoundInOrdersThatDiffer) {
  const std::vector<std::string> items = {"one", "halves", "ring", "bridge", "leader", "one-way"};
  Deck<std::string> deck(items, Rng(7));
  Deck<std::string> same(items, Rng(7));
  std::set<std::vector<std::string>> orders;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> order;
    for (size_t i = 0; i < items.size(); ++i) {
      order.push_back(deck.draw());
      EXPECT_EQ(order.back(), same.draw());
    }
    EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(items));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 40u);
}

TEST(Deck, OfOneItemGivesItAlways) {
  Deck<int> deck({4}, Rng(1));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(deck.draw(), 4);
}

TEST(DeckDeathTest, WithoutItemsIsAMistake) {
  EXPECT_DEATH(Deck<int>({}, Rng(1)), "a deck without cards");
}

}  // namespace
}  // namespace assay
