#include "targets/node/links.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace assay {
namespace {

constexpr Nanos kProbeInterval = milliseconds(20);

class Cutting : public std::enable_shared_from_this<Cutting> {
 public:
  Cutting(Loop& loop, std::vector<Node*> nodes, std::vector<DirectedLink> links, Nanos deadline,
          Node::Done<LinkCutReport> done)
      : loop_(loop),
        nodes_(std::move(nodes)),
        links_(std::move(links)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void begin() {
    std::vector<std::vector<std::string>> sources(nodes_.size());
    for (const DirectedLink& link : links_)
      sources[link.to].push_back(nodes_[link.from]->address());
    unanswered_ = nodes_.size();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i]->cut(sources[i], [self = shared_from_this(), i](const Result<void>& result) {
        if (!result && !self->failure_) self->failure_ = self->failure_of(i, result.error());
        if (--self->unanswered_ == 0) self->installed();
      });
    }
    if (nodes_.empty()) loop_.post([self = shared_from_this()] { self->installed(); });
  }

 private:
  void installed() {
    if (failure_) return done_(*failure_);
    report_.installed = true;
    probe();
  }

  Error failure_of(size_t node, const Error& error) const {
    return environment_error(nodes_[node]->name() + ": " + error.message);
  }

  uint64_t packets(const DirectedLink& link) const {
    const auto& bitten = nodes_[link.to]->bitten();
    const auto it = bitten.find(nodes_[link.from]->address());
    return it == bitten.end() ? 0 : it->second;
  }

  void probe() {
    std::map<int, std::vector<std::string>> targets;
    for (const DirectedLink& link : links_) {
      if (packets(link) == 0) targets[link.from].push_back(nodes_[link.to]->address());
    }
    if (targets.empty() || loop_.now() >= deadline_) return finish();
    for (const auto& [from, to] : targets) nodes_[from]->probe(to, [](const Result<void>&) {});
    loop_.at(loop_.now() + kProbeInterval, [self = shared_from_this()] { self->probe(); });
  }

  void finish() {
    for (const DirectedLink& link : links_) {
      if (packets(link) == 0) report_.silent.push_back(link);
    }
    report_.bit = report_.silent.empty();
    for (size_t to = 0; to < nodes_.size(); ++to)
      report_.evidence += evidence_at(static_cast<int>(to));
    done_(std::move(report_));
  }

  std::string evidence_at(int to) const {
    std::string dropped;
    for (const DirectedLink& link : links_) {
      if (link.to != to) continue;
      dropped += dropped.empty() ? "" : ", ";
      dropped += std::to_string(packets(link)) + " from " + nodes_[link.from]->name();
    }
    if (dropped.empty()) return {};
    return (report_.evidence.empty() ? "" : "; ") + nodes_[to]->name() + " dropped " + dropped;
  }

  Loop& loop_;
  std::vector<Node*> nodes_;
  std::vector<DirectedLink> links_;
  Nanos deadline_;
  Node::Done<LinkCutReport> done_;
  size_t unanswered_ = 0;
  std::optional<Error> failure_;
  LinkCutReport report_;
};

}  // namespace

void cut_links(Loop& loop, const std::vector<Node*>& nodes, const std::vector<DirectedLink>& links,
               Nanos patience, Node::Done<LinkCutReport> done) {
  std::vector<DirectedLink> sorted = links;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::make_shared<Cutting>(loop, nodes, std::move(sorted), loop.now() + patience, std::move(done))
      ->begin();
}

}  // namespace assay
