#include "targets/raft/replica/sim_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "targets/kv/service/hash.h"
#include "targets/raft/replica/command.h"

namespace assay::raft {
namespace {

[[noreturn]] void violated(const std::string& what) { throw Violation(what); }

std::string number(uint64_t value) { return std::to_string(value); }
std::string number(int64_t value) { return std::to_string(value); }
std::string named(int node) { return "node " + std::to_string(node + 1); }

uint64_t hash_of(const Entry& entry) {
  return kv::Hasher(static_cast<uint64_t>(entry.kind)).add(entry.bytes()).value();
}

kv::KeyValuePtr state_at(const kv::Service& service, const std::string& key, kv::Revision at) {
  auto found = service.store().range(key, "", at, 0);
  return found.kvs.empty() ? nullptr : found.kvs[0];
}

std::string shown(const kv::KeyValuePtr& kv) {
  if (!kv) return "nothing";
  return kv->key + "=" + kv->value + " of revision " + number(kv->mod_revision.value);
}

bool same(const kv::KeyValuePtr& a, const kv::KeyValuePtr& b) {
  if (!a || !b) return !a && !b;
  return a->key == b->key && a->value == b->value && a->mod_revision == b->mod_revision &&
         a->create_revision == b->create_revision && a->version == b->version;
}

// Whether the answer says that the store changed.
bool changed(const kv::Response& response) {
  if (const auto* txn = std::get_if<kv::TxnResponse>(&response.body)) return txn->succeeded;
  if (const auto* del = std::get_if<kv::DeleteRangeResponse>(&response.body)) {
    return del->deleted > 0;
  }
  return std::holds_alternative<kv::PutResponse>(response.body);
}

}  // namespace

kv::Request SimOp::request() const {
  kv::RangeRequest get;
  get.key = key;
  switch (kind) {
    case Kind::kPut:
      return kv::PutRequest{key, value, false};
    case Kind::kDelete:
      return kv::DeleteRangeRequest{key, "", false};
    case Kind::kGet:
      return get;
    case Kind::kGetAll:
      get.key = get.range_end = std::string(1, '\0');
      return get;
    case Kind::kCompact:
      return kv::CompactionRequest{expected};
    case Kind::kGuardedPut:
      break;
  }
  kv::TxnRequest txn;
  kv::Compare guard;
  guard.target = kv::CompareTarget::kMod;
  guard.key = key;
  guard.number = expected.value;
  txn.compare = {guard};
  txn.success = {{kv::PutRequest{key, value, false}}};
  txn.failure = {{get}};
  return txn;
}

std::string SimOp::describe() const {
  const std::string who = "client " + std::to_string(client) + " on " + named(node) + ": ";
  switch (kind) {
    case Kind::kPut:
      return who + "put " + key + "=" + value;
    case Kind::kGuardedPut:
      return who + "put " + key + "=" + value + " if " + number(expected.value);
    case Kind::kDelete:
      return who + "delete " + key;
    case Kind::kGet:
      return who + "get " + key;
    case Kind::kGetAll:
      return who + "get all";
    case Kind::kCompact:
      return who + "compact at " + number(expected.value);
  }
  return who;
}

void SimOracle::restarted(int node, const Replica& replica) {
  nodes_[node] = NodeView{};
  observe(node, replica);
}

void SimOracle::observe(int node, const Replica& replica) {
  const Core& core = replica.core();
  observe_log(node, core.log());
  observe_leader(node, core);
  observe_commit(node, core);
  observe_state(node, replica.status());
}

// Whoever has applied the same entries, one by one or by a snapshot, has the same state.
void SimOracle::observe_state(int node, const ReplicaStatus& status) {
  const size_t at = status.applied.value;
  if (states_.size() <= at) states_.resize(at + 1);
  State& state = states_[at];
  if (!state.known) state = {true, status.chain, status.state_hash, status.compacted};
  if (state.chain != status.chain || state.state_hash != status.state_hash ||
      state.compacted != status.compacted) {
    violated(named(node) + " has another state or chain behind entry " +
             number(status.applied.value));
  }
}

// What a log no longer has was committed.
void SimOracle::note_front(int node, const Log& log) {
  NodeView& view = nodes_[node];
  const size_t front = log.before_first().value;
  if (log.before_first() == view.before_first) return;
  view.before_first = log.before_first();
  if (front > committed_.size()) violated(named(node) + " dropped entries that nobody committed");
  if (view.terms.size() < front) view.terms.resize(front);
  for (size_t i = 0; i < front; ++i) view.terms[i] = committed_[i].term;
  if (front > 0 && view.terms[front - 1] != log.term_at(log.before_first())) {
    violated(named(node) + " has a log behind another entry than the committed one");
  }
}

// Log matching, by induction: an entry of an (index, term) is the same everywhere, and so is the
// term of the entry before it. Only what changed since the last look is compared.
void SimOracle::observe_log(int node, const Log& log) {
  note_front(node, log);
  std::vector<Term>& terms = nodes_[node].terms;
  const size_t size = log.last_index().value;
  size_t same = std::min(size, terms.size());
  while (same > log.before_first().value && terms[same - 1] != log.term_at(LogIndex{same})) --same;
  terms.resize(same);
  for (size_t i = same + 1; i <= size; ++i) {
    const Entry& entry = log.at(LogIndex{i});
    observe_entry(node, entry, i == 1 ? Term{} : terms.back());
    terms.push_back(entry.term);
  }
}

void SimOracle::observe_entry(int node, const Entry& entry, Term previous_term) {
  if (known_.size() <= entry.index.value) known_.resize(entry.index.value + 1);
  auto& known = known_[entry.index.value];
  for (const KnownEntry& other : known) {
    if (other.term != entry.term) continue;
    if (other.payload_hash == hash_of(entry) && other.previous_term == previous_term) return;
    violated("log matching: " + named(node) + " has another entry " + number(entry.index.value) +
             " of term " + number(entry.term.value) + ", or another one before it");
  }
  known.push_back({entry.term, hash_of(entry), previous_term});
}

void SimOracle::observe_leader(int node, const Core& core) {
  NodeView& view = nodes_[node];
  if (core.role() != Role::kLeader || core.term() == view.led) return;
  view.led = core.term();
  const auto [leader, first] = leaders_.emplace(core.term(), node);
  if (!first) {
    violated("two leaders in term " + number(core.term().value) + ": " + named(leader->second) +
             " and " + named(node));
  }
  for (size_t i = 0; i < committed_.size(); ++i) {
    if (committed_[i].in_term >= core.term()) continue;
    if (i < view.terms.size() && view.terms[i] == committed_[i].term) continue;
    violated("leader completeness: " + named(node) + " leads term " + number(core.term().value) +
             " without entry " + number(i + 1) + ", committed in term " +
             number(committed_[i].in_term.value));
  }
}

void SimOracle::observe_commit(int node, const Core& core) {
  NodeView& view = nodes_[node];
  if (core.commit() < view.commit) violated("the commit index of " + named(node) + " decreased");
  for (size_t i = view.commit.value; i < core.commit().value; ++i) {
    if (i >= view.terms.size()) violated(named(node) + " committed entries that it does not have");
    if (i == committed_.size()) committed_.push_back({view.terms[i], core.term()});
    if (committed_[i].term != view.terms[i]) {
      violated("state-machine safety: " + named(node) + " committed another entry " +
               number(i + 1) + " than others");
    }
  }
  view.commit = core.commit();
}

void SimOracle::applied(int node, const Entry& entry, const kv::Service& service) {
  const size_t at = entry.index.value - 1;
  const Applied now{entry.term, hash_of(entry), service.state_hash()};
  if (at == applied_.size()) {
    applied_.push_back(now);
    apply_to_model(entry);
  }
  const Applied& first = applied_.at(at);
  if (first.term != now.term || first.payload_hash != now.payload_hash) {
    violated("state-machine safety: " + named(node) + " applied another entry " +
             number(entry.index.value) + " than others");
  }
  if (first.state_hash != now.state_hash) {
    violated(named(node) + " has another state after entry " + number(entry.index.value));
  }
}

void SimOracle::apply_to_model(const Entry& entry) {
  if (entry.kind != EntryKind::kCommand) return;
  auto command = decode_command(entry.bytes());
  if (!command || std::holds_alternative<kv::CompactionRequest>(command->request)) return;
  model_.apply(std::move(command->request));
}

void SimOracle::installed(int node, LogIndex index, const kv::Service& service) {
  if (index.value > applied_.size()) violated(named(node) + " installed what nobody applied");
  if (applied_[index.value - 1].state_hash != service.state_hash()) {
    violated(named(node) + " has another state after the snapshot of entry " + number(index.value));
  }
}

void SimOracle::finished(const SimOp& op, const Answer& answer) {
  if (op.kind == SimOp::Kind::kCompact) return;  // it may be behind another one
  finished_.push_back({op, answer});
  if (answer.fate != Fate::kDone) return;
  const auto* response = std::get_if<kv::Response>(&answer.result);
  if (response == nullptr) violated(op.describe() + ": answered with an error");
  const bool advances = changed(*response);
  if (response->revision < op.floor || (advances && response->revision == op.floor)) {
    violated(op.describe() + ": answered from revision " + number(response->revision.value) +
             ", but " + number(op.floor.value) + " was acknowledged before it began");
  }
  ++acknowledged_;
  highest_acknowledged_ = std::max(highest_acknowledged_, response->revision);
}

void SimOracle::check_history(const kv::Service& service) const {
  std::set<std::string> written;
  for (const auto& event : service.store().events({}, SIZE_MAX)) {
    if (!event->tombstone() && !written.insert(event->value).second) {
      violated("value " + event->value + " was written twice");
    }
  }
  for (const Finished& finished : finished_) {
    if (finished.answer.fate == Fate::kDone) check_done(finished, service);
    if (finished.answer.fate == Fate::kRefused && written.contains(finished.op.value)) {
      violated(finished.op.describe() + ": refused, but it happened");
    }
  }
}

void SimOracle::check_done(const Finished& finished, const kv::Service& service) const {
  const SimOp& op = finished.op;
  const auto& response = std::get<kv::Response>(finished.answer.result);
  const kv::Revision at = response.revision;
  if (at > service.revision()) {
    violated(op.describe() + ": answered from revision " + number(at.value) + ", the last is " +
             number(service.revision().value));
  }
  if (op.kind == SimOp::Kind::kGetAll) {
    const auto& kvs = std::get<kv::RangeResponse>(response.body).kvs;
    const auto there = service.store().range("\x01", std::string(1, '\0'), at, 0).kvs;
    if (!std::equal(kvs.begin(), kvs.end(), there.begin(), there.end(), same)) {
      violated(op.describe() + ": saw what revision " + number(at.value) + " never was");
    }
    return;
  }
  const kv::KeyValuePtr there = state_at(service, op.key, at);
  if (op.kind == SimOp::Kind::kGet) {
    const auto& kvs = std::get<kv::RangeResponse>(response.body).kvs;
    const kv::KeyValuePtr seen = kvs.empty() ? nullptr : kvs[0];
    if (!same(seen, there)) {
      violated(op.describe() + ": saw " + shown(seen) + ", revision " + number(at.value) + " had " +
               shown(there));
    }
    return;
  }
  if (op.kind == SimOp::Kind::kDelete) {
    if (there) violated(op.describe() + ": acknowledged, but there is " + shown(there));
    return;
  }
  if (changed(response)) {
    if (!there || there->value != op.value || there->mod_revision != at) {
      violated(op.describe() + ": acknowledged at revision " + number(at.value) +
               ", where there is " + shown(there));
    }
  } else if (there && there->mod_revision == op.expected) {
    violated(op.describe() + ": a conflict was answered, but the guard held");
  }
}

namespace {

Answer answered(int64_t revision, kv::PutResponse body = {}) {
  return {Fate::kDone, Reason::kNone, kv::Response{kv::Revision{revision}, std::move(body)}, {}};
}

SimOp put(const std::string& value, int64_t floor = 0) {
  SimOp op;
  op.kind = SimOp::Kind::kPut;
  op.key = "k";
  op.value = value;
  op.floor = kv::Revision{floor};
  return op;
}

TEST(SimOracle, NoticesAnAnswerOlderThanAnEarlierOne) {
  SimOracle oracle(3);
  oracle.finished(put("a"), answered(5));
  EXPECT_EQ(oracle.floor(), kv::Revision{5});
  EXPECT_THROW(oracle.finished(put("b", 5), answered(5)), Violation);
  SimOp get;
  get.key = "k";
  get.floor = kv::Revision{5};
  Answer stale = answered(4);
  std::get<kv::Response>(stale.result).body = kv::RangeResponse{};
  EXPECT_THROW(oracle.finished(get, stale), Violation);
}

TEST(SimOracle, NoticesLostRefusedAndRepeatedWrites) {
  kv::Service service;
  service.apply(put("a").request());
  {
    SimOracle oracle(3);
    oracle.finished(put("a"), answered(2));
    EXPECT_NO_THROW(oracle.check_history(service));
    oracle.finished(put("lost"), answered(3));
    EXPECT_THROW(oracle.check_history(service), Violation);
  }
  {
    SimOracle oracle(3);
    oracle.finished(put("a"), {Fate::kRefused, Reason::kNoLeader, {}, {}});
    EXPECT_THROW(oracle.check_history(service), Violation);
  }
  {
    SimOracle oracle(3);
    oracle.finished(put("a"), {Fate::kUnknown, Reason::kTimeout, {}, {}});
    EXPECT_NO_THROW(oracle.check_history(service));
    service.apply(put("a").request());
    EXPECT_THROW(oracle.check_history(service), Violation);
  }
}

TEST(SimOracle, NoticesAReadOfWhatNeverWas) {
  kv::Service service;
  service.apply(put("a").request());
  service.apply(put("b").request());
  SimOracle oracle(3);
  SimOp get;
  get.key = "k";
  kv::Response response = std::get<kv::Response>(service.query(get.request()));
  oracle.finished(get, {Fate::kDone, Reason::kNone, response, {}});
  EXPECT_NO_THROW(oracle.check_history(service));
  response.revision = kv::Revision{2};  // where "a" was
  oracle.finished(get, {Fate::kDone, Reason::kNone, response, {}});
  EXPECT_THROW(oracle.check_history(service), Violation);
}

TEST(SimOracle, NoticesMembersThatApplyDifferently) {
  SimOracle oracle(2);
  kv::Service service;
  const Entry first{Term{1}, LogIndex{1}, EntryKind::kNoop, nullptr};
  oracle.applied(0, first, service);
  EXPECT_NO_THROW(oracle.applied(1, first, service));
  const Entry other{Term{2}, LogIndex{1}, EntryKind::kNoop, nullptr};
  EXPECT_THROW(oracle.applied(1, other, service), Violation);
  service.apply(put("a").request());
  EXPECT_THROW(oracle.applied(1, first, service), Violation);
}

}  // namespace
}  // namespace assay::raft
