#include "targets/third_party/redis_group.h"

#include "targets/third_party/redis_connection.h"
#include "targets/third_party/redis_members.h"

namespace assay {
namespace {

constexpr Nanos kPatience = seconds(10);
constexpr Nanos kPause = milliseconds(50);

// What keeps a node from its place in the group; empty: nothing.
std::string out_of_place(const Layout& layout, const NodeInfo& node,
                         const Result<RedisReply>& info) {
  const auto status =
      info ? redis_status_of(layout, node, info->text) : Result<Value>(info.error());
  const std::string& primary = layout.nodes.front().name;
  if (!status) return node.name + " does not answer: " + status.error().message;
  if (status->text_or("leader", "") == primary) return "";
  return node.name + (node.name == primary ? " is not the primary" : " does not follow " + primary);
}

class Forming : public std::enable_shared_from_this<Forming> {
 public:
  Forming(Loop& loop, const Layout& layout, const SentinelTimes& times, Callback<void> done)
      : loop_(loop),
        layout_(layout),
        times_(times),
        limit_(loop.now() + kPatience),
        done_(std::move(done)) {}

  void look() {
    ask_all(
        kRedisStatusCommand, [](const NodeInfo& node) { return node.client_port; },
        [](const Forming& self, const NodeInfo& node, const Result<RedisReply>& info) {
          return out_of_place(self.layout_, node, info);
        },
        [](Forming& self) {
          if (self.problem_.empty()) return self.tell();
          if (self.loop_.now() >= self.limit_)
            return self.done_(environment_error("the group did not form: " + self.problem_));
          self.loop_.at(self.loop_.now() + kPause,
                        [again = self.shared_from_this()] { again->look(); });
        });
  }

 private:
  using Judge = std::string (*)(const Forming&, const NodeInfo&, const Result<RedisReply>&);

  void tell() {
    ask_all(
        sentinel_down_after_command(times_), [](const NodeInfo& node) { return node.peer_port; },
        [](const Forming&, const NodeInfo& node, const Result<RedisReply>& reply) {
          if (reply && reply->kind == RedisReply::Kind::kStatus) return std::string();
          return "the Sentinel of " + node.name +
                 " does not take its settings: " + (reply ? reply->text : reply.error().message);
        },
        [](Forming& self) {
          if (self.problem_.empty()) return self.done_({});
          self.done_(environment_error(self.problem_));
        });
  }

  // All nodes at once; then what the judge says of one of them is the problem.
  void ask_all(const RedisCommand& command, int (*port)(const NodeInfo&), Judge judge,
               void (*then)(Forming&)) {
    problem_.clear();
    left_ = layout_.nodes.size();
    for (const NodeInfo& node : layout_.nodes) {
      NodeInfo asked = node;
      asked.client_port = port(node);
      ask_redis(loop_, asked, command,
                [self = shared_from_this(), &node, judge, then](const Result<RedisReply>& reply) {
                  const std::string problem = judge(*self, node, reply);
                  if (self->problem_.empty()) self->problem_ = problem;
                  if (--self->left_ == 0) then(*self);
                });
    }
  }

  Loop& loop_;
  const Layout layout_;
  const SentinelTimes times_;
  const Nanos limit_;
  Callback<void> done_;
  std::string problem_;
  size_t left_ = 0;
};

}  // namespace

void form_redis_group(Loop& loop, const Layout& layout, const SentinelTimes& times,
                      Callback<void> done) {
  std::make_shared<Forming>(loop, layout, times, std::move(done))->look();
}

}  // namespace assay
