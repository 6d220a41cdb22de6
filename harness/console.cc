#include "harness/console.h"

#include <unistd.h>

#include <ctime>

namespace assay {

Console::Console(ConsoleOptions options) : options_(options), terminal_(::isatty(STDERR_FILENO)) {}

Console::~Console() {
  clear_progress();
  if (log_) std::fclose(log_);
}

void Console::log_to(const std::string& path) {
  log_ = std::fopen(path.c_str(), "ae");
  if (log_) std::setvbuf(log_, nullptr, _IOLBF, 0);
}

void Console::say(std::string_view text) {
  clear_progress();
  std::FILE* out = options_.json ? stderr : stdout;
  std::fprintf(out, "%.*s\n", static_cast<int>(text.size()), text.data());
  std::fflush(out);
  log(text);
}

void Console::note(std::string_view line) {
  if (options_.verbosity >= 0) {
    clear_progress();
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  }
  log(line);
}

void Console::error(std::string_view line) {
  clear_progress();
  std::fprintf(stderr, "assay: %.*s\n", static_cast<int>(line.size()), line.data());
  log(line);
}

void Console::detail(std::string_view line) {
  if (options_.verbosity >= 1) {
    clear_progress();
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  }
  log(line);
}

void Console::progress(std::string_view line) {
  if (!terminal_ || options_.verbosity < 0) return;
  std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(line.size()), line.data());
  std::fflush(stderr);
  progress_shown_ = true;
}

bool Console::color() const { return options_.color && !options_.json && ::isatty(STDOUT_FILENO); }

void Console::clear_progress() {
  if (!progress_shown_) return;
  std::fputs("\r\x1b[K", stderr);
  progress_shown_ = false;
}

void Console::log(std::string_view line) {
  if (!log_) return;
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);
  std::fprintf(log_, "%s.%03ldZ %.*s\n", stamp, now.tv_nsec / 1'000'000,
               static_cast<int>(line.size()), line.data());
}

}  // namespace assay
