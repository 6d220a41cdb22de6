#include "targets/naive/ordered.h"

#include <utility>

#include "targets/kv/http/error_table.h"
#include "targets/kv/service/validate.h"

namespace assay::naive {
namespace {

constexpr int64_t kForwardTimeoutMs = 2000;
// Well below what a frame between peers may hold.
constexpr size_t kEntriesBytesMax = 4 << 20;

}  // namespace

// No number of an earlier life of this node is used again: its answers may still be on their way.
Ordered::Ordered(const DesignOptions& options, Env& env)
    : options_(options),
      env_(env),
      log_(env, {.wrong_ignore_guards = !options.guards}),
      next_forward_(static_cast<uint64_t>(env.wall_ms()) << 20) {}

void Ordered::send(NodeId to, decltype(Message::body) body) {
  env_.send(to, encode(Message{options_.self, std::move(body)}));
}

void Ordered::send_to_others(const decltype(Message::body)& body) {
  for (NodeId member : options_.members) {
    if (member != options_.self) send(member, body);
  }
}

NewEntry Ordered::newest() const {
  const uint64_t index = log_.length();
  return {epoch(), index, *log_.copy().chain_at(index - 1), log_.at(index)};
}

// --- Requests ------------------------------------------------------------------------------------

void Ordered::request(kv::Request request, Done done) {
  if (const auto error = kv::validate(request)) return done(*error);
  // What a client wants from any node it gets from any.
  if (kv::is_serializable(request)) return done(log_.copy().query(request));
  if (!leader()) return done(kv::kNoLeader);
  if (leads()) return serve(std::move(request), std::move(done));
  forwards_[++next_forward_] = {std::move(done), env_.now_ms() + kForwardTimeoutMs};
  send(leader(), Forward{next_forward_, std::move(request)});
}

void Ordered::serve(kv::Request request, Done done) {
  if (kv::is_read_only(request)) return done(log_.copy().query(request));
  lead(std::move(request), std::move(done));
}

void Ordered::on(NodeId from, Forward& forward) {
  const auto reply = [this, from, id = forward.id](kv::Result result) {
    send(from, Reply{id, std::move(result)});
  };
  if (!leads()) return reply(kv::kNotLeader);
  serve(std::move(forward.request), reply);
}

void Ordered::on(NodeId, Reply& reply) {
  auto waiting = forwards_.extract(reply.id);
  if (waiting) waiting.mapped().done(std::move(reply.result));
}

void Ordered::give_forwards_up() {
  for (auto& [id, waiting] : std::exchange(forwards_, {})) waiting.done(kv::kLeaderChanged);
}

// --- Copies --------------------------------------------------------------------------------------

void Ordered::on(NodeId from, NewEntry& entry) {
  if (!believes(from, entry)) return;
  const bool is_next = entry.index == log_.length() + 1 && entry.chain_before == log_.chain();
  if (is_next) log_.append(entry.entry);
  on_copied();
  // It was there already, or something is missing before it: the beat says which.
  send(from, beat());
}

void Ordered::ask(NodeId member) {
  if (env_.now_ms() < may_ask_ms_) return;
  may_ask_ms_ = env_.now_ms() + kBeatMs;
  send(member, log_.samples());
}

void Ordered::on(NodeId from, Want& want) {
  Entries answer{epoch(), log_.common_with(want) + 1, log_.length(), {}};
  size_t bytes = 0;
  for (uint64_t index = answer.first; index <= log_.length() && bytes < kEntriesBytesMax; ++index) {
    answer.entries.push_back(log_.at(index));
    bytes += log_.at(index).change.size() + 16;
  }
  send(from, std::move(answer));
}

void Ordered::on(NodeId from, Entries& answer) {
  if (answer.first > log_.length() + 1 || !believes(from, answer)) return;
  uint64_t index = answer.first;
  for (const LogEntry& entry : answer.entries) {
    const bool there = index <= log_.length() && log_.at(index).epoch == entry.epoch &&
                       log_.at(index).change == entry.change;
    if (!there) {
      cut(index - 1);
      if (!log_.append(entry)) return;
    }
    ++index;
  }
  if (index > answer.length) cut(answer.length);
  on_copied();
  send(from, beat());
}

void Ordered::cut(uint64_t length) {
  if (length >= log_.length()) return;
  log_.cut(length);
  on_cut(length);
}

// --- The rest ------------------------------------------------------------------------------------

void Ordered::on_message(std::string_view bytes) {
  auto message = decode(bytes);
  if (!message) return;
  heard(message->from);
  std::visit([&](auto& body) { on(message->from, body); }, message->body);
}

void Ordered::on_tick() {
  const int64_t now = env_.now_ms();
  while (!forwards_.empty() && forwards_.begin()->second.deadline_ms <= now)
    forwards_.extract(forwards_.begin()).mapped().done(kv::kTimeout);
  if (now < next_beat_ms_) return;
  next_beat_ms_ = now + kBeatMs;
  send_to_others(beat());
}

Status Ordered::status() const {
  return {.leads = leads(),
          .epoch = epoch(),
          .leader = leader(),
          .applied = log_.length(),
          .chain = log_.chain()};
}

}  // namespace assay::naive
