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

// What a Sentinel has not reached yet of `expected` instances; empty: nothing.
std::string out_of_reach(const NodeInfo& node, int expected, const Result<RedisReply>& said) {
  const std::string sentinel = "the Sentinel of " + node.name;
  if (!said) return sentinel + " does not answer: " + said.error().message;
  if (said->kind == RedisReply::Kind::kError) return sentinel + " says " + said->text;
  const SentinelView view = sentinel_view_of(said->items);
  if (!view.unreached.empty()) return sentinel + " does not reach " + view.unreached;
  return view.reached == expected ? "" : sentinel + " does not know all others";
}

class Forming : public std::enable_shared_from_this<Forming> {
 public:
  Forming(Loop& loop, const Layout& layout, const SentinelTimes& times, Callback<void> done)
      : loop_(loop), layout_(layout), limit_(loop.now() + kPatience), done_(std::move(done)) {
    const int others = static_cast<int>(layout.nodes.size()) - 1;
    const auto reaches = [this](const char* what, int expected) {
      steps_.push_back({{"SENTINEL", what, kRedisGroup},
                        true,
                        [expected](const NodeInfo& node, const Result<RedisReply>& said) {
                          return out_of_reach(node, expected, said);
                        }});
    };
    steps_.push_back(
        {kRedisStatusCommand, false, [this](const NodeInfo& node, const Result<RedisReply>& info) {
           return out_of_place(layout_, node, info);
         }});
    reaches("MASTER", 1);
    reaches("REPLICAS", others);
    reaches("SENTINELS", others);
    steps_.push_back({sentinel_down_after_command(times), true,
                      [](const NodeInfo& node, const Result<RedisReply>& reply) {
                        if (reply && reply->kind == RedisReply::Kind::kStatus) return std::string();
                        return "the Sentinel of " + node.name + " does not take its settings: " +
                               (reply ? reply->text : reply.error().message);
                      }});
  }

  void go_on() {
    if (step_ == steps_.size()) return done_({});
    problem_.clear();
    left_ = layout_.nodes.size();
    for (const NodeInfo& node : layout_.nodes) {
      NodeInfo asked = node;
      if (steps_[step_].of_sentinel) asked.client_port = node.peer_port;
      ask_redis(loop_, asked, steps_[step_].command,
                [self = shared_from_this(), &node](const Result<RedisReply>& reply) {
                  const std::string problem = self->steps_[self->step_].problem(node, reply);
                  if (self->problem_.empty()) self->problem_ = problem;
                  if (--self->left_ == 0) self->asked();
                });
    }
  }

 private:
  // All nodes are asked at once, again and again until none of them is a problem.
  struct Step {
    RedisCommand command;
    bool of_sentinel;
    std::function<std::string(const NodeInfo&, const Result<RedisReply>&)> problem;
  };

  void asked() {
    if (problem_.empty()) {
      ++step_;
      return go_on();
    }
    if (loop_.now() >= limit_)
      return done_(environment_error("the group did not form: " + problem_));
    loop_.at(loop_.now() + kPause, [self = shared_from_this()] { self->go_on(); });
  }

  Loop& loop_;
  const Layout layout_;
  const Nanos limit_;
  Callback<void> done_;
  std::vector<Step> steps_;
  size_t step_ = 0;
  std::string problem_;
  size_t left_ = 0;
};

}  // namespace

void form_redis_group(Loop& loop, const Layout& layout, const SentinelTimes& times,
                      Callback<void> done) {
  std::make_shared<Forming>(loop, layout, times, std::move(done))->go_on();
}

}  // namespace assay
