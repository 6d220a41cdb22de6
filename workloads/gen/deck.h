// Deck: draws with every item once per round, in an order drawn anew for each round. Schedules
// take victims and shapes from it, so that a short run misses none by bad luck.
#pragma once

#include <utility>
#include <vector>

#include "checkers/history/error.h"
#include "checkers/history/rng.h"

namespace assay {

template <typename T>
class Deck {
 public:
  Deck(std::vector<T> items, Rng rng) : items_(std::move(items)), rng_(rng) {
    ASSAY_CHECK(!items_.empty(), "a deck without cards");
  }

  // Valid until the next draw.
  const T& draw() {
    if (drawn_ == 0) rng_.shuffle(items_);
    const T& item = items_[drawn_];
    drawn_ = (drawn_ + 1) % items_.size();
    return item;
  }

  size_t size() const { return items_.size(); }

 private:
  std::vector<T> items_;
  Rng rng_;
  size_t drawn_ = 0;  // in this round
};

}  // namespace assay
