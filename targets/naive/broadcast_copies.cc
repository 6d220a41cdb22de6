// broadcast-copies: "just make copies". Every node accepts every request, does it on its own copy,
// answers, and sends the change to every other node, once. Reads are local.
//
// What it lacks: nobody notices that a change did not arrive, and nothing ever sends it again. Two
// nodes that accept changes at one moment apply them in different orders.
//
// Nobody leads; the first node is named as the leader, since observers ask for one.
#include "targets/kv/service/validate.h"
#include "targets/naive/copy.h"
#include "targets/naive/design.h"

namespace assay::naive {
namespace {

class BroadcastCopies : public Design {
 public:
  BroadcastCopies(const DesignOptions& options, Env& env)
      : options_(options),
        env_(env),
        copy_(kv::ServicePolicy{.wrong_ignore_guards = !options.guards}) {}

  void restore(std::string_view record) override { apply(record); }

  void request(kv::Request request, Done done) override {
    if (kv::is_read_only(request)) return done(copy_.query(request));
    Change made;
    kv::Result result = copy_.perform(std::move(request), made);
    std::string message;
    kv::ByteWriter writer(message);
    encode(made, writer);
    if (!made.empty()) env_.save(message);
    done(std::move(result));
    if (made.empty()) return;
    for (NodeId member : options_.members) {
      if (member != options_.self) env_.send(member, message);
    }
  }

  void on_message(std::string_view message) override {
    if (apply(message)) env_.save(message);
  }
  void on_tick() override {}

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
  bool apply(std::string_view bytes) {
    kv::ByteReader reader(bytes);
    const Change change = decode_change(reader);
    if (!reader.done()) return false;
    copy_.apply(change);
    return true;
  }

  const DesignOptions options_;
  Env& env_;
  Copy copy_;
};

}  // namespace

std::unique_ptr<Design> broadcast_copies(const DesignOptions& options, Env& env) {
  return std::make_unique<BroadcastCopies>(options, env);
}

}  // namespace assay::naive
