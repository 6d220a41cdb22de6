#include "targets/node/agent_link.h"

#include <utility>

#include "targets/node/agent/protocol.h"

namespace assay {
namespace {

constexpr size_t kMaxLineBytes = 32 << 20;  // a command's output, each byte of it escaped
constexpr Nanos kGreetingTime = seconds(5);
constexpr Nanos kCloseTime = seconds(10);
constexpr int kMaxUnansweredBeats = 4;  // then the fifth second is over

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

ProcessEnd end_of(const nlohmann::json& line) {
  return {line.value("code", 0), line.value("signal", 0)};
}

}  // namespace

AgentLink::AgentLink(Loop& loop, AgentNodeOptions options)
    : loop_(loop), options_(std::move(options)), splitter_(kMaxLineBytes) {}

void AgentLink::connect(std::unique_ptr<AgentCarrier> carrier,
                        std::function<void(Result<void>)> greeted) {
  greeted_ = std::move(greeted);
  carrier_ = std::move(carrier);
  carrier_->open({.received =
                      [link = weak_from_this()](std::string_view bytes) {
                        if (const auto self = link.lock()) self->received(bytes);
                      },
                  .ended =
                      [link = weak_from_this()](const std::string& how) {
                        if (const auto self = link.lock()) self->ended(how);
                      }});
  Json hello = {{"hello", agent::kHello}, {"protocol", agent::kProtocol}};
  if (!options_.control_address.empty()) hello["control"] = options_.control_address;
  send(hello);
  after(kGreetingTime, [](AgentLink& link) {
    if (link.state_ == State::kGreeting) link.lose("said no hello within 5 s");
  });
}

void AgentLink::after(Nanos delay, std::function<void(AgentLink&)> fn) {
  loop_.at(loop_.now() + delay, [link = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = link.lock()) fn(*self);
  });
}

