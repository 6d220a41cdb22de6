#include "targets/node/links.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace assay {
namespace {

constexpr Nanos kProbeInterval = milliseconds(20);

// What is done to links, and how it is seen.
struct LinkWork {
  // At one node, with its list of links; to all nodes, so that what no link leads to heals.
  std::function<void(size_t node, const std::vector<DirectedLink>& links, Node::Done<void>)>
      install;
  std::function<bool(const DirectedLink&)> bites;
  std::string verb;                                        // "dropped"
  std::function<std::string(const DirectedLink&)> amount;  // "3"
  LinkProbe probe = {};
};

class LinkFaulting : public std::enable_shared_from_this<LinkFaulting> {
 public:
  LinkFaulting(Loop& loop, std::vector<Node*> nodes, std::vector<DirectedLink> links,
               LinkWork fault, Nanos deadline, Node::Done<LinkCutReport> done)
      : loop_(loop),
        nodes_(std::move(nodes)),
        links_(std::move(links)),
        fault_(std::move(fault)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void begin() {
    std::vector<std::vector<DirectedLink>> to(nodes_.size());
    for (const DirectedLink& link : links_) to[link.to].push_back(link);
    unanswered_ = nodes_.size();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      fault_.install(i, to[i], [self = shared_from_this(), i](const Result<void>& result) {
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

  void probe() {
    std::map<int, std::vector<std::string>> targets;
    for (const DirectedLink& link : links_) {
      if (!fault_.bites(link)) targets[link.from].push_back(nodes_[link.to]->address());
    }
    if (targets.empty() || loop_.now() >= deadline_) return finish();
    for (const auto& [from, to] : targets)
      nodes_[from]->probe(to, fault_.probe, [](const Result<void>&) {});
    loop_.at(loop_.now() + kProbeInterval, [self = shared_from_this()] { self->probe(); });
  }

  void finish() {
    for (const DirectedLink& link : links_) {
      if (!fault_.bites(link)) report_.silent.push_back(link);
    }
    report_.bit = report_.silent.empty();
    for (size_t to = 0; to < nodes_.size(); ++to)
      report_.evidence += evidence_at(static_cast<int>(to));
    done_(std::move(report_));
  }

  std::string evidence_at(int to) const {
    std::string seen;
    for (const DirectedLink& link : links_) {
      if (link.to != to) continue;
      seen += seen.empty() ? "" : ", ";
      seen += fault_.amount(link) + " from " + nodes_[link.from]->name();
    }
    if (seen.empty()) return {};
    return (report_.evidence.empty() ? "" : "; ") + nodes_[to]->name() + " " + fault_.verb + " " +
           seen;
  }

  Loop& loop_;
  std::vector<Node*> nodes_;
  std::vector<DirectedLink> links_;
  LinkWork fault_;
  Nanos deadline_;
  Node::Done<LinkCutReport> done_;
  size_t unanswered_ = 0;
  std::optional<Error> failure_;
  LinkCutReport report_;
};

std::vector<DirectedLink> each_once(std::vector<DirectedLink> links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

// So much, time after time, that some of it is struck within a few of them.
LinkProbe probe_of(const LinkFault& fault) {
  constexpr int kBytes = 1'024, kMany = 256;
  const auto setting = [&](const char* name) {
    const auto it = fault.settings.find(name);
    return it == fault.settings.end() ? 1 : static_cast<int>(std::max<int64_t>(it->second, 1));
  };
  if (fault.kind == "loss") return {.count = 1 + 10 / setting("percent")};
  if (fault.kind == "rate")
    return {.count = std::min(kMany, 1 + setting("kbytes")), .bytes = kBytes};
  return {.tcp = true, .count = fault.kind == "reset" ? 1 : 0};
}

}  // namespace

void cut_links(Loop& loop, const std::vector<Node*>& nodes, const std::vector<DirectedLink>& links,
               Nanos patience, Node::Done<LinkCutReport> done) {
  const auto packets = [nodes](const DirectedLink& link) -> uint64_t {
    const auto& bitten = nodes[link.to]->bitten();
    const auto it = bitten.find(nodes[link.from]->address());
    return it == bitten.end() ? 0 : it->second;
  };
  LinkWork fault{
      .install =
          [nodes](size_t node, const std::vector<DirectedLink>& links, Node::Done<void> done) {
            std::vector<std::string> sources;
            for (const DirectedLink& link : links) sources.push_back(nodes[link.from]->address());
            nodes[node]->cut(sources, std::move(done));
          },
      .bites = [packets](const DirectedLink& link) { return packets(link) > 0; },
      .verb = "dropped",
      .amount = [packets](const DirectedLink& link) { return std::to_string(packets(link)); }};
  std::make_shared<LinkFaulting>(loop, nodes, each_once(links), std::move(fault),
                                 loop.now() + patience, std::move(done))
      ->begin();
}

void delay_links(Loop& loop, const std::vector<Node*>& nodes,
                 const std::map<DirectedLink, LinkDelay>& links, Nanos patience,
                 Node::Done<LinkCutReport> done) {
  std::vector<DirectedLink> all;
  Nanos slowest{};
  for (const auto& [link, how] : links) {
    all.push_back(link);
    slowest = std::max(slowest, how.delay + how.jitter);
  }
  const auto held = [nodes](const DirectedLink& link) {
    const auto& held = nodes[link.to]->held();
    const auto it = held.find(nodes[link.from]->address());
    return it == held.end() ? Nanos{-1} : it->second;
  };
  LinkWork fault{
      .install =
          [nodes, links](size_t node, const std::vector<DirectedLink>& here,
                         Node::Done<void> done) {
            std::map<std::string, LinkDelay> sources;
            for (const DirectedLink& link : here)
              sources[nodes[link.from]->address()] = links.at(link);
            nodes[node]->delay(sources, std::move(done));
          },
      .bites = [held,
                links](const DirectedLink& link) { return held(link) >= links.at(link).delay; },
      .verb = "held a packet",
      .amount =
          [held](const DirectedLink& link) {
            return held(link) < Nanos{} ? "for no time" : "for " + format_duration(held(link));
          }};
  std::make_shared<LinkFaulting>(loop, nodes, std::move(all), std::move(fault),
                                 loop.now() + slowest + patience, std::move(done))
      ->begin();
}

void break_links(Loop& loop, const std::vector<Node*>& nodes, const LinkFault& fault,
                 const std::vector<DirectedLink>& links, Nanos patience,
                 Node::Done<LinkCutReport> done) {
  const std::vector<DirectedLink> all = each_once(links);
  const auto struck = [nodes, kind = fault.kind](const DirectedLink& link) -> uint64_t {
    const auto& struck = nodes[link.to]->struck(kind);
    const auto it = struck.find(nodes[link.from]->address());
    return it == struck.end() ? 0 : it->second;
  };
  const bool together = fault.kind == "disconnect";
  LinkWork work{
      .install =
          [nodes, fault](size_t node, const std::vector<DirectedLink>& here,
                         Node::Done<void> done) {
            std::vector<std::string> sources;
            for (const DirectedLink& link : here) sources.push_back(nodes[link.from]->address());
            nodes[node]->break_links(fault, sources, std::move(done));
          },
      .bites =
          [struck, all, together](const DirectedLink& link) {
            return together ? std::any_of(all.begin(), all.end(),
                                          [&](const auto& any) { return struck(any) > 0; })
                            : struck(link) > 0;
          },
      .verb = fault.kind == "reset" ? "reset"
              : together            ? "destroyed"
                                    : "dropped",
      .amount = [struck](const DirectedLink& link) { return std::to_string(struck(link)); },
      .probe = probe_of(fault)};
  std::make_shared<LinkFaulting>(loop, nodes, all, std::move(work), loop.now() + patience,
                                 std::move(done))
      ->begin();
}

}  // namespace assay
