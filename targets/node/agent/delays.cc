#include "targets/node/agent/delays.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace assay::agent {
namespace {

constexpr int kProgramEndsMs = 2'000;  // then it is killed

// As long as a chain's name may be, and different for every run and node.
std::string chain_name(const std::string& run, const std::string& node) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : run + "_" + node) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char text[32];
  snprintf(text, sizeof text, "assay-%016lx", hash);
  return text;
}

bool is_ipv4(const std::string& address) {
  in_addr bytes;
  return inet_pton(AF_INET, address.c_str(), &bytes) == 1;
}

}  // namespace

Delays::Delays(PollLoop& loop, DelaysOptions options)
    : loop_(loop), options_(std::move(options)), chain_(chain_name(options_.run, options_.node)) {}

Delays::~Delays() {
  if (program_.pid > 0) end_program(program_);
}

Result<void> Delays::restore(const std::string& commands) const {
  const auto done =
      run_tool({restore_, "-w", "5", "--noflush"}, "*mangle\n" + commands + "COMMIT\n");
  if (!done) return done.error();
  return {};
}

// Of the whole table, as iptables would be told to make them.
Result<std::vector<std::string>> Delays::rules() const {
  const auto listed = run_tool({iptables_, "-w", "5", "-t", "mangle", "-S"});
  if (!listed) return listed.error();
  std::vector<std::string> rules;
  std::istringstream text(listed->out);
  for (std::string line; std::getline(text, line);) rules.push_back(line);
  return rules;
}

// The chain is made, or emptied, and filled in one step.
std::string Delays::chain_commands(uint16_t queue,
                                   const std::map<std::string, LinkDelay>& from) const {
  char mark[32];
  snprintf(mark, sizeof mark, "0x%x", kDuplicateMark);
  std::string commands = ":" + chain_ + " - [0:0]\n";
  for (const auto& [address, how] : from) {
    commands += "-A " + chain_ + " -s " + address + " -m mark ! --mark " + mark +
                " -j NFQUEUE --queue-num " + std::to_string(queue) + " --queue-bypass\n";
  }
  return commands;
}

Result<void> Delays::probe(bool* found_leftover) {
  *found_leftover = false;
  iptables_ = find_tool("iptables");
  restore_ = find_tool("iptables-restore");
  if (iptables_.empty() || restore_.empty())
    return environment_error("iptables not found (package iptables)");
  auto queue = PacketQueue::open();
  if (!queue) return queue.error();
  const uint16_t number = queue->number();
  queue->close();
  if (!options_.fresh_network) {
    nft_ = find_tool("nft");
    made_table_ = !nft_.empty() && !has_table();
    const auto before = rules();
    if (!before) return before.error();
    hooked_ = std::any_of(before->begin(), before->end(), [this](const std::string& rule) {
      return rule.find(chain_) != std::string::npos;
    });
    *found_leftover = hooked_;
    made_table_ |= hooked_ && !nft_.empty();
    if (const auto removed = remove_rules(); !removed) return removed;
  }
  const auto tried = restore(chain_commands(number, {{"192.0.2.1", {}}}) + "-F " + chain_ +
                             "\n-X " + chain_ + "\n");
  remove_empty_table();
  return tried;
}

// As the iptables that are nft beneath make it, with the chains that they hang into hooks.
bool Delays::has_table() const { return run_tool({nft_, "list table ip mangle"}).ok(); }

void Delays::remove_empty_table() const {
  if (!made_table_) return;
  const auto listed = run_tool({nft_, "list table ip mangle"});
  if (!listed) return;
  // A chain that is not empty cannot be deleted, and then none of this is done.
  std::string commands;
  std::istringstream words(listed->out);
  for (std::string word, last; words >> word; last = word) {
    if (last == "chain") commands += "delete chain ip mangle " + word + "; ";
  }
  (void)run_tool({nft_, commands + "delete table ip mangle"});
}

Result<void> Delays::verify() const {
  const auto listed = rules();
  if (!listed) return listed.error();
  std::map<std::string, LinkDelay> missing = links_;
  bool jump = false;
  size_t ours = 0;
  const std::string target =
      "-j NFQUEUE --queue-num " + std::to_string(program_.queue) + " --queue-bypass";
  for (const std::string& rule : *listed) {
    jump |= rule == "-A INPUT -j " + chain_;
    if (!rule.starts_with("-A " + chain_ + " ")) continue;
    ++ours;
    std::erase_if(missing, [&](const auto& link) {
      return rule.find(" -s " + link.first + "/32 ") != std::string::npos &&
             rule.find(target) != std::string::npos;
    });
  }
  if (!missing.empty())
    return environment_error("the rule for " + missing.begin()->first + " is not there");
  if (!jump || ours != links_.size())
    return environment_error("the rules are not as they should be");
  return {};
}

