#include "targets/node/agent_node.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "targets/node/agent/base64.h"
#include "targets/node/agent/protocol.h"
#include "targets/node/agent_link.h"

namespace assay {
namespace {

using Json = AgentLink::Json;

// From a reply to a value: what the library throws at a malformed one becomes an Error.
template <typename T>
AgentLink::Answer reading(Node::Done<T> done, T (*read)(const Json&)) {
  return [done = std::move(done), read](const Result<Json>& reply) {
    Result<T> value = environment_error("");
    try {
      value = reply ? Result<T>(read(*reply)) : Result<T>(reply.error());
    } catch (const Json::exception& e) {
      value = environment_error(std::string("an agent answered nonsense: ") + e.what());
    }
    done(std::move(value));
  };
}

AgentLink::Answer nothing(Node::Done<void> done) {
  return [done = std::move(done)](const Result<Json>& reply) {
    done(reply ? Result<void>() : Result<void>(reply.error()));
  };
}

ProcessEnd read_end(const Json& reply) {
  return {reply.value("code", 0), reply.value("signal", 0)};
}

KillReport read_kill(const Json& reply) {
  return {reply.at("running"), reply.value("forced", false), read_end(reply)};
}

PauseReport read_pause(const Json& reply) {
  return {reply.at("running"), reply.value("processes", 0), reply.value("threads", 0)};
}

ResumeReport read_resume(const Json& reply) {
  return {reply.at("running"), reply.at("held"), reply.at("why")};
}

FaultReport read_fault(const Json& reply) {
  return {reply.at("installed"), reply.at("bit"), reply.at("evidence"),
          reply.value("figure", int64_t{0})};
}

CommandOutput read_output(const Json& reply) {
  return {read_end(reply), reply.at("timed_out"), reply.at("stdout"), reply.at("stderr"),
          reply.at("stdout_cut").get<bool>() || reply.at("stderr_cut").get<bool>()};
}

DaemonState read_daemon(const Json& entry) {
  return {entry.at("name"),
          entry.at("pid"),
          entry.at("running"),
          entry.at("paused"),
          entry.at("processes"),
          entry.at("threads"),
          entry.at("stopped_threads"),
          milliseconds(entry.at("cpu_ms")),
          entry.at("resident_bytes")};
}

NodeObservation read_observation(const Json& reply) {
  NodeObservation seen;
  for (const Json& entry : reply.at("daemons")) seen.daemons.push_back(read_daemon(entry));
  seen.dropped = reply.at("rules");
  return seen;
}

std::vector<FileEntry> read_entries(const Json& reply) {
  std::vector<FileEntry> entries;
  for (const Json& entry : reply.at("entries")) {
    entries.push_back({entry.at("path"), entry.at("type") == "file", entry.at("bytes")});
  }
  return entries;
}

// Fetches a file chunk by chunk.
struct Fetching : std::enable_shared_from_this<Fetching> {
  std::shared_ptr<AgentLink> link;
  std::string path;
  int64_t max_bytes = 0;
  Node::Done<FileContent> done;
  FileContent content;

