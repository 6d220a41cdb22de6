#include "targets/exec/exec_target.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "checkers/history/json_text.h"
#include "targets/asio/asio_loop.h"
#include "targets/exec/client_pool.h"
#include "targets/exec/exec_client.h"
#include "targets/exec/placeholders.h"

namespace assay::exec {
namespace {

constexpr Nanos kQuestionDeadline = seconds(1);
constexpr Nanos kDiagnosisMax = seconds(5);
constexpr Nanos kStatusPatience = seconds(5);  // with a client program that does not answer

// An answer that is given once, by whoever is first, and what must live until then.
struct Question {
  Callback<Value> done;
  std::unique_ptr<boost::asio::ip::tcp::socket> socket;
  std::unique_ptr<Program> program;
  std::string printed;

  void answer(Result<Value> value) {
    socket.reset();
    program.reset();
    if (auto first = std::exchange(done, nullptr)) first(std::move(value));
  }
};

class ExecTarget : public Target {
 public:
  ExecTarget(std::shared_ptr<const Description> description, TargetInfo::Settings settings)
      : d_(std::move(description)),
        settings_(std::move(settings)),
        errors_(std::shared_ptr<const ErrorTable>(d_, &d_->errors)) {}

  std::string_view name() const override { return d_->name; }
  Claims claims() const override { return d_->claims; }
  std::vector<Symbol> ops() const override { return d_->ops; }
  bool has_daemons() const override { return true; }
  Nanos ready_within() const override { return d_->ready.within; }

  Result<DaemonSpec> daemon(const Layout& layout, const NodeInfo& node) const override {
    DaemonSpec spec;
    spec.name = d_->name;
    spec.argv = filled(d_->start, layout, node);
    spec.env = environment(layout, node);
    spec.cwd = node.folder;
    spec.log_path = node.folder + "/" + d_->name + ".log";
    return spec;
  }
  std::vector<CommandSpec> preparations(const Layout& layout, const NodeInfo& node) const override {
    return commands({&d_->wipe, &d_->install}, layout, node, seconds(60));
  }
  std::vector<CommandSpec> farewells(const Layout& layout, const NodeInfo& node) const override {
    return commands({&d_->stop}, layout, node, seconds(2));
  }
  std::optional<CommandSpec> diagnosis(const Layout& layout, const NodeInfo& node) const override {
    auto made = commands({&d_->diagnose}, layout, node, kDiagnosisMax);
    if (made.empty()) return std::nullopt;
    return std::move(made[0]);
  }
  std::vector<OwnFault> faults() const override {
    std::vector<OwnFault> faults;
    for (const DescribedFault& fault : d_->faults)
      faults.push_back({fault.kind, fault.summary, !fault.end.empty()});
    return faults;
  }
  FaultCommands fault_commands(const std::string& kind, const Layout& layout,
                               const NodeInfo& node) const override {
    const auto fault = std::find_if(d_->faults.begin(), d_->faults.end(),
                                    [&](const DescribedFault& f) { return f.kind == kind; });
    ASSAY_CHECK(fault != d_->faults.end(), "no fault %s", kind.c_str());
    const auto make = [&](const Command& command) {
      return commands({&command}, layout, node, fault->within).at(0);
    };
    FaultCommands made{.begin = make(fault->begin), .end = {}, .verify = make(fault->verify)};
    if (!fault->end.empty()) made.end = make(fault->end);
    return made;
  }
  std::vector<std::string> logs(const Layout& layout, const NodeInfo& node) const override {
    return filled(d_->logs, layout, node);
  }

  // The description and the client are part of what a result rests on.
  std::vector<std::string> binaries(const Layout& layout) const override {
    std::vector<std::string> files{d_->file};
    const auto add = [&](const std::string& file) {
      if (file.find('/') != std::string::npos) files.push_back(file);
    };
    add(filled(d_->client, layout, layout.nodes.at(0))[0]);
    add(filled(d_->start, layout, layout.nodes.at(0))[0]);
    for (const std::string& file : filled(d_->binaries, layout, layout.nodes.at(0))) add(file);
    const std::set<std::string> once(files.begin(), files.end());
    return {once.begin(), once.end()};
  }

