// Unclaimed reads: the reads of a target that does not claim them to be linearizable (the header's
// `claims.read`). They do not enter the problem, and whoever leaves them out accuses nobody
// wrongly: a read changes nothing, so that every order of the rest is one that was legal with it.
//
// What is judged of each is that its value is not out of thin air: it is the initial one, or an
// operation that was invoked before the read returned, and is not a definite failure, would make
// it. The order of one process's reads, which `sequential` speaks of, is not judged: it is known
// only where every value is made once, and where a process is one session with the store, which no
// history says.
#pragma once

#include <optional>
#include <string>

#include "checkers/linearizable/story.h"

namespace assay::linearizable {

struct UnclaimedReads {
  size_t judged = 0;   // answered, and say something
  size_t telling = 0;  // … of which the value is not the initial one: it might be out of thin air
  size_t thin_air = 0;            // … and so many are
  std::optional<uint32_t> first;  // the one of these that returned first: its id in the history

  void add(const UnclaimedReads& other);  // the numbers
};

// Of one key.
UnclaimedReads judge_values(const History& history, const KeyGroup& group);

struct ThinAir {
  Story story;  // two operations at most: the read, and whoever made the value too late
  std::string rests_on;
  Position last = 0;  // the return of the read
};
ThinAir tell_thin_air(const History& history, const KeyGroup& group, uint32_t read,
                      const Surroundings& surroundings);

// What the verdict of such a history says of its reads, whatever the word.
void add_claims(std::string_view claim, const UnclaimedReads& reads, Verdict& verdict);
// "each of 5 reads found the initial value or one that had been written"
std::string found_sentence(const UnclaimedReads& reads);

}  // namespace assay::linearizable
