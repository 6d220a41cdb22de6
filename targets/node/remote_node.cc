#include "targets/node/remote_node.h"

#include <openssl/evp.h>
#include <sys/utsname.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "targets/node/agent/protocol.h"
#include "targets/node/agent_node.h"
#include "targets/node/remote_shell.h"
#include "targets/node/shell_words.h"

namespace assay {
namespace {

namespace asio = boost::asio;

constexpr Nanos kPatience = seconds(8);  // with a command on the host that does nothing
constexpr int kLocked = 75;              // how flock ends when somebody else has it
constexpr const char* kMark = "assay-host:";
constexpr const char* kDefaultCache = "~/.cache/assay";

struct Program {
  std::string name;
  std::shared_ptr<const std::string> bytes;
};

// They are read once for all the hosts of a run.
Result<Program> load(const std::string& path) {
  static std::map<std::string, std::weak_ptr<const std::string>> loaded;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (auto bytes = loaded[path].lock()) return Program{name, bytes};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return environment_error(path + ": cannot be read");
  const auto bytes = std::make_shared<const std::string>(std::move(text).str());
  loaded[path] = bytes;
  return Program{name, bytes};
}

// Of the set: whoever has this folder has all of them, as they are here.
std::string hash_of(const std::vector<Program>& programs) {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  for (const Program& program : programs) {
    EVP_DigestUpdate(digest.get(), program.name.data(), program.name.size() + 1);
    EVP_DigestUpdate(digest.get(), program.bytes->data(), program.bytes->size());
  }
  unsigned char bytes[EVP_MAX_MD_SIZE];
  EVP_DigestFinal_ex(digest.get(), bytes, nullptr);
  std::string text;
  constexpr char kHex[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) text += {kHex[bytes[i] >> 4], kHex[bytes[i] & 15]};
  return text;
}

// As `uname -m` calls the machine that an ELF program is for; empty: it is none, or of a rare one.
std::string machine_of(const std::string& program) {
  if (program.size() < 20 || !program.starts_with("\177ELF")) return "";
  const int number = static_cast<unsigned char>(program[18]) | static_cast<unsigned char>(program[19]) << 8;
  static const std::map<int, std::string> known = {{3, "i686"},     {21, "ppc64le"}, {22, "s390x"},
                                                   {40, "armv7l"},  {62, "x86_64"},  {183, "aarch64"},
                                                   {243, "riscv64"}};
  const auto found = known.find(number);
  return found == known.end() ? "machine " + std::to_string(number) : found->second;
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// What is said of a host, a line each, after the mark: a shell's start may print what it likes.
class Said {
 public:
  explicit Said(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(kMark)) continue;
      const size_t equals = line.find('=');
      const std::string name = line.substr(std::string(kMark).size(), equals - std::string(kMark).size());
      if (equals != std::string::npos) said_[name].push_back(line.substr(equals + 1));
    }
  }
  bool empty() const { return said_.empty(); }
  std::string one(const std::string& name) const {
    const auto found = said_.find(name);
    return found == said_.end() ? "" : found->second.front();
  }
  bool has(const std::string& name, const std::string& value) const {
    const auto found = said_.find(name);
    return found != said_.end() && std::find(found->second.begin(), found->second.end(), value) != found->second.end();
  }

 private:
  std::map<std::string, std::vector<std::string>> said_;
};

std::string cache_word(const Host& host) {
  const std::string cache = host.cache.empty() ? kDefaultCache : host.cache;
  if (cache.starts_with("~/")) return "\"$HOME\"/" + shell_word(cache.substr(2));
  return shell_word(cache);
}

void open_shell(asio::io_context& io, Loop& loop, const Host& host,
                Node::Done<std::shared_ptr<RemoteShell>> done) {
  (host.via.empty() ? open_ssh_shell : open_via_shell)(io, loop, host, std::move(done));
}

// What a shell prints at its start comes before the agent's words: it is dropped up to the mark.
class AfterMark : public AgentCarrier {
 public:
  explicit AfterMark(std::unique_ptr<AgentCarrier> inner) : inner_(std::move(inner)) {}
  void open(Sink sink) override {
    const auto before = std::make_shared<std::optional<std::string>>("");
    auto received = std::move(sink.received);
    sink.received = [before, received = std::move(received)](std::string_view bytes) {
      if (!*before) return received(bytes);
      **before += bytes;
      const std::string mark = std::string(kMark) + "agent\n";
      const size_t at = (*before)->find(mark);
      if (at == std::string::npos) return;
      const std::string rest = (*before)->substr(at + mark.size());
      before->reset();
      if (!rest.empty()) received(rest);
    };
    inner_->open(std::move(sink));
  }
  void write(std::string bytes) override { inner_->write(std::move(bytes)); }
  void end_input() override { inner_->end_input(); }
  void kill() override { inner_->kill(); }