  void begin(const Layout& layout, Nanos op_timeout, int clients) override {
    layout_ = layout;
    op_timeout_ = op_timeout;
    clients_ = clients;
    nodes_.clear();
    for (const NodeInfo& node : layout.nodes) {
      nodes_.emplace_back();
      nodes_.back().complaints = std::make_shared<Complaints>();
      if (!node.folder.empty()) nodes_.back().complaints->path = node.folder + "/client.log";
    }
  }

  void open_client(Loop& loop, const NodeInfo& node,
                   Callback<std::unique_ptr<Client>> done) override {
    const NodeInfo& ours = layout_.nodes[node.index];
    if (node.address == ours.address && node.client_port == ours.client_port)
      return pool(loop, node).take(std::move(done));
    // By another way than all the others: one that has a connection already would not take it.
    loop.post([this, &loop, node, done = std::move(done)] { done(client_for(loop, node)); });
  }

  // As many client programs as will be needed are started, and one more for each node.
  void try_clients(Loop& loop, Callback<void> done) override {
    struct Trial {
      size_t left;
      Callback<void> done;
    };
    const auto trial = std::make_shared<Trial>(Trial{layout_.nodes.size(), std::move(done)});
    const int nodes = static_cast<int>(layout_.nodes.size());
    for (const NodeInfo& node : layout_.nodes) {
      pool(loop, node)
          .fill((clients_ + nodes - 1) / nodes + 1, [trial, name = node.name](Result<void> filled) {
            if (!filled) filled = environment_error(name + ": " + filled.error().message);
            if (filled && --trial->left > 0) return;
            if (auto first = std::exchange(trial->done, nullptr)) first(std::move(filled));
          });
    }
  }

  void end() override {
    for (Member& member : nodes_) {
      if (member.pool) member.pool->close();
    }
    nodes_.clear();
  }

  void status(Loop& loop, const NodeInfo& node, Callback<Value> done) override {
    auto question = std::make_shared<Question>();
    question->done = std::move(done);
    loop.at(loop.now() + kQuestionDeadline,
            [question] { question->answer(environment_error("timeout")); });
    if (!d_->ready.tcp) return ask_ready(loop, node, std::move(question));
    boost::asio::io_context* io = context_of(loop);
    if (io == nullptr) {
      return loop.post([question] { question->answer(environment_error("no sockets")); });
    }
    using boost::asio::ip::tcp;
    boost::system::error_code bad;
    const auto address = boost::asio::ip::make_address(node.address, bad);
    question->socket = std::make_unique<tcp::socket>(*io);
    question->socket->async_connect(
        tcp::endpoint(address, static_cast<uint16_t>(node.client_port)),
        [this, &loop, node, question](const boost::system::error_code& error) {
          if (!question->done) return;
          if (!error) return ask_ready(loop, node, question);
          nodes_[node.index].ready = false;
          const bool refused = error == boost::asio::error::connection_refused;
          question->answer(environment_error(refused ? "refused" : error.message()));
        });
  }

  void chain(Loop& loop, const NodeInfo&, int64_t, Callback<Value> done) override {
    loop.post([done = std::move(done)] { done(Value()); });
  }

  std::string_view log_finding(std::string_view line) const override {
    for (const auto& [words, finding] : d_->findings) {
      if (line.find(words) != std::string_view::npos) return finding;
    }
    return "";
  }

 private:
  struct Member {
    bool ready = false;  // its port has been open since its `ready` command exited 0
    std::shared_ptr<ClientPool> pool;
    std::unique_ptr<Client> status;
    Nanos status_asked{-1};  // when; -1: it has answered
    std::shared_ptr<Complaints> complaints;
  };

