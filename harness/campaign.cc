#include "harness/campaign.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "checkers/history/json_text.h"
#include "checkers/history/value.h"
#include "harness/signal_flag.h"

namespace assay {
namespace {

struct Child {
  size_t run = 0;  // its place in the campaign
  std::string label;
  pid_t pid = -1;
  int output = -1;
  std::string text;  // of its standard output: one JSON object
  int complaints = -1;  // its standard error, in memory
  std::chrono::steady_clock::time_point begun;
};

Nanos elapsed_since(std::chrono::steady_clock::time_point begun) {
  return Nanos{std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count()};
}

// A run outlives its campaign by no more than its own healing, however that one ends.
[[noreturn]] void become(char** argv, int output, int complaints, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kExitHarness);
  ::dup2(output, STDOUT_FILENO);
  if (complaints < 0) complaints = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(complaints, STDERR_FILENO);
  ::execv("/proc/self/exe", argv);
  ::_exit(kExitHarness);
}

Result<Child> start(const Campaign::Run& run) {
  std::vector<std::string> words{"assay"};
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  words.insert(words.end(), {"--json", "-q"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return environment_error(std::string("pipe: ") + std::strerror(errno));
  Child child;
  child.label = run.label;
  child.output = ends[0];
  child.complaints = ::memfd_create("stderr", MFD_CLOEXEC);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid == 0) become(argv.data(), ends[1], child.complaints, parent);
  const int error = errno;
  ::close(ends[1]);
  if (child.pid > 0) return child;
  ::close(ends[0]);
  ::close(child.complaints);
  return environment_error(std::string("cannot start a run: ") + std::strerror(error));
}

// Reads what there is; false at the end of its output.
bool read_some(Child& child) {
  char block[1 << 16];
  const ssize_t size = ::read(child.output, block, sizeof block);
  if (size > 0) child.text.append(block, static_cast<size_t>(size));
  return size > 0 || (size < 0 && errno == EINTR);
}

ExitCode wait_for(Child& child) {
  ::close(child.output);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : kExitHarness;
}

// The last line of its standard error, as it would have been without "assay: ".
std::string take_complaint(Child& child) {
  constexpr off_t kEnough = 4096;
  char text[kEnough];
  const off_t size = ::lseek(child.complaints, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - kEnough);
  const ssize_t got = ::pread(child.complaints, text, kEnough, from);
  ::close(child.complaints);
  std::string_view said(text, static_cast<size_t>(std::max<ssize_t>(0, got)));
  while (said.ends_with('\n')) said.remove_suffix(1);
  said.remove_prefix(said.rfind('\n') + 1);  // npos + 1 is 0
  if (said.starts_with("assay: ")) said.remove_prefix(7);
  return std::string(said);
}

// "seed 7    VALID        20,412 ok 312 fail 57 info   why   results/runs/…"
std::string line_of(const Child& child, const Campaign::Ended& ended) {
  const ExitCode code = ended.code;
  const Value& result = ended.result;
  std::string word(word_of(code));
  if (code == kExitValid || code == kExitUnexpected) word = result.text_or("verdict", word);
  std::string line =
      child.label + std::string(child.label.size() < 10 ? 10 - child.label.size() : 1, ' ');
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  line += word + std::string(word.size() < 12 ? 12 - word.size() : 1, ' ');
  const Value& operations = result["operations"];
  if (operations.is_object()) {
    line += std::to_string(operations.int_or("ok", 0)) + " ok " +
            std::to_string(operations.int_or("fail", 0)) + " fail " +
            std::to_string(operations.int_or("info", 0)) + " info  ";
  }
  line += std::string(result.text_or("reason", ended.complaint.empty() ? "no result: run it alone to see why" : ended.complaint));
  if (code != kExitValid) line += "  " + std::string(result.text_or("run_folder", ""));
  return line;
}

class Running {
 public:
  Running(const Campaign& campaign, Console& console) : campaign_(campaign), console_(console) {}

  CampaignResult run() {
    while (true) {
      while (may_start()) begin();
      if (children_.empty()) break;
      await_output();
      pass_interrupt_on();
    }
    if (interrupted()) {
      result_.worst = worse(result_.worst, kExitInterrupted);
      result_.interrupted = true;
    }
    summarise();
    return result_;
  }

 private:
  bool interrupted() const { return *signalled_.flag(); }

  // A terminal's Ctrl-C reaches the runs as well: two signals at once count as one.
  void pass_interrupt_on() {
    if (!interrupted() || passed_on_) return;
    passed_on_ = true;
    for (const Child& child : children_) ::kill(child.pid, SIGTERM);
  }

  bool may_start() const {
    return next_ < campaign_.runs.size() && !stopped_ && !interrupted() &&
           children_.size() < static_cast<size_t>(campaign_.jobs);
  }

  void begin() {
    const size_t run = next_++;
    auto child = start(campaign_.runs[run]);
    if (child) {
      child->run = run;
      child->begun = std::chrono::steady_clock::now();
      children_.push_back(std::move(*child));
      return;
    }
    console_.error(child.error().message);
    result_.worst = worse(result_.worst, kExitHarness);
    stopped_ = true;
  }

  void await_output() {
    std::vector<pollfd> waits;
    for (const Child& child : children_) waits.push_back({child.output, POLLIN, 0});
    if (::poll(waits.data(), waits.size(), 1000) <= 0) return;
    for (size_t i = waits.size(); i-- > 0;) {
      if (waits[i].revents == 0 || read_some(children_[i])) continue;
      Child child = std::move(children_[i]);
      children_.erase(children_.begin() + static_cast<ptrdiff_t>(i));
      finish(child);
    }
  }

  void finish(Child& child) {
    const ExitCode code = wait_for(child);
    auto result = parse_json(child.text, child.label);
    const Campaign::Ended ended{child.run, code, result ? *result : Value(), take_complaint(child),
                                elapsed_since(child.begun)};
    const std::string word(ended.result.text_or("verdict", word_of(code)));
    ++result_.finished;
    ++result_.words[word];
    result_.worst = worse(result_.worst, code);
    if (campaign_.stop_on && word == *campaign_.stop_on) stopped_ = true;
    if (code == kExitBadInput) stopped_ = true;
    if (campaign_.on_result) return campaign_.on_result(ended);
    console_.say(line_of(child, ended));
    if (console_.json()) results_.push_back(ended.result);
  }

  void summarise() {
    if (campaign_.on_result) return;
    std::string summary = std::to_string(result_.finished) + " of " +
                          std::to_string(campaign_.runs.size()) + " runs:";
    for (const auto& [word, count] : result_.words)
      summary += " " + std::to_string(count) + " " + word;
    console_.say(summary);
    if (!console_.json()) return;
    Value::Object words;
    for (const auto& [word, count] : result_.words) words.emplace_back(Symbol(word), Value(count));
    const Value all = Value::object({{Symbol("exit_code"), Value(static_cast<int>(result_.worst))},
                                     {Symbol("verdicts"), Value::object(std::move(words))},
                                     {Symbol("runs"), Value::array(std::move(results_))}});
    std::fputs(pretty_json(all).c_str(), stdout);
  }

  const Campaign& campaign_;
  Console& console_;
  std::vector<Child> children_;
  size_t next_ = 0;
  bool stopped_ = false;
  const SignalFlag signalled_;
  bool passed_on_ = false;
  CampaignResult result_;
  Value::Array results_;
};

}  // namespace

CampaignResult run_campaign(const Campaign& campaign, Console& console) {
  return Running(campaign, console).run();
}

}  // namespace assay