 private:
  std::unique_ptr<AgentCarrier> inner_;
};

class Reaching : public std::enable_shared_from_this<Reaching> {
 public:
  Reaching(asio::io_context& io, Loop& loop, const RemoteNodeOptions& options, Node::Done<RemoteNode> done)
      : io_(io), loop_(loop), options_(options), done_(std::move(done)) {}

  void begin() {
    for (const std::string& path : options_.programs) {
      auto program = load(path);
      if (!program) return loop_.post([self = shared_from_this(), why = program.error()] { self->done_(why); });
      programs_.push_back(std::move(*program));
    }
    hash_ = hash_of(programs_);
    open_shell(io_, loop_, options_.host, [self = shared_from_this()](Result<std::shared_ptr<RemoteShell>> shell) {
      if (!shell) return self->fail(shell.error().message);
      self->shell_ = std::move(*shell);
      self->look();
    });
  }

 private:
  const Host& host() const { return options_.host; }
  void fail(const std::string& why) { done_(environment_error(why)); }

  // What the host is, what it has, and whether its cache folder can be written.
  void look() {
    std::string script = "say() { echo \"" + std::string(kMark) + "$1\"; }\n"
        "say \"machine=$(uname -s) $(uname -m)\"\n"
        "say \"driver=${SSH_CONNECTION%% *}\"\n"
        "c=" + cache_word(host()) + "\n"
        "b=\"$c/bin/" + hash_ + "\"\n"
        "say \"cache=$c\"; say \"bin=$b\"\n"
        "w=$(mkdir -p \"$b\" \"$c/runs\" 2>&1 && touch \"$c/lock\" 2>&1) || say \"unwritable=$w\"\n";
    for (const Program& program : programs_)
      script += "if [ -x \"$b\"/" + shell_word(program.name) + " ]; then say have=" + shell_word(program.name) + "; fi\n";
    if (host().sudo) script += "w=$(sudo -n true 2>&1) || say \"nosudo=$w\"\n";
    script += "exit 0\n";
    shell_->run(script, nullptr, kPatience,
                [self = shared_from_this()](const Result<RemoteShell::Output>& ran) {
                  if (!ran) return self->fail(ran.error().message);
                  self->judge(*ran);
                });
  }

  void judge(const RemoteShell::Output& ran) {
    const Said said(ran.text);
    if (said.empty())
      return fail("no POSIX shell answers there" + (ran.text.empty() ? "" : ": " + last_line(ran.text)));
    const std::string machine = said.one("machine"), ours = "Linux " + machine_of(*programs_.front().bytes);
    for (const Program& program : programs_) {
      const std::string built = machine_of(*program.bytes);
      if (!built.empty() && machine != "Linux " + built)
        return fail("the host is " + machine + ", and " + program.name + " is built for Linux " + built +
                    ": build Assay for it, and say where by --bin-dir");
    }
    node_.bin_dir = said.one("bin");
    cache_ = said.one("cache");
    node_.folder = cache_ + "/runs/" + options_.run_id + "." + host().name;
    driver_ = said.one("driver");
    if (const std::string why = said.one("unwritable"); !why.empty())
      return fail("its cache folder cannot be written (" + why + "): \"cache\" in the hosts file names another");
    if (const std::string why = said.one("nosudo"); !why.empty())
      return fail("sudo is not to be had without a password (" + why + "): let " + host().user +
                  " use it so (NOPASSWD), or log in as root, or leave \"sudo\" out");
    for (const Program& program : programs_)
      if (!said.has("have", program.name)) missing_.push_back(program);
    upload();
  }

  // Under another name first: what has its name is whole. Two drivers may do so at once.
  void upload() {
    if (missing_.empty()) return start_agent();
    const Program program = missing_.back();
    missing_.pop_back();
    const std::string target = shell_word(node_.bin_dir + "/" + program.name);
    const std::string script = "t=" + target + ".$$; trap 'rm -f \"$t\"' EXIT; trap 'exit 1' HUP PIPE TERM\n"
        "cat > \"$t\" && [ \"$(wc -c < \"$t\")\" -eq " + std::to_string(program.bytes->size()) +
        " ] && chmod 755 \"$t\" && mv -f \"$t\" " + target + "\n";
    shell_->run(script, program.bytes, kPatience,
                [self = shared_from_this(), program](const Result<RemoteShell::Output>& ran) {
                  if (!ran) return self->fail("cannot upload " + program.name + ": " + ran.error().message);
                  if (ran->end.code != 0 || ran->end.signal != 0)
                    return self->fail("cannot upload " + program.name + " to " + self->node_.bin_dir + ": " +
                                      (ran->text.empty() ? "it did not arrive whole" : last_line(ran->text)));
                  self->upload();
                });
  }

