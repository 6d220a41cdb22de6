#include "targets/exec/exec_client.h"

#include <optional>

#include "targets/asio/asio_loop.h"

namespace assay::exec {
namespace {

class ExecClient : public Client {
 public:
  ExecClient(Loop& loop, ExecClientOptions options) : loop_(loop), options_(std::move(options)) {}

  Result<void> start(boost::asio::io_context& io) {
    auto program = Program::start(
        io, loop_, options_.program,
        {.on_line = [this](std::string_view line) { heard(line); },
         .on_end = [this](const std::string& how,
                          const agent::ExitStatus*) { broken("client-ended", how); }});
    if (!program) return program.error();
    program_ = std::move(*program);
    return {};
  }

  void invoke(const Op& op, std::function<void(Op)> done) override {
    if (!program_) {  // nothing was sent
      return loop_.post([op, done = std::move(done), why = why_] {
        done(complete(op, OpType::kFail, {Symbol("refused"), why, {}, {}}));
      });
    }
    pending_ = {op, std::move(done)};
    program_->write(request_line(++id_, op, options_.to));
  }

  bool usable() const override { return program_ != nullptr; }

 private:
  struct Pending {
    Op op;
    std::function<void(Op)> done;
  };

  void heard(std::string_view line) {
    const auto answer = parse_answer(line);
    if (!answer) return lied(answer.error().message);
    const std::string of = " to request " + std::to_string(answer->id);
    if (answer->id != id_) return lied("answered" + of + ", which is not under way");
    if (!pending_) {
      return lied(id_ == 0 ? "answered" + of + " before it was asked"
                           : "answered" + of + " a second time");
    }
    if (answer->event) {
      if (is_stream(pending_->op.f)) return;  // no workload asks for events yet
      return lied("sent an event" + of + ", which is no stream");
    }
    auto done = completion_of(pending_->op, *answer, *options_.errors);
    if (!done) return lied(done.error().message);
    finish(std::move(*done));
  }

  void lied(const std::string& what) { broken("client-lied", what); }

  void broken(std::string_view cls, const std::string& what) {
    why_ = "the client program " + what;
    program_.reset();
    if (pending_) finish(complete(pending_->op, OpType::kInfo, {Symbol(cls), why_, {}, {}}));
  }

  // Last in a callback: `done` may destroy us.
  void finish(Op done) {
    const auto pending = std::move(*pending_);
    pending_.reset();
    pending.done(std::move(done));
  }

  Loop& loop_;
  ExecClientOptions options_;
  std::unique_ptr<Program> program_;
  std::optional<Pending> pending_;
  int64_t id_ = 0;  // of the last request
  std::string why_;
};

}  // namespace

Result<std::unique_ptr<Client>> start_exec_client(Loop& loop, ExecClientOptions options) {
  boost::asio::io_context* io = context_of(loop);
  if (io == nullptr) {
    return environment_error(
        "this target needs a loop with sockets: it cannot run in virtual time");
  }
  auto client = std::make_unique<ExecClient>(loop, std::move(options));
  if (auto started = client->start(*io); !started) return started.error();
  return std::unique_ptr<Client>(std::move(client));
}

}  // namespace assay::exec
