// Console: how the driver speaks: to the user's terminal, and to assay.log in the run folder.
//
// Logs go to standard error; results to standard output. Single-threaded.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace assay {

struct ConsoleOptions {
  bool json = false;  // standard output is for one JSON object: say() goes to standard error
  int verbosity = 0;  // -1: only say() and error(); 0: note(); 1: detail() as well
  bool color = true;  // where standard output is a terminal
};

class Console {
 public:
  explicit Console(ConsoleOptions options);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Also keeps all that follows (of every verbosity) in this file, with a time in front. A file
  // that cannot be written is left out: the log is a help, not a result.
  void log_to(const std::string& path);

  void say(std::string_view text);    // the result
  void error(std::string_view line);  // why the harness failed; always shown, "assay: " before it
  void note(std::string_view line);   // what is going on: one line each
  void detail(std::string_view line);
  // A line that is overwritten by the next one, on a terminal only.
  void progress(std::string_view line);

  bool color() const;  // of what say() writes
  bool json() const { return options_.json; }
  bool brief() const { return options_.verbosity < 0; }  // the verdict in one line

 private:
  void log(std::string_view line);
  void clear_progress();

  ConsoleOptions options_;
  std::FILE* log_ = nullptr;
  bool terminal_;
  bool progress_shown_ = false;
};

}  // namespace assay