Result<void> Delays::remove_rules() {
  if (!hooked_) return {};
  const std::string jump = "-D INPUT -j " + chain_ + "\n";
  const std::string chain = "-F " + chain_ + "\n-X " + chain_ + "\n";
  if (!restore(jump + chain)) {  // one of the two may be missing
    (void)restore(jump);
    (void)restore(chain);
  }
  const auto left = rules();
  if (!left) return left.error();
  for (const std::string& rule : *left) {
    if (rule.find(chain_) != std::string::npos) return environment_error("still there: " + rule);
  }
  hooked_ = false;
  remove_empty_table();
  return {};
}

Result<Delays::Program> Delays::start_program(const std::map<std::string, LinkDelay>& links) {
  auto queue = PacketQueue::open();
  if (!queue) return queue.error();
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    const int error = errno;
    queue->close();
    return environment_error(std::string("cannot make a pipe: ") + strerror(error));
  }
  const uint16_t number = queue->number();
  const auto hold = [&links, number] {
    return hold_packets(PacketQueue(STDIN_FILENO, number), links, STDOUT_FILENO);
  };
  const auto pid = spawn({.in = queue->fd(), .out = report[1], .body = hold});
  close(report[1]);
  queue->close();  // it is the program's alone, and ends with it
  if (!pid) {
    close(report[0]);
    return pid.error();
  }
  fcntl(report[0], F_SETFL, O_NONBLOCK);
  return Program{*pid, report[0], number};
}

// Lets it say its last, unless that takes too long.
void Delays::end_program(Program program) {
  if (program.pid < 0) return;
  ::kill(program.pid, SIGTERM);
  pollfd end{program.report, 0, 0};
  if (poll(&end, 1, kProgramEndsMs) == 0) ::kill(program.pid, SIGKILL);  // no POLLHUP
  int status = 0;
  while (waitpid(program.pid, &status, 0) < 0 && errno == EINTR) {
  }
  read_report(program.report);
  loop_.unwatch(program.report);
  close(program.report);
  if (exit_status(status) != ExitStatus{}) options_.on_lost(describe(exit_status(status)));
}

void Delays::reaped(pid_t pid, const ExitStatus& exit) {
  if (pid != program_.pid) return;
  loop_.unwatch(program_.report);
  close(program_.report);
  program_ = {};
  options_.on_lost(describe(exit));
}

void Delays::read_report(int report) {
  char buffer[4'096];
  ssize_t n;
  while ((n = read(report, buffer, sizeof buffer)) > 0) {
    lines_.feed(
        {buffer, static_cast<size_t>(n)}, [this](std::string_view line) { on_line(line); }, [] {});
  }
  if (n == 0) loop_.unwatch(report);
}

void Delays::on_line(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string word, from;
  words >> word >> from;
  if (word == "held") {
    int64_t us = 0;
    if (words >> us) options_.on_held(from, microseconds(us));
  } else if (HeldPackets done; words >> done.packets >> done.duplicates >> done.overtaken) {
    totals_[from] = done;
  }
}

Result<void> Delays::set(const std::map<std::string, LinkDelay>& from) {
  for (const auto& [address, how] : from) {
    if (!is_ipv4(address)) return environment_error("not an IPv4 address: \"" + address + "\"");
  }
  if (from.empty()) {
    const auto healed = heal();
    return healed ? Result<void>() : healed.error();
  }
  const auto program = start_program(from);
  if (!program) return program.error();
  if (!options_.skip_rules) {
    const auto done = restore(chain_commands(program->queue, from) +
                              (hooked_ ? "" : "-I INPUT 1 -j " + chain_ + "\n"));
    if (!done) {
      end_program(*program);
      return done;
    }
    hooked_ = true;
  }
  end_program(program_);  // nothing comes to the earlier one any more
  program_ = *program;
  links_ = from;
  totals_.clear();
  loop_.watch(program_.report, POLLIN, [this] { read_report(program_.report); });
  return verify();
}

Result<std::map<std::string, HeldPackets>> Delays::heal() {
  if (links_.empty()) return std::map<std::string, HeldPackets>{};
  const auto removed = remove_rules();
  end_program(std::exchange(program_, {}));  // then everything passes in any case
  if (!removed) return removed.error();
  links_.clear();
  return std::exchange(totals_, {});
}

}  // namespace assay::agent
