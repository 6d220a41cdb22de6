// both-sides-accept: every node accepts every request, does it on its own copy, answers, and sends
// the change to every other node. It remembers whether another has missed a change; when the link
// is back, it sends that one its whole state, and the two merge: by --merge, the side with more
// changes wins whole, or per key the newest clock, or both keep what either has.
//
// What it lacks: none of the merges can keep what both sides were promised. The longest throws one
// side's changes away, the newest clock believes clocks, and a union brings back what one side has
// deleted. Nodes that accept changes at one moment apply them in different orders.
//
// Nobody leads; the first node is named as the leader, since observers ask for one. After a merge a
// node that took over another's state counts its changes and hashes as that one does.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "targets/kv/service/hash.h"
#include "targets/naive/copy.h"
#include "targets/naive/design.h"

namespace assay::naive {
namespace {

constexpr uint8_t kNews = 'n';   // one change of the sender
constexpr uint8_t kHad = 'h';    // the receiver has had all of the sender's changes so far
constexpr uint8_t kState = 's';  // all that the sender has

// A change that has not been acknowledged for so long has been missed.
constexpr int64_t kMissedAfterMs = 500;

// Where a key's value comes from. What is deleted is remembered.
struct Origin {
  std::optional<std::string> value;
  int64_t revision = 0;  // of the node that accepted it
  int64_t stamp_ms = 0;  // of that node's wall clock
  uint64_t node = 0;
};
using Origins = std::map<std::string, Origin>;

struct News {
  uint64_t from = 0;
  uint64_t number = 0;  // of the sender's own changes, from 1
  int64_t revision = 0;
  int64_t stamp_ms = 0;
  Change change;
};
struct State {
  uint64_t from = 0;
  uint64_t number = 0;  // of the sender's own changes that are in it
  uint64_t applied = 0;
  uint64_t chain = 0;
  Origins origins;
};

std::string encode(const News& news) {
  std::string out;
  kv::ByteWriter writer(out);
  writer.u8(kNews);
  writer.varint(news.from);
  writer.varint(news.number);
  writer.signed_varint(news.revision);
  writer.signed_varint(news.stamp_ms);
  naive::encode(news.change, writer);
  return out;
}
News decode_news(kv::ByteReader& in) {
  News news;
  news.from = in.varint();
  news.number = in.varint();
  news.revision = in.signed_varint();
  news.stamp_ms = in.signed_varint();
  news.change = decode_change(in);
  return news;
}

std::string encode(const State& state) {
  std::string out;
  kv::ByteWriter writer(out);
  writer.u8(kState);
  writer.varint(state.from);
  writer.varint(state.number);
  writer.varint(state.applied);
  writer.u64(state.chain);
  writer.varint(state.origins.size());
  for (const auto& [key, origin] : state.origins) {
    writer.string(key);
    writer.u8(origin.value ? 1 : 0);
    if (origin.value) writer.string(*origin.value);
    writer.signed_varint(origin.revision);
    writer.signed_varint(origin.stamp_ms);
    writer.varint(origin.node);
  }
  return out;
}
State decode_state(kv::ByteReader& in) {
  State state;
  state.from = in.varint();
  state.number = in.varint();
  state.applied = in.varint();
  state.chain = in.u64();
  for (uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    Origin& origin = state.origins[std::string(in.string())];
    if (in.upto(1) == 1) origin.value = in.string();
    origin.revision = in.signed_varint();
    origin.stamp_ms = in.signed_varint();
    origin.node = in.varint();
  }
  return state;
}

class BothSidesAccept : public Design {
 public:
  BothSidesAccept(const DesignOptions& options, Env& env)
      : options_(options),
        env_(env),
        copy_(kv::ServicePolicy{.wrong_ignore_guards = !options.guards}) {}

  void restore(std::string_view record) override { learn(record); }

  void request(kv::Request request, Done done) override {
    if (kv::is_read_only(request)) return done(copy_.query(request));
    News news{self(), 0, 0, env_.wall_ms(), {}};
    kv::Result result = copy_.perform(std::move(request), news.change);
    if (news.change.empty()) return done(std::move(result));
    news.number = ++numbers_[self()];
    news.revision = copy_.service().revision().value;
    note_origins(news);
    const std::string message = encode(news);
    env_.save(message);
    done(std::move(result));
    to_others([&](uint64_t member) {
      auto& waits = peers_[member].waits_since_ms;
      if (!waits) waits = env_.now_ms();
      env_.send(NodeId{member}, message);
    });
  }

  void on_message(std::string_view message) override {
    kv::ByteReader reader(message);
    const uint8_t kind = reader.u8();
    if (kind == kHad) {
      const uint64_t from = reader.varint();
      const uint64_t number = reader.varint();
      if (reader.done()) acknowledged(peers_[from], number);
      return;
    }
    const uint64_t from = learn(message);
    if (from == 0) return;
    env_.save(message);
    std::string answer;
    kv::ByteWriter writer(answer);
    writer.u8(kHad);
    writer.varint(self());
    writer.varint(numbers_[from]);
    env_.send(NodeId{from}, std::move(answer));
  }

  // A state that nobody has acknowledged is sent again and again: the link may be back.
  void on_tick() override {
    const int64_t now = env_.now_ms();
    if (!std::exchange(has_ticked_, true) && numbers_[self()] > 0) {
      // Who has had what before this node was started again it does not know.
      to_others([&](uint64_t member) { peers_[member].waits_since_ms = now; });
    }
    std::string message;
    to_others([&](uint64_t member) {
      Peer& peer = peers_[member];
      if (!peer.waits_since_ms || now - *peer.waits_since_ms < kMissedAfterMs) return;
      if (message.empty()) message = encode(state());
      peer.waits_since_ms = now;
      env_.send(NodeId{member}, message);
    });
  }

