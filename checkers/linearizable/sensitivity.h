// Sensitivity: would this check have seen an anomaly in this very history? Edits, each illegal by
// construction, are put into copies of it, and the edited keys are judged again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkers/history/rng.h"
#include "checkers/linearizable/search.h"

namespace assay::linearizable {

enum class Edit : uint8_t { kStaleRead, kLostWrite, kSwappedCas };
inline constexpr int kEditKinds = 3;

struct EditedKey {
  KeyHistory history;
  Edit kind = Edit::kStaleRead;
  uint32_t operation = 0;  // position in history.ops of the one that is now wrong
  uint32_t reference = 0;  // … and of the one that had returned before and shows it
};

struct SensitivityOptions {
  int edits = 30;                  // in equal parts, as far as the history allows
  int edits_min = 10;              // with fewer, the report says so
  size_t operations_max = 2000;    // of a copy: only the beginning of a longer key
  uint64_t work_max = 50'000'000;  // as SearchOptions::work_max, in all: about a second
  std::function<bool()> exhausted;
};

struct Sensitivity {
  struct Kind {
    int made = 0;
    int caught = 0;
  };
  Kind kinds[kEditKinds];
  Nanos stale_least{};  // how long before the stale reads newer values had been acknowledged
  Nanos stale_most{};
  bool cut_short = false;  // the budget ended
  bool reads = true;       // they are among what may be edited; else they are not claimed

  int made() const { return kinds[0].made + kinds[1].made + kinds[2].made; }
  int caught() const { return kinds[0].caught + kinds[1].caught + kinds[2].caught; }
  // "29 of 30 illegal edits …": one sentence, without final stop.
  std::string sentence(const SensitivityOptions& options) const;
};

// Puts one edit of that kind into a copy of the key. False where the draw found no place for it.
bool make_edit(const KeyHistory& key, Edit kind, Rng& rng, EditedKey& out);

// The history up to a position: what had not returned then has an unknown outcome, and unanswered
// reads say nothing.
KeyHistory cut_at(const KeyHistory& key, Position position);

// How a copy is judged; another one in tests, to see the number fall.
using Judge = std::function<SearchResult(const Problem&, const SearchOptions&)>;

// `groups` in order of size; draws keys in proportion to their operations.
Sensitivity measure_sensitivity(const History& history, const std::vector<KeyGroup>& groups,
                                Rng rng, const SensitivityOptions& options,
                                const Judge& judge = search);

}  // namespace assay::linearizable
