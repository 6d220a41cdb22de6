// A host that is reached by a command which runs another one there: kubectl exec, ip netns exec,
// OpenSSH's ssh.
#include <boost/asio/io_context.hpp>

#include "targets/node/child_carrier.h"
#include "targets/node/remote_shell.h"
#include "targets/node/shell_words.h"

namespace assay {
namespace {

namespace asio = boost::asio;

constexpr Nanos kFirstAnswer = seconds(10);

// One command of a host's: a child whose output is gathered.
class ViaCommand : public std::enable_shared_from_this<ViaCommand> {
 public:
  using Done = Node::Done<RemoteShell::Output>;
  ViaCommand(Loop& loop, std::string what, Nanos patience, Done done)
      : loop_(loop), what_(std::move(what)), patience_(patience), done_(std::move(done)) {}

  void begin(asio::io_context& io, ChildOptions options, const std::shared_ptr<const std::string>& input) {
    const auto self = shared_from_this();
    options.exited = [self](ProcessEnd end) { self->output_.end = end; };
    auto child = start_child(io, std::move(options));
    if (!child) return finish_later(child.error());
    carrier_ = std::move(*child);
    carrier_->open({.received = [self](std::string_view bytes) { self->output_.text += bytes; },
                    .ended = [self](const std::string&) { self->finish_later(self->output_); }});
    if (input && !input->empty()) carrier_->write(*input);
    carrier_->end_input();
    loop_.at(loop_.now() + patience_, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || !self->carrier_) return;
      self->carrier_->kill();
      self->finish_later(environment_error("`" + self->what_ + "` does not answer within " +
                                           format_duration(self->patience_)));
    });
  }

 private:
  // Not from inside its own carrier's call.
  void finish_later(Result<RemoteShell::Output> result) {
    if (!done_) return;
    loop_.post([self = shared_from_this(), result = std::move(result),
                done = std::exchange(done_, nullptr)] {
      self->carrier_.reset();
      done(result);
    });
  }

  Loop& loop_;
  const std::string what_;
  const Nanos patience_;
  Done done_;
  RemoteShell::Output output_;
  std::unique_ptr<AgentCarrier> carrier_;
};

class ViaShell : public RemoteShell {
 public:
  ViaShell(asio::io_context& io, Loop& loop, std::vector<std::string> via)
      : io_(io), loop_(loop), via_(std::move(via)) {}

  void set_joins(bool joins) { joins_ = joins; }

  void run(const std::string& script, std::shared_ptr<const std::string> input, Nanos patience,
           Node::Done<Output> done) override {
    run_words(words("{ " + script + "\n} 2>&1"), "", input, patience, std::move(done));
  }

  void run_words(const std::vector<std::string>& command, const std::string& log,
                 const std::shared_ptr<const std::string>& input, Nanos patience,
                 Node::Done<Output> done) {
    std::make_shared<ViaCommand>(loop_, shell_line(via_) + " …", patience, std::move(done))
        ->begin(io_, child(command, log), input);
  }

  Result<std::unique_ptr<AgentCarrier>> carry(const std::string& script,
                                              const std::string& log) override {
    return start_child(io_, child(words(script), log));
  }

 private:
  std::vector<std::string> words(const std::string& script) const {
    return {"sh", "-c", joins_ ? shell_word(script) : script};
  }
  ChildOptions child(const std::vector<std::string>& command, const std::string& log) const {
    ChildOptions options{.program = via_.front(), .args = {via_.begin() + 1, via_.end()}, .log = log};
    options.args.insert(options.args.end(), command.begin(), command.end());
    return options;
  }

  asio::io_context& io_;
  Loop& loop_;
  const std::vector<std::string> via_;
  bool joins_ = false;  // it joins its words, and a shell there takes them apart again, as ssh does
};

}  // namespace

// Two spaces arrive as they were sent, or a shell there has seen two words.
void open_via_shell(asio::io_context& io, Loop& loop, const Host& host,
                    Node::Done<std::shared_ptr<RemoteShell>> done) {
  const auto shell = std::make_shared<ViaShell>(io, loop, host.via);
  const std::string via = shell_line(host.via);
  shell->run_words({"echo", "assay  speaks"}, "", nullptr, kFirstAnswer,
                   [shell, via, done](const Result<RemoteShell::Output>& answered) {
                     if (!answered) return done(answered.error());
                     const std::string& text = answered->text;
                     const bool whole = text.find("assay  speaks") != std::string::npos;
                     if (!whole && text.find("assay speaks") == std::string::npos) {
                       return done(environment_error(
                           "`" + via + " echo …` did not run echo there (" +
                           (answered->end.signal
                                ? "killed by signal " + std::to_string(answered->end.signal)
                                : "exited with " + std::to_string(answered->end.code)) +
                           "): try it by hand"));
                     }
                     shell->set_joins(!whole);
                     done(std::shared_ptr<RemoteShell>(shell));
                   });
}

}  // namespace assay