  void next() {
    const int64_t left = max_bytes - static_cast<int64_t>(content.bytes.size());
    const Json request = {{"path", path},
                          {"offset", content.bytes.size()},
                          {"max", std::min<int64_t>(left, agent::kFetchChunkBytes)}};
    link->ask("fetch", request, [self = shared_from_this()](const Result<Json>& reply) {
      reply ? self->take(*reply) : self->done(reply.error());
    });
  }
  void take(const Json& reply) {
    const auto chunk = agent::base64_decode(reply.value("data", ""));
    if (!chunk) return done(chunk.error());
    content.bytes += *chunk;
    const bool eof = reply.value("eof", true);
    const bool full = static_cast<int64_t>(content.bytes.size()) >= max_bytes;
    if (!eof && !full && !chunk->empty()) return next();
    content.cut = !eof;
    done(std::move(content));
  }
};

}  // namespace

AgentNode::AgentNode(Loop& loop, AgentNodeOptions options)
    : link_(std::make_shared<AgentLink>(loop, std::move(options))) {}
AgentNode::~AgentNode() { link_->abandon(); }

void AgentNode::connect(std::unique_ptr<AgentCarrier> carrier, Done<void> greeted) {
  link_->connect(std::move(carrier), std::move(greeted));
}
void AgentNode::configure_network(const std::string& link, const std::string& address,
                                  Done<void> done) {
  link_->ask("net", {{"link", link}, {"name", link}, {"address", address}},
             nothing(std::move(done)));
}

const std::string& AgentNode::name() const { return link_->options().name; }
const std::string& AgentNode::address() const { return link_->options().address; }
const NodePowers& AgentNode::powers() const { return link_->powers(); }
int AgentNode::agent_pid() const { return link_->pid(); }
const std::map<std::string, uint64_t>& AgentNode::bitten() const { return link_->bitten(); }
const std::map<std::string, Nanos>& AgentNode::held() const { return link_->held(); }
void AgentNode::set_events(NodeEvents events) { link_->set_events(std::move(events)); }

void AgentNode::start(const DaemonSpec& spec, Done<int> done) {
  link_->ask(
      "start",
      {{"name", spec.name},
       {"argv", spec.argv},
       {"env", spec.env},
       {"cwd", spec.cwd},
       {"log", spec.log_path}},
      reading<int>(std::move(done), [](const Json& reply) { return reply.at("pid").get<int>(); }));
}

void AgentNode::kill(const std::string& daemon, Done<KillReport> done) {
  link_->ask("kill", {{"name", daemon}}, reading<KillReport>(std::move(done), read_kill));
}

void AgentNode::stop(const std::string& daemon, Nanos grace, Done<KillReport> done) {
  link_->ask("stop", {{"name", daemon}, {"grace_ms", to_ms(grace)}},
             reading<KillReport>(std::move(done), read_kill));
}

void AgentNode::pause(const std::string& daemon, Done<PauseReport> done) {
  link_->ask("pause", {{"name", daemon}}, reading<PauseReport>(std::move(done), read_pause));
}

void AgentNode::resume(const std::string& daemon, Done<ResumeReport> done) {
  link_->ask("resume", {{"name", daemon}}, reading<ResumeReport>(std::move(done), read_resume));
}

void AgentNode::cut(const std::vector<std::string>& from, Done<void> done) {
  link_->bitten().clear();
  link_->ask("cut", {{"from", from}}, nothing(std::move(done)));
}

void AgentNode::heal(Done<std::map<std::string, uint64_t>> done) {
  using Packets = std::map<std::string, uint64_t>;
  link_->bitten().clear();
  link_->ask("heal", Json::object(), reading<Packets>(std::move(done), [](const Json& reply) {
               return reply.at("dropped").get<Packets>();
             }));
}

void AgentNode::delay(const std::map<std::string, LinkDelay>& from, Done<void> done) {
  if (from == link_->delays())
    return link_->loop().post([done = std::move(done)] { done(Result<void>()); });
  link_->delays() = from;
  Json links = Json::array();
  for (const auto& [address, how] : from) {
    links.push_back({{"from", address},
                     {"delay_ms", to_ms(how.delay)},
                     {"jitter_ms", to_ms(how.jitter)},
                     {"reorder", how.reorder},
                     {"duplicate_percent", how.duplicate_percent},
                     {"seed", how.seed}});
  }
  link_->ask("delay", {{"links", std::move(links)}},
             [link = link_.get(), done = nothing(std::move(done))](const Result<Json>& reply) {
               link->held().clear();  // what was said before the reply is of earlier links
               if (!reply) link->delays().clear();
               done(reply);
             });
}

void AgentNode::undelay(Done<std::map<std::string, HeldPackets>> done) {
  using Held = std::map<std::string, HeldPackets>;
  link_->held().clear();
  link_->delays().clear();
  link_->ask("undelay", Json::object(), reading<Held>(std::move(done), [](const Json& reply) {
               Held held;
               for (const auto& [from, seen] : reply.at("held").items())
                 held[from] = {seen.at("packets"), seen.at("duplicates"), seen.at("overtaken")};
               return held;
             }));
}

void AgentNode::prepare_fault(const NodeFault& fault,
                              Done<std::map<std::string, std::string>> done) {
  using Environment = std::map<std::string, std::string>;
  link_->ask("prepare", {{"kind", fault.kind}, {"settings", fault.settings}},
             reading<Environment>(std::move(done), [](const Json& reply) {
               return reply.at("env").get<Environment>();
             }));
}

void AgentNode::begin_fault(const NodeFault& fault, const std::string& daemon,
                            Done<FaultReport> done) {
  link_->ask("fault", {{"kind", fault.kind}, {"daemon", daemon}, {"settings", fault.settings}},
             reading<FaultReport>(std::move(done), read_fault));
}

void AgentNode::end_fault(const std::string& kind, Done<FaultReport> done) {
  link_->ask("unfault", {{"kind", kind}}, reading<FaultReport>(std::move(done), read_fault));
}

void AgentNode::look_at_fault(const std::string& kind, Done<FaultReport> done) {
  link_->ask("look", {{"kind", kind}}, reading<FaultReport>(std::move(done), read_fault));
}

void AgentNode::break_links(const LinkFault& fault, const std::vector<std::string>& from,
                            Done<void> done) {
  link_->ask("break", {{"kind", fault.kind}, {"settings", fault.settings}, {"from", from}},
             [link = link_.get(), kind = fault.kind,
              done = nothing(std::move(done))](const Result<Json>& reply) {
               link->struck(kind).clear();  // what was said before the reply is of earlier links
               done(reply);
             });
}

void AgentNode::mend_links(const std::string& kind, Done<std::map<std::string, uint64_t>> done) {
  using Struck = std::map<std::string, uint64_t>;
  link_->struck(kind).clear();
  link_->ask("mend", {{"kind", kind}}, reading<Struck>(std::move(done), [](const Json& reply) {
               return reply.at("struck").get<Struck>();
             }));
}

const std::map<std::string, uint64_t>& AgentNode::struck(const std::string& kind) const {
  return link_->struck(kind);
}

void AgentNode::probe(const std::vector<std::string>& to, const LinkProbe& what, Done<void> done) {
  link_->ask("probe", {{"to", to}, {"tcp", what.tcp}, {"count", what.count}, {"bytes", what.bytes}},
             nothing(std::move(done)));
}

void AgentNode::observe(Done<NodeObservation> done) {
  link_->ask("observe", Json::object(),
             reading<NodeObservation>(std::move(done), read_observation));
}

void AgentNode::run(const CommandSpec& command, Done<CommandOutput> done) {
  link_->ask("run",
             {{"argv", command.argv},
              {"env", command.env},
              {"cwd", command.cwd},
              {"stdin", command.input},
              {"deadline_ms", to_ms(command.deadline)}},
             reading<CommandOutput>(std::move(done), read_output));
}

void AgentNode::remedy(const std::string& name, const CommandSpec& command, Done<void> done) {
  link_->ask("remedy",
             {{"name", name}, {"argv", command.argv}, {"env", command.env}, {"cwd", command.cwd}},
             nothing(std::move(done)));
}

void AgentNode::forget(const std::string& name, Done<void> done) {
  link_->ask("forget", {{"name", name}}, nothing(std::move(done)));
}

void AgentNode::undo(Done<void> done) {
  using Ends = std::map<std::string, std::string>;
  link_->ask("undo", Json::object(),
             reading<Ends>(
                 [done = std::move(done)](const Result<Ends>& ends) {
                   if (!ends) return done(ends.error());
                   std::string failures;
                   for (const auto& [name, how] : *ends) {
                     if (!how.empty())
                       failures +=
                           (failures.empty() ? "" : ", ") + name + " could not be ended: " + how;
                   }
                   failures.empty() ? done({}) : done(environment_error(failures));
                 },
                 [](const Json& reply) { return reply.at("ends").get<Ends>(); }));
}

void AgentNode::fetch(const std::string& path, int64_t max_bytes, Done<FileContent> done) {
  auto fetching = std::make_shared<Fetching>();
  fetching->link = link_;
  fetching->path = path;
  fetching->max_bytes = max_bytes;
  fetching->done = std::move(done);
  fetching->next();
}

void AgentNode::list(const std::string& path, Done<std::vector<FileEntry>> done) {
  link_->ask("list", {{"path", path}},
             reading<std::vector<FileEntry>>(std::move(done), read_entries));
}

void AgentNode::make_folder(const std::string& path, Done<void> done) {
  link_->ask("mkdir", {{"path", path}}, nothing(std::move(done)));
}

void AgentNode::remove_folder(const std::string& path, Done<void> done) {
  link_->ask("rm", {{"path", path}}, nothing(std::move(done)));
}

void AgentNode::measure_fsync(const std::string& folder, Done<Nanos> done) {
  link_->ask("fsync", {{"path", folder}}, reading<Nanos>(std::move(done), [](const Json& reply) {
               return nanoseconds(reply.at("ns"));
             }));
}

void AgentNode::tail(const std::string& path, std::function<void(const TailedLine&)> on_line) {
  link_->tail(path, std::move(on_line));
}

void AgentNode::close(Done<void> done) { link_->close(std::move(done)); }

}  // namespace assay