  void start_agent() {
    const std::string agent = agent_name();
    std::vector<std::string> words;
    if (host().sudo) words = {"sudo", "-n"};
    words.emplace_back("env");
    for (const auto& [name, value] : host().env) words.push_back(name + "=" + value);
    words.push_back(std::string(agent::kRunVariable) + "=" + options_.run_id);
    words.push_back(std::string(agent::kNodeVariable) + "=" + host().name);
    words.insert(words.end(), {node_.bin_dir + "/" + agent, "--data", node_.folder});
    if (!options_.beat) words.push_back("--no-beat");
    // Two runs would break each other's links: the lock is held as long as the agent lives.
    const std::string folder = shell_word(node_.folder);
    const std::string script = "mkdir -p " + folder + " && cd " + folder + " || exit 1\n"
        "echo " + kMark + "agent\n"
        "l=; command -v flock >/dev/null && l=" + shell_word("flock -o -n -E " + std::to_string(kLocked)) + "\n"
        "$l ${l:+" + shell_word(cache_ + "/lock") + "} " + shell_line(words) + "\n"
        // One that is killed cannot heal: the next of this run and node does, at its start.
        "c=$?; case $c in 0|1|3|" + std::to_string(kLocked) + ") ;; *) " + shell_line(words) +
        " </dev/null >/dev/null 2>&1;; esac; exit $c\n";
    auto carrier = shell_->carry(script, options_.agent_log);
    if (!carrier) return fail(carrier.error().message);
    auto made = std::make_unique<AgentNode>(loop_, AgentNodeOptions{.name = host().name,
                                                                    .address = host().address,
                                                                    .run_id = options_.run_id,
                                                                    .control_address = driver_,
                                                                    .beat = options_.beat});
    AgentNode& node = *made;
    node_.node = std::move(made);
    node.connect(std::make_unique<AfterMark>(std::move(*carrier)), [self = shared_from_this()](const Result<void>& greeted) {
      if (!greeted) return self->fail(self->not_greeted(greeted.error().message));
      self->done_(std::move(self->node_));
    });
  }

  std::string not_greeted(const std::string& why) const {
    if (why.find("exited with " + std::to_string(kLocked)) == std::string::npos) return why;
    return "another run uses this host (" + cache_ + "/lock is held): wait for its end";
  }

  std::string agent_name() const {
    for (const Program& program : programs_)
      if (program.name.find("agent") != std::string::npos) return program.name;
    return programs_.front().name;
  }

  asio::io_context& io_;
  Loop& loop_;
  const RemoteNodeOptions options_;
  Node::Done<RemoteNode> done_;
  std::vector<Program> programs_, missing_;
  std::string hash_, cache_, driver_;
  std::shared_ptr<RemoteShell> shell_;
  RemoteNode node_;
};

}  // namespace

void start_remote_node(asio::io_context& io, Loop& loop, const RemoteNodeOptions& options,
                       Node::Done<RemoteNode> done) {
  std::make_shared<Reaching>(io, loop, options, std::move(done))->begin();
}

void clean_host(asio::io_context& io, Loop& loop, const Host& host, Node::Done<std::string> done) {
  open_shell(io, loop, host, [host, done](const Result<std::shared_ptr<RemoteShell>>& opened) {
    if (!opened) return done(opened.error());
    const std::string script = "c=" + cache_word(host) + "\n" +
        "if [ ! -e \"$c\" ]; then echo " + kMark + "none=\"$c\"; exit 0; fi\n" +
        (host.sudo ? "sudo -n " : "") + "rm -rf \"$c\" && echo " + kMark + "removed=\"$c\"\n";
    const auto shell = *opened;
    shell->run(script, nullptr, kPatience,
               [shell, done](const Result<RemoteShell::Output>& ran) {
                 if (!ran) return done(ran.error());
                 const Said said(ran->text);
                 if (!said.one("removed").empty()) return done("removed " + said.one("removed"));
                 if (!said.one("none").empty()) return done("there is no " + said.one("none"));
                 done(environment_error("cannot remove its cache folder: " + last_line(ran->text)));
               });
  });
}

}  // namespace assay
