// Result<T>: what an operation that can fail for operational reasons returns.
//
// The outcome of an operation on a store is data (OpType), never an Error. Errors are for files
// that cannot be read, programs that cannot be started, arguments that make no sense. A
// programmer's mistake is neither: it aborts with the values printed (ASSAY_CHECK), in release too.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace assay {

// Who is at fault decides the exit code: the user's input (254), or the harness, the set-up and
// the environment (255). Neither says anything about a store.
enum class Fault { kInput, kEnvironment };

struct Error {
  std::string message;  // one line, without a final stop: "file:line:column: expected x, found y"
  Fault fault = Fault::kEnvironment;
};

inline Error input_error(std::string message) { return {std::move(message), Fault::kInput}; }
inline Error environment_error(std::string message) {
  return {std::move(message), Fault::kEnvironment};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace assay

// Aborts with file, line, the expression and a message when a promise between parts of the
// program is broken. Stays on in release.
#define ASSAY_CHECK(condition, ...)                                                     \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      std::fprintf(stderr, "%s:%d: broken promise: %s ", __FILE__, __LINE__, #condition); \
      std::fprintf(stderr, "" __VA_ARGS__);                                             \
      std::fputc('\n', stderr);                                                         \
      std::abort();                                                                     \
    }                                                                                   \
  } while (false)