  Status status() const override {
    return {.leads = options_.self == options_.members.front(),
            .epoch = 1,
            .leader = options_.members.front(),
            .applied = copy_.applied(),
            .chain = copy_.chain()};
  }
  const kv::Service& service() const override { return copy_.service(); }
  std::optional<uint64_t> chain_at(uint64_t applied) const override {
    return copy_.chain_at(applied);
  }

 private:
  struct Peer {
    uint64_t had = 0;  // so many of this node's changes, as it has said
    // Since when it has acknowledged nothing that it was sent; the state is sent again from there.
    std::optional<int64_t> waits_since_ms;
  };

  void acknowledged(Peer& peer, uint64_t number) {
    if (number > peer.had && peer.waits_since_ms) peer.waits_since_ms = env_.now_ms();
    peer.had = std::max(peer.had, number);
    if (number >= numbers_[self()]) peer.waits_since_ms.reset();
  }

  uint64_t self() const { return options_.self.value; }
  void to_others(const auto& what) {
    for (NodeId member : options_.members) {
      if (member != options_.self) what(member.value);
    }
  }

  // What another node, or this one's own record, says. From whom; 0: it is malformed.
  uint64_t learn(std::string_view message) {
    kv::ByteReader reader(message);
    const uint8_t kind = reader.u8();
    if (kind == kNews) {
      const News news = decode_news(reader);
      if (!reader.done()) return 0;
      copy_.apply(news.change);
      note_origins(news);
      // What was missed before it leaves a gap: the sender hears of it, and sends its state.
      uint64_t& number = numbers_[news.from];
      if (news.number == number + 1) number = news.number;
      return news.from;
    }
    if (kind != kState) return 0;
    const State state = decode_state(reader);
    if (!reader.done()) return 0;
    merge(state);
    numbers_[state.from] = std::max(numbers_[state.from], state.number);
    return state.from;
  }

  void note_origins(const News& news) {
    for (const auto& [key, value] : news.change.keys)
      origins_[key] = {value, news.revision, news.stamp_ms, news.from};
  }
  State state() { return {self(), numbers_[self()], copy_.applied(), copy_.chain(), origins_}; }

  // --- Merging -----------------------------------------------------------------------------------

  void merge(const State& theirs) {
    const bool they_win = theirs.applied > copy_.applied() ||
                          (theirs.applied == copy_.applied() && theirs.chain > copy_.chain());
    if (options_.merge == Merge::kLongest && !they_win) return;
    const Origins merged =
        options_.merge == Merge::kLongest ? theirs.origins : both(theirs.origins);
    const bool are_theirs = same_values(merged, theirs.origins);
    const bool are_mine = same_values(merged, origins_);
    if (!are_mine) copy_.apply(change_to(merged));
    origins_ = merged;
    if (are_theirs && (they_win || !are_mine)) {
      copy_.count_from(theirs.applied, theirs.chain);
    } else if (!are_mine) {
      copy_.count_from(std::max(copy_.applied() - 1, theirs.applied) + 1, hash_of(merged));
    }
  }

  // Per key, the one that wins. Both nodes come to the same.
  Origins both(const Origins& theirs) const {
    Origins merged = origins_;
    for (const auto& [key, origin] : theirs) {
      const auto [mine, is_new] = merged.try_emplace(key, origin);
      if (!is_new && wins(origin, mine->second)) mine->second = origin;
    }
    return merged;
  }
  bool wins(const Origin& a, const Origin& b) const {
    if (options_.merge == Merge::kNewestClock)
      return std::tie(a.stamp_ms, a.node, a.value) > std::tie(b.stamp_ms, b.node, b.value);
    // A union forgets nothing: what is there on one side is there.
    if (a.value.has_value() != b.value.has_value()) return a.value.has_value();
    return std::tie(a.revision, a.node, a.value) > std::tie(b.revision, b.node, b.value);
  }

  static std::map<std::string, std::string> values_of(const Origins& origins) {
    std::map<std::string, std::string> values;
    for (const auto& [key, origin] : origins) {
      if (origin.value) values.emplace(key, *origin.value);
    }
    return values;
  }
  static bool same_values(const Origins& a, const Origins& b) {
    return values_of(a) == values_of(b);
  }
  static uint64_t hash_of(const Origins& origins) {
    kv::Hasher hasher;
    for (const auto& [key, value] : values_of(origins)) hasher.add(key).add(value);
    return hasher.value();
  }
  Change change_to(const Origins& merged) const {
    const auto from = values_of(origins_);
    const auto to = values_of(merged);
    Change change;
    for (const auto& [key, value] : to) {
      const auto mine = from.find(key);
      if (mine == from.end() || mine->second != value) change.keys.emplace_back(key, value);
    }
    for (const auto& [key, value] : from) {
      if (!to.contains(key)) change.keys.emplace_back(key, std::nullopt);
    }
    return change;
  }

  const DesignOptions options_;
  Env& env_;
  Copy copy_;
  Origins origins_;
  std::map<uint64_t, uint64_t> numbers_;  // per node: so many of its changes have been had, no gap
  std::map<uint64_t, Peer> peers_;
  bool has_ticked_ = false;
};

}  // namespace

std::unique_ptr<Design> both_sides_accept(const DesignOptions& options, Env& env) {
  return std::make_unique<BothSidesAccept>(options, env);
}

}  // namespace assay::naive
