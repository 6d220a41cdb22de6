#include "targets/kv/http/watch_streams.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

namespace assay {
namespace {

struct OneWatch {
  explicit OneWatch(kv::Watcher w) : watcher(std::move(w)) {}
  kv::Watcher watcher;
  std::optional<ResponseStream> stream;
};

}  // namespace

struct WatchStreams::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& io, Source s, WatchStreamsOptions o)
      : context(io), source(std::move(s)), options(o), timer(io) {}

  void open(kv::WatchRequest request, Responder respond) {
    const uint64_t id = next_id++;
    OneWatch& watch =
        watches.emplace(id, kv::Watcher(std::move(request), source.store(), options.canary))
            .first->second;
    const auto with_self = [weak = weak_from_this(), id](void (State::*fn)(uint64_t)) {
      return [weak, id, fn] {
        if (const auto self = weak.lock()) ((*self).*fn)(id);
      };
    };
    watch.stream = respond.stream("application/json", {.on_drained = with_self(&State::tell_one),
                                                       .on_closed = with_self(&State::forget)});
    tell_one(id);
    if (watches.size() == 1) progress_later();
  }

  void notify() {
    if (due || watches.empty()) return;
    due = true;
    boost::asio::post(context, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tell_all();
    });
  }

  void tell_all() {
    due = false;
    for (auto it = watches.begin(); it != watches.end();) tell((it++)->first);
  }
  void tell_one(uint64_t id) { tell(id); }
  void forget(uint64_t id) { watches.erase(id); }

  // As much as there is room for.
  void tell(uint64_t id) {
    const auto found = watches.find(id);
    if (found == watches.end()) return;
    OneWatch& watch = found->second;
    while (watch.stream->unsent() < options.unsent_bytes_max) {
      const auto response = watch.watcher.next(source.store());
      if (!response) break;
      watch.stream->write(kv::render_line(source.header(), *response));
    }
    if (!watch.watcher.ended()) return;
    watch.stream->end();
    forget(id);
  }

  void progress_later() {
    timer.expires_after(std::chrono::milliseconds(options.progress_interval_ms));
    timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!self || error || self->watches.empty()) return;
      self->tell_progress();
      self->progress_later();
    });
  }

  // Those that have something to be told first are told it, and progress the next time.
  void tell_progress() {
    tell_all();
    for (auto& [id, watch] : watches) {
      if (watch.stream->unsent() > 0) continue;
      if (const auto response = watch.watcher.progress(source.store())) {
        watch.stream->write(kv::render_line(source.header(), *response));
      }
    }
  }

  boost::asio::io_context& context;
  const Source source;
  const WatchStreamsOptions options;
  boost::asio::steady_timer timer;
  std::map<uint64_t, OneWatch> watches;
  uint64_t next_id = 1;
  bool due = false;
};

WatchStreams::WatchStreams(boost::asio::io_context& context, Source source,
                           WatchStreamsOptions options)
    : state_(std::make_shared<State>(context, std::move(source), options)) {}

WatchStreams::~WatchStreams() {
  state_->timer.cancel();
  state_->watches.clear();
}

void WatchStreams::open(kv::WatchRequest request, Responder respond) {
  state_->open(std::move(request), std::move(respond));
}
void WatchStreams::notify() { state_->notify(); }
size_t WatchStreams::size() const { return state_->watches.size(); }

}  // namespace assay
