#include "harness/describe.h"

#include <openssl/evp.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

namespace assay {
namespace {

std::string utc_time(std::time_t now) {
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Machine {
  std::string name;
  std::string kernel;
  int cores;
};

Machine this_machine() {
  utsname names{};
  ::uname(&names);
  return {names.nodename, std::string(names.sysname) + " " + names.release,
          static_cast<int>(std::thread::hardware_concurrency())};
}

std::string network_of(const Plan& plan) {
  if (plan.in_process) return "in the driver's process";
  if (!plan.starts_nodes) return "nodes that run already";
  if (!plan.hosts.empty()) return std::to_string(plan.hosts.size()) + " hosts of " + plan.spec.hosts;
  return plan.spec.net == NetMode::kHost ? "host network (127.0.0.1)" : "private network";
}

}  // namespace

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string whole(path, static_cast<size_t>(length));
  return whole.substr(0, whole.rfind('/'));
}

namespace {

using Digest = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

Digest begin_digest() {
  Digest context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  return context;
}

std::string end_digest(const Digest& context) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest, &length);
  std::string text = "sha256:";
  for (unsigned i = 0; i < length; ++i) {
    constexpr char kHex[] = "0123456789abcdef";
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 15];
  }
  return text;
}

}  // namespace

Result<std::string> hash_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return environment_error(path + ": " + std::strerror(errno));
  const Digest context = begin_digest();
  char block[1 << 16];
  while (file.read(block, sizeof block), file.gcount() > 0) {
    EVP_DigestUpdate(context.get(), block, static_cast<size_t>(file.gcount()));
  }
  return end_digest(context);
}

std::string hash_text(std::string_view text) {
  const Digest context = begin_digest();
  EVP_DigestUpdate(context.get(), text.data(), text.size());
  return end_digest(context);
}

std::string describe_host() {
  const Machine machine = this_machine();
  return machine.name + ", " + machine.kernel + ", " + std::to_string(machine.cores) + " cores";
}

RunInfo describe(const Plan& plan, const RunFolder& folder, const std::string& command_line,
                 std::time_t now) {
  const Machine machine = this_machine();
  RunInfo info;
  info.spec = spec_to_value(plan.spec);
  info.command = command_line;
  info.assay_version = ASSAY_VERSION;
  info.started = utc_time(now);
  info.faults = plan.faults_name();
  for (const std::string& path : plan.target->binaries(plan.layout)) {
    auto hash = hash_file(path);
    info.binaries.push_back({last_part(path), hash ? *hash : "unreadable"});
  }
  info.environment =
      network_of(plan) + ", " + machine.kernel + ", " + std::to_string(machine.cores) + " cores";
  info.host = Value::object({{Symbol("name"), Value(machine.name)},
                             {Symbol("kernel"), Value(machine.kernel)},
                             {Symbol("cores"), Value(machine.cores)}});
  info.not_claimed = plan.not_claimed;
  info.not_tested = plan.not_tested;
  info.seed = plan.seed;
  info.folder = folder.path();
  info.rerun = "assay rerun " + folder.path();
  return info;
}

Value spec_file(const RunInfo& info) {
  Value::Object members = info.spec.as_object();
  members.emplace_back(Symbol("run"), run_member(info));
  return Value::object(std::move(members));
}

}  // namespace assay
