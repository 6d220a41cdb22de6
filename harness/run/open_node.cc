#include "harness/run/open_node.h"

#include <filesystem>
#include <fstream>

#include "harness/run/real_loop.h"
#include "targets/node/local_node.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kData = "data";
constexpr int64_t kBytesMax = 256 << 20;         // of one node
constexpr int64_t kHurriedBytesMax = 1 << 20;    // where somebody waits for the end

void open_here(RealLoop& loop, const Plan& plan, const RunFolder& folder, const NodeInfo& node,
               Node::Done<RemoteNode> done) {
  LocalNodeOptions options;
  options.index = node.index;
  options.name = node.name;
  options.run_id = folder.name();
  options.agent_path = plan.layout.bin_dir + "/assay-agent";
  options.data_folder = node.folder + "/" + kData;
  options.agent_log = node.folder + "/agent.log";
  options.private_network = plan.in_private_net();
  start_local_node(loop.context(), loop, options,
                   [done = std::move(done), folder = node.folder](auto opened) {
                     if (!opened) return done(opened.error());
                     done(RemoteNode{.node = std::move(*opened), .folder = folder});
                   });
}

// The agent, and those programs of the target that are ours to bring.
std::vector<std::string> programs_of(const Plan& plan) {
  const std::string& ours = plan.layout.bin_dir;
  std::vector<std::string> programs{ours + "/assay-agent"};
  for (const std::string& path : plan.target->binaries(plan.layout))
    if (path.starts_with(ours + "/")) programs.push_back(path);
  return programs;
}

void open_there(RealLoop& loop, const Plan& plan, const RunFolder& folder, const NodeInfo& node,
                Node::Done<RemoteNode> done) {
  const RemoteNodeOptions options{.host = plan.hosts[node.index],
                                  .run_id = folder.name(),
                                  .programs = programs_of(plan),
                                  .agent_log = folder.node_path(node.name) + "/agent.log"};
  start_remote_node(loop.context(), loop, options, [done](Result<RemoteNode> opened) {
    if (!opened) return done(std::move(opened));
    const auto remote = std::make_shared<RemoteNode>(std::move(*opened));
    remote->node->make_folder(remote->folder + "/" + kData, [remote, done](Result<void> made) {
      if (!made) return done(made.error());
      done(std::move(*remote));
    });
  });
}

// One file after the other.
class Fetching : public std::enable_shared_from_this<Fetching> {
 public:
  Fetching(const NodeInfo& info, Node& node, std::string into, bool hurried,
           std::function<void()> done)
      : from_(info.folder),
        node_(node),
        into_(std::move(into)),
        hurried_(hurried),
        left_(hurried ? kHurriedBytesMax : kBytesMax),
        done_(std::move(done)) {}

  void begin() {
    node_.list(from_, [self = shared_from_this()](Result<std::vector<FileEntry>> listed) {
      if (!listed) {
        self->complain(listed.error().message);
        return self->remove();
      }
      self->entries_ = std::move(*listed);
      self->next();
    });
  }

 private:
  void next() {
    for (; at_ < entries_.size(); ++at_) {
      const FileEntry& entry = entries_[at_];
      const bool data = entry.path.starts_with(std::string(kData) + "/");
      if (!entry.is_file || (hurried_ && data)) continue;
      if (entry.bytes > left_) {
        complain(entry.path + ": left out, " + std::to_string(entry.bytes) + " bytes are too many");
        continue;
      }
      return fetch(entry);
    }
    remove();
  }

  void fetch(const FileEntry& entry) {
    node_.fetch(from_ + "/" + entry.path, left_,
                [self = shared_from_this(), path = entry.path](Result<FileContent> got) {
                  if (got) self->keep(path, got->bytes);
                  if (!got) self->complain(got.error().message);
                  ++self->at_;
                  self->next();
                });
  }

  void keep(const std::string& path, const std::string& bytes) {
    left_ -= static_cast<int64_t>(bytes.size());
    const fs::path target = fs::path(into_) / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    std::ofstream file(target, std::ios::binary);
    if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
      complain("cannot write " + target.string());
  }

  void remove() {
    node_.remove_folder(from_, [self = shared_from_this()](const Result<void>& removed) {
      if (!removed) self->complain(removed.error().message);
      self->done_();
    });
  }

  void complain(const std::string& text) {
    std::ofstream(into_ + "/fetch.log", std::ios::app) << text << "\n";
  }

  const std::string from_;
  Node& node_;
  const std::string into_;
  const bool hurried_;
  int64_t left_;
  std::function<void()> done_;
  std::vector<FileEntry> entries_;
  size_t at_ = 0;
};

}  // namespace

void open_node(RealLoop& loop, const Plan& plan, const RunFolder& folder, int index,
               Node::Done<RemoteNode> done) {
  const NodeInfo& node = plan.layout.nodes[index];
  (plan.hosts.empty() ? open_here : open_there)(loop, plan, folder, node, std::move(done));
}

void fetch_folder(const NodeInfo& info, Node& node, const std::string& into, bool hurried,
                  std::function<void()> done) {
  std::make_shared<Fetching>(info, node, into, hurried, std::move(done))->begin();
}

}  // namespace assay