void AgentLink::send(const Json& line) {
  if (carrier_) carrier_->write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void AgentLink::ask(const std::string& word, Json fields, Answer answer) {
  if (state_ == State::kGone) {
    return loop_.post([answer = std::move(answer), why = lost_] { answer(why); });
  }
  fields["id"] = next_id_;
  fields["do"] = word;
  pending_.emplace(next_id_++, std::move(answer));
  send(fields);
}

void AgentLink::received(std::string_view bytes) {
  const auto self = shared_from_this();  // a callback may destroy the node
  splitter_.feed(
      bytes, [this](std::string_view line) { on_line(line); },
      [this] { lose("sent an endless line"); });
}

void AgentLink::on_line(std::string_view line) {
  if (state_ == State::kGone) return;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return lose("sent a line that is no JSON object");
  if (state_ == State::kGreeting) return on_hello(json);
  if (json.contains("id")) return on_reply(json);
  on_event(json);
}

void AgentLink::on_hello(const Json& hello) {
  if (hello.contains("error")) return lose("cannot begin: " + text_of(hello, "error"));
  const auto protocol = hello.find("protocol");
  if (text_of(hello, "hello") != agent::kHello || protocol == hello.end()) {
    return lose("is no assay-agent");
  }
  if (*protocol != agent::kProtocol) {
    return lose("speaks protocol " + protocol->dump() + ", this driver " +
                std::to_string(agent::kProtocol));
  }
  if (text_of(hello, "run") != options_.run_id || text_of(hello, "node") != options_.name) {
    return lose("belongs to node " + text_of(hello, "node") + " of run " + text_of(hello, "run"));
  }
  const Json powers = hello.value("powers", Json::array());
  for (const Json& power : powers) {
    powers_.cut |= power == "link";
    powers_.delay |= power == "delay";
    if (power.is_string()) powers_.faults[power] = "";
  }
  const auto absent = hello.find("absent");
  if (absent != hello.end() && absent->is_object()) {
    powers_.no_cut = text_of(*absent, "link");
    powers_.no_delay = text_of(*absent, "delay");
    for (const auto& [power, why] : absent->items())
      if (why.is_string()) powers_.faults[power] = why;
  }
  const auto pid = hello.find("pid");
  if (pid != hello.end() && pid->is_number_integer()) pid_ = pid->get<int>();
  state_ = State::kOpen;
  if (options_.beat) beat();
  std::exchange(greeted_, nullptr)(Result<void>());
}

void AgentLink::beat() {
  if (state_ == State::kGone) return;
  if (unanswered_beats_ >= kMaxUnansweredBeats) {
    carrier_->kill();
    return lose("did not answer for " + std::to_string(unanswered_beats_) + " s");
  }
  ++unanswered_beats_;
  ask("beat", Json::object(), [link = weak_from_this()](const Result<Json>&) {
    if (const auto self = link.lock()) self->unanswered_beats_ = 0;
  });
  after(agent::kBeatInterval, [](AgentLink& link) { link.beat(); });
}

void AgentLink::on_reply(const Json& reply) {
  const auto it =
      reply["id"].is_number_integer() ? pending_.find(reply["id"].get<int64_t>()) : pending_.end();
  if (it == pending_.end()) return lose("answered what nobody asked");
  const Answer answer = std::move(it->second);
  pending_.erase(it);
  if (reply.contains("error")) return answer(environment_error(text_of(reply, "error")));
  answer(reply);
}

void AgentLink::on_event(const Json& event) {
  const std::string kind = text_of(event, "event");
  if (kind == "self-heal") return lose("healed by itself: " + text_of(event, "why"));
  if (kind == "bad-line") return lose("did not understand: " + text_of(event, "why"));
  std::function<void()> tell;  // apart from the reading, so that only the agent's faults are caught
  try {
    if (kind == "log") tell = log_line(event);
    if (kind == "exit") tell = daemon_exit(event);
    if (kind == "bite") tell = bite(event);
    if (kind == "struck") struck_[event.at("kind")][event.at("from")] = event.at("count");
    if (kind == "held") held_[event.at("from")] = microseconds(event.at("us"));
    if (kind == "undelayed") {
      tell = [on_undelayed = events_.on_undelayed, why = event.at("why").get<std::string>()] {
        on_undelayed(why);
      };
    }
    if (kind == "fault-lost") {
      tell = [on_fault_lost = events_.on_fault_lost, lost = event.at("kind").get<std::string>(),
              why = event.at("why").get<std::string>()] { on_fault_lost(lost, why); };
    }
    if (kind == "unpaused") {
      tell = [on_unpaused = events_.on_unpaused, daemon = event.at("daemon").get<std::string>(),
              why = event.at("why").get<std::string>()] { on_unpaused(daemon, why); };
    }
  } catch (const Json::exception& e) {
    return lose(std::string("sent nonsense: ") + e.what());
  }
  if (tell) tell();
}

std::function<void()> AgentLink::log_line(const Json& event) {
  const auto it = tails_.find(event.at("tail").get<std::string>());
  if (it == tails_.end()) return {};
  TailedLine line{loop_.now(), event.at("seq"), event.at("line"), event.value("cut", false)};
  return [on_line = it->second, line = std::move(line)] { on_line(line); };
}

std::function<void()> AgentLink::daemon_exit(const Json& event) {
  const std::string daemon = event.at("daemon");
  const int pid = event.at("pid");
  const bool asked = event.at("asked");
  return [=, on_exit = events_.on_exit, end = end_of(event)] { on_exit(daemon, pid, end, asked); };
}

std::function<void()> AgentLink::bite(const Json& event) {
  const std::string from = event.at("from");
  const uint64_t packets = bitten_[from] = event.at("packets");
  return [=, on_bite = events_.on_bite] { on_bite(from, packets); };
}

void AgentLink::tail(const std::string& path, std::function<void(const TailedLine&)> on_line) {
  tails_[path] = std::move(on_line);
  ask("tail", {{"name", path}, {"path", path}}, [](const Result<Json>&) {});
}

void AgentLink::close(std::function<void(Result<void>)> done) {
  if (state_ == State::kGone || closed_) {
    const Error why = state_ == State::kGone ? lost_ : environment_error("closed twice");
    return loop_.post([done = std::move(done), why] { done(why); });
  }
  closed_ = std::move(done);
  state_ = State::kClosing;
  ask("close", Json::object(), [link = weak_from_this()](const Result<Json>& reply) {
    const auto self = link.lock();
    if (!self || self->state_ == State::kGone) return;
    self->close_answered_ = true;
    if (!reply)
      self->close_result_ = reply.error();
    else if (reply->contains("heal_error"))
      self->close_result_ = environment_error(text_of(*reply, "heal_error"));
    self->carrier_->end_input();
  });
  after(kCloseTime, [](AgentLink& link) {
    if (link.state_ != State::kClosing) return;
    link.carrier_->kill();
    link.lose("did not end within 10 s");
  });
}

void AgentLink::ended(const std::string& how) {
  const auto self = shared_from_this();
  if (state_ == State::kClosing && close_answered_) {
    state_ = State::kGone;
    lost_ = environment_error("it was closed");
    fail_pending(lost_);
    return finish_close(close_result_);
  }
  lose(how);
}

// The node is of no use any more. Everything that is due learns it, then the owner does.
void AgentLink::lose(const std::string& why) {
  const State before = std::exchange(state_, State::kGone);
  if (before == State::kGone) return;
  lost_ = environment_error("its agent " + why);
  if (carrier_) carrier_->end_input();
  fail_pending(lost_);
  if (before == State::kGreeting && greeted_) return std::exchange(greeted_, nullptr)(lost_);
  if (before == State::kClosing) return finish_close(lost_);
  const auto on_lost = events_.on_lost;  // a copy: the owner may destroy the node
  on_lost(environment_error(why));
}

void AgentLink::fail_pending(const Error& why) {
  const auto pending = std::exchange(pending_, {});
  for (const auto& [id, answer] : pending) answer(why);
}

void AgentLink::finish_close(Result<void> result) {
  if (const auto done = std::exchange(closed_, nullptr)) done(std::move(result));
}

void AgentLink::abandon() {
  carrier_.reset();
  events_ = {};
  tails_.clear();
  if (std::exchange(state_, State::kGone) == State::kGone) return;
  lost_ = environment_error("it is gone");
  loop_.post([self = shared_from_this()] {
    self->fail_pending(self->lost_);
    if (self->greeted_) std::exchange(self->greeted_, nullptr)(self->lost_);
    self->finish_close(self->lost_);
  });
}

}  // namespace assay