  std::vector<std::string> filled(const std::vector<std::string>& texts, const Layout& layout,
                                  const NodeInfo& node) const {
    std::vector<std::string> out;
    for (const std::string& text : texts) out.push_back(filled(text, layout, node));
    return out;
  }
  std::string filled(const std::string& text, const Layout& layout, const NodeInfo& node) const {
    auto done = fill(text, {layout, node, d_->folder, settings_});
    ASSAY_CHECK(done.ok(), "%s", done.error().message.c_str());  // the description was judged
    return *done;
  }
  std::map<std::string, std::string> environment(const Layout& layout, const NodeInfo& node) const {
    std::map<std::string, std::string> env;
    for (const auto& [name, text] : d_->env) env[name] = filled(text, layout, node);
    return env;
  }
  std::vector<CommandSpec> commands(std::initializer_list<const Command*> templates,
                                    const Layout& layout, const NodeInfo& node,
                                    Nanos deadline) const {
    std::vector<CommandSpec> out;
    for (const Command* command : templates) {
      if (command->empty()) continue;
      CommandSpec spec;
      spec.argv = filled(*command, layout, node);
      spec.env = environment(layout, node);
      spec.cwd = node.folder;
      spec.deadline = deadline;
      out.push_back(std::move(spec));
    }
    return out;
  }

  // In the node's folder, as its commands are, while that is on this machine.
  ProgramSpec program(const Command& command, const NodeInfo& node) const {
    ProgramSpec spec;
    spec.child.argv = filled(command, layout_, node);
    spec.child.env = environment(layout_, node);
    spec.child.cwd = node.folder;
    spec.complaints = nodes_[node.index].complaints;
    return spec;
  }

  Result<std::unique_ptr<Client>> client_for(Loop& loop, const NodeInfo& node) {
    // The program gives up a little earlier than we do: then it can say why.
    const Nanos margin = std::min(op_timeout_ / 10, milliseconds(100));
    return start_exec_client(
        loop, {.program = program(d_->client, node),
               .to = {.node = node.name,
                      .address = node.address + ":" + std::to_string(node.client_port),
                      .timeout = op_timeout_ - margin},
               .errors = errors_});
  }

  // The first read is of a key that is nobody's.
  ClientPool& pool(Loop& loop, const NodeInfo& node) {
    std::shared_ptr<ClientPool>& pool = nodes_[node.index].pool;
    if (pool) return *pool;
    ClientPool::Options options;
    options.start = [this, &loop, node] { return client_for(loop, node); };
    options.first_request.f = f::read;
    options.first_request.key = Symbol("assay-trial");
    pool = std::make_shared<ClientPool>(loop, std::move(options));
    return *pool;
  }

  void ask_ready(Loop& loop, const NodeInfo& node, std::shared_ptr<Question> question) {
    question->socket.reset();
    const bool known = nodes_[node.index].ready && d_->ready.tcp;
    if (d_->ready.command.empty() || known) return ask_status(loop, node, std::move(question));
    run(loop, node, d_->ready.command, question,
        [this, &loop, node](std::shared_ptr<Question> asked) {
          nodes_[node.index].ready = true;
          ask_status(loop, node, std::move(asked));
        });
  }

  void ask_status(Loop& loop, const NodeInfo& node, std::shared_ptr<Question> question) {
    if (d_->client_status) return ask_client(loop, node, std::move(question));
    if (d_->status.empty()) {
      return loop.post([question] { question->answer(Value::object({})); });
    }
    run(loop, node, d_->status, question, [this](const std::shared_ptr<Question>& asked) {
      auto status = parse_json(asked->printed, "status");
      if (!status) return asked->answer(environment_error(status.error().message));
      asked->answer(looked_at(std::move(*status)));
    });
  }

  // Runs a command on the driver's side; next() where it exits 0. The question's timer owns it.
  void run(Loop& loop, const NodeInfo& node, const Command& command,
           const std::shared_ptr<Question>& question,
           std::function<void(const std::shared_ptr<Question>&)> next) {
    boost::asio::io_context* io = context_of(loop);
    if (io == nullptr) {
      return loop.post([question] { question->answer(environment_error("no sockets")); });
    }
    const std::weak_ptr<Question> weak = question;
    question->printed.clear();
    auto started = Program::start(*io, loop, program(command, node),
                                  {.on_line =
                                       [weak](std::string_view line) {
                                         const auto q = weak.lock();
                                         if (q && q->printed.size() < kLineMax)
                                           q->printed.append(line).push_back('\n');
                                       },
                                   .on_end =
                                       [weak, name = command[0], next = std::move(next)](
                                           const std::string& how, const agent::ExitStatus* exit) {
                                         const auto q = weak.lock();
                                         if (!q || !q->done) return;
                                         if (exit != nullptr && *exit == agent::ExitStatus{})
                                           return next(q);
                                         q->answer(environment_error(name + " " + how));
                                       }});
    if (!started) {
      return loop.post([question, error = started.error()] { question->answer(error); });
    }
    question->program = std::move(*started);
    question->program->end_input();
  }

