#include "targets/exec/client_pool.h"

#include <algorithm>
#include <utility>

namespace assay::exec {

// What a worker holds: comes back when it is dropped.
class ClientPool::Lent : public Client {
 public:
  Lent(std::weak_ptr<ClientPool> pool, std::unique_ptr<Client> client)
      : pool_(std::move(pool)), client_(std::move(client)) {}
  ~Lent() override {
    const bool in_order = !*busy_ && client_->usable();
    if (const auto pool = pool_.lock()) pool->returned(std::move(client_), in_order);
  }
  void invoke(const Op& op, std::function<void(Op)> done) override {
    *busy_ = true;
    client_->invoke(op, [busy = busy_, done = std::move(done)](Op completed) {
      // After an unknown outcome a late reply may yet come on its connection to the store.
      *busy = completed.type == OpType::kInfo;
      done(std::move(completed));
    });
  }
  bool usable() const override { return client_->usable(); }

 private:
  std::weak_ptr<ClientPool> pool_;
  std::unique_ptr<Client> client_;
  std::shared_ptr<bool> busy_ = std::make_shared<bool>(false);
};

struct ClientPool::Starting {
  std::unique_ptr<Client> client;
  Callback<void> done;  // of fill(); may be empty
};

void ClientPool::fill(int count, Callback<void> done) {
  struct Filling {
    int left;
    Callback<void> done;
  };
  const auto filling = std::make_shared<Filling>(Filling{count, std::move(done)});
  size_ += static_cast<size_t>(count);
  for (int i = 0; i < count; ++i) {
    start();
    starting_.back()->done = [filling](Result<void> result) {
      if (result && --filling->left > 0) return;
      if (auto first = std::exchange(filling->done, nullptr)) first(std::move(result));
    };
  }
}

void ClientPool::take(Callback<std::unique_ptr<Client>> done) {
  loop_.post([self = shared_from_this(), done = std::move(done)] {
    std::erase_if(self->ready_, [](const auto& client) { return !client->usable(); });
    if (!self->ready_.empty()) {
      auto client = std::move(self->ready_.front());
      self->ready_.pop_front();
      return done(std::unique_ptr<Client>(std::make_unique<Lent>(self, std::move(client))));
    }
    self->waiting_.push_back(done);
    // Who waits may have given up: starts are bounded.
    if (self->starting_.size() < std::min(self->waiting_.size(), std::max<size_t>(self->size_, 1)))
      self->start();
  });
}

void ClientPool::close() {
  closed_ = true;
  ready_.clear();
  starting_.clear();
  waiting_.clear();
}

// Its end, whatever it is, comes later than this call.
void ClientPool::start() {
  const auto starting = std::make_shared<Starting>();
  starting_.push_back(starting);
  const auto end = [weak = weak_from_this(), asked = std::weak_ptr(starting),
                    &loop = loop_](Result<void> result) {
    // Later, since it may be the client's own callback that runs now.
    loop.post([weak, asked, result = std::move(result)] {
      const auto self = weak.lock();
      const auto one = asked.lock();
      if (self && one) self->started(one, result);
    });
  };
  auto client = options_.start();
  if (!client) return end(client.error());
  starting->client = std::move(*client);
  loop_.at(loop_.now() + options_.patience, [end, patience = options_.patience] {
    end(environment_error("the client program did not answer its first request within " +
                          format_duration(patience)));
  });
  starting->client->invoke(options_.first_request, [end](const Op& answer) {
    static const Symbol ended("client-ended"), lied("client-lied");
    const bool broken = answer.error && (answer.error->cls == ended || answer.error->cls == lied);
    end(broken ? Result<void>(environment_error(answer.error->text)) : Result<void>());
  });
}

void ClientPool::started(const std::shared_ptr<Starting>& starting, Result<void> result) {
  const auto found = std::find(starting_.begin(), starting_.end(), starting);
  if (found == starting_.end()) return;  // told already
  starting_.erase(found);
  if (starting->done) starting->done(result);
  if (result) return returned(std::move(starting->client), true);
  starting->client.reset();
  if (waiting_.empty()) return;
  const auto done = std::move(waiting_.front());
  waiting_.pop_front();
  done(result.error());
  if (!waiting_.empty() && starting_.empty() && !closed_) start();
}

void ClientPool::returned(std::unique_ptr<Client> client, bool in_order) {
  if (closed_) return;
  if (!in_order) {
    client.reset();
    return start();
  }
  if (waiting_.empty()) {
    if (ready_.size() < std::max<size_t>(size_, 1)) ready_.push_back(std::move(client));
    return;
  }
  const auto done = std::move(waiting_.front());
  waiting_.pop_front();
  done(std::unique_ptr<Client>(std::make_unique<Lent>(weak_from_this(), std::move(client))));
}

}  // namespace assay::exec