  // Checkers compare who names whom leader, and believe it: so it must be one of our names. Without
  // a leader nothing else that is said about Raft has a meaning.
  Result<Value> looked_at(Value status) const {
    if (!status.is_object())
      return environment_error("the status: expected an object, found " + status.to_json());
    const Value& leader = status["leader"];
    if (leader.is_null()) return Value::object({{Symbol("role"), status["role"]}});
    bool known = leader == Value("");
    for (const NodeInfo& node : layout_.nodes) known |= leader == Value(node.name);
    if (known) return status;
    return environment_error("the status: expected the name of a node as \"leader\", found " +
                             leader.to_json());
  }

  // One client program of each node is kept for its status.
  void ask_client(Loop& loop, const NodeInfo& node, std::shared_ptr<Question> question) {
    Member& member = nodes_[node.index];
    const bool busy = member.status_asked >= Nanos{};
    if (busy && loop.now() < member.status_asked + kStatusPatience) return;  // a time-out
    if (busy || (member.status && !member.status->usable())) member.status.reset();
    member.status_asked = loop.now();
    if (member.status) return invoke_status(node.index, std::move(question));
    pool(loop, node)
        .take([this, index = node.index, question](Result<std::unique_ptr<Client>> client) {
          if (nodes_.empty()) return;
          if (!client) {
            nodes_[index].status_asked = Nanos{-1};
            return question->answer(client.error());
          }
          nodes_[index].status = std::move(*client);
          invoke_status(index, question);
        });
  }

  void invoke_status(int index, std::shared_ptr<Question> question) {
    Op op;
    op.f = f::status;
    nodes_[index].status->invoke(op, [this, index, question](const Op& answer) {
      nodes_[index].status_asked = Nanos{-1};
      if (answer.type == OpType::kOk) return question->answer(looked_at(answer.value));
      question->answer(environment_error(answer.error ? answer.error->text : "no status"));
    });
  }

  std::shared_ptr<const Description> d_;
  TargetInfo::Settings settings_;
  std::shared_ptr<const ErrorTable> errors_;
  Layout layout_;
  Nanos op_timeout_ = seconds(1);
  int clients_ = 0;
  std::vector<Member> nodes_;
};

// A program with a slash must be there; another one is looked for in PATH.
Result<void> check_executable(const std::string& file, const std::string& what) {
  if (file.find('/') == std::string::npos) {
    if (!agent::find_tool(file).empty()) return {};
    return environment_error("cannot run " + what + " " + file + ": not found in PATH");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    errno = EISDIR;
  else if (access(file.c_str(), X_OK) == 0)
    return {};
  return environment_error("cannot run " + what + " " + file + ": " + strerror(errno));
}

}  // namespace

TargetInfo exec_target(Description description) {
  const auto shared = std::make_shared<const Description>(std::move(description));
  TargetInfo info;
  info.name = shared->name;
  info.summary = shared->summary;
  info.options = shared->options;
  info.make = [shared](const TargetInfo::Settings& settings,
                       uint64_t) -> Result<std::unique_ptr<Target>> {
    // What depends on the node is known only when there are nodes.
    const bool fixed =
        shared->client[0].find('{') == std::string::npos || shared->client[0].starts_with("{bin}/");
    if (fixed) {
      Layout layout;
      layout.nodes.push_back({.name = "n1"});
      auto file = fill(shared->client[0], {layout, layout.nodes[0], shared->folder, settings});
      if (!file) return file.error();
      if (file->find('/') != std::string::npos && !file->starts_with('/'))
        return input_error(shared->file + ": client: expected a program in PATH, or {bin}/" +
                           *file + ", found \"" + *file + "\"");
      if (auto there = check_executable(*file, "the client program"); !there) return there.error();
    }
    return std::unique_ptr<Target>(std::make_unique<ExecTarget>(shared, settings));
  };
  return info;
}

}  // namespace assay::exec
