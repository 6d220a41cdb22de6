#include "harness/trial/trial.h"

#include <algorithm>
#include <optional>

#include "harness/run/node_logs.h"
#include "harness/run/real_loop.h"
#include "harness/run/set_up.h"
#include "targets/asio/relay.h"

namespace assay {
namespace {

constexpr Nanos kPatience = seconds(10);  // for what must come
constexpr Nanos kBringUp = seconds(60);
constexpr Nanos kEcho = seconds(3);  // for what may show yet
constexpr int kAsked = 0;            // the node that all of this is about

const Symbol kLied{"client-lied"}, kUnknown{"unknown"}, kRefused{"refused"}, kMismatch{"mismatch"},
    kConflict{"conflict"};

std::string words(const Op& op) {
  std::string text(to_string(op.type));
  if (op.type == OpType::kOk) {
    if (op.f == f::read) text += " " + op.value.to_json();
  } else if (op.error) {
    text += " (" + std::string(op.error->cls.text()) +
            (op.error->text.empty() ? "" : ": " + op.error->text) + ")";
  }
  return text;
}

Op op_of(Symbol f, const std::string& key, Value value = {}) {
  Op op;
  op.f = f;
  op.key = Symbol(key);
  op.value = std::move(value);
  return op;
}

class Trial {
 public:
  Trial(Plan& plan, const RunFolder& folder, Console& console)
      : plan_(plan), folder_(folder), console_(console) {}

  TrialResult run() {
    loop_.on_signal([this](int) { result_.interrupted = true; });
    if (set_up()) {
      try_all();
    }
    tear_down();
    plan_.target->end();
    return std::move(result_);
  }

 private:
  // --- Waiting

  bool stopped() const { return result_.interrupted || result_.failure.has_value(); }

  // Runs the loop until it is so; false when the time is up, or when all is to end.
  bool await(const std::function<bool()>& is_so, Nanos span) {
    loop_.run_until([&] { return stopped() || is_so(); }, loop_.now() + span);
    return is_so();
  }

  void fail(Error error) {
    if (!result_.failure) result_.failure = std::move(error);
  }

  // --- The cluster

  // What is asked for may come after nobody waits for it any more: it lands in memory of its own.
  template <typename T>
  using Late = std::shared_ptr<std::optional<Result<T>>>;
  template <typename T>
  static Late<T> late() {
    return std::make_shared<std::optional<Result<T>>>();
  }
  // False, and the reason kept, when it does not come in time or is an error.
  template <typename T>
  bool has_come(const Late<T>& late, Nanos span, const std::string& what) {
    await([&] { return late->has_value(); }, span);
    if (stopped()) return false;
    if (!*late) {
      fail(environment_error(what + " took longer than " + format_duration(span)));
    } else if (!**late) {
      fail((*late)->error());
    }
    return !stopped();
  }

  bool set_up() {
    if (!plan_.starts_nodes) return true;
    const auto cluster = late<std::unique_ptr<NodeCluster>>();
    set_up_cluster(
        loop_, plan_, folder_, hooks(),
        [cluster](Result<std::unique_ptr<NodeCluster>> made) { *cluster = std::move(made); });
    const bool there = has_come(cluster, kBringUp, "the bring-up of the nodes");
    if (*cluster && **cluster) cluster_ = std::move(***cluster);
    if (!there) return false;
    logs_ = std::make_unique<NodeLogs>(folder_, plan_.layout.nodes);
    const auto ready = late<void>();
    cluster_->set_up([ready](Result<void> done) { *ready = std::move(done); });
    if (!has_come(ready, kBringUp + plan_.target->ready_within(), "the start of the store"))
      return false;
    const auto tried = late<void>();
    plan_.target->try_clients(loop_, [tried](Result<void> done) { *tried = std::move(done); });
    return has_come(tried, kBringUp, "the start of the clients");
  }

  void tear_down() {
    relay_.reset();
    if (!cluster_) return;
    bool done = false;
    cluster_->close([&] { done = true; });
    loop_.run_until([&] { return done; }, loop_.now() + seconds(30));
    cluster_.reset();
    if (logs_) logs_->flush();
  }

  NodeClusterOptions::Hooks hooks() {
    return {.started = [](int) {},
            .exited =
                [this](int node, int, int, bool expected) {
                  if (!expected)
                    fail(environment_error(plan_.layout.nodes[node].name +
                                           " ended by itself: see its log in " +
                                           folder_.node_path(plan_.layout.nodes[node].name)));
                },
            .logged =
                [this](int node, std::string_view line) {
                  if (logs_) logs_->write(node, loop_.now(), line);
                },
            .leader = [] { return -1; },
            .lost = [this](Error error) { fail(std::move(error)); }};
  }

  // A power over the node. That it did not bite is the environment's failure: nothing could be
  // said of the clients then.
  bool use(void (NodeCluster::*power)(int, Callback<Effect>)) {
    const auto effect = late<Effect>();
    (cluster_.get()->*power)(kAsked, [effect](Result<Effect> seen) { *effect = std::move(seen); });
    if (!has_come(effect, kBringUp + plan_.target->ready_within(), "a fault or its end"))
      return false;
    if (!(**effect)->bit && !down_) fail(environment_error((**effect)->evidence));
    return !stopped();
  }

  // --- Clients

  const NodeInfo& node() const { return plan_.layout.nodes[kAsked]; }

  std::unique_ptr<Client> client_to(const NodeInfo& where) {
    const auto client = late<std::unique_ptr<Client>>();
    plan_.target->open_client(loop_, where, [client](Result<std::unique_ptr<Client>> opened) {
      *client = std::move(opened);
    });
    if (!has_come(client, kBringUp, "the start of a client")) return nullptr;
    return std::move(***client);
  }

  // An operation under way; it outlives what it is about.
  struct Asked {
    Op op;
    std::shared_ptr<std::optional<Op>> done = std::make_shared<std::optional<Op>>();
    bool ours = false;  // no answer came: the deadline is ours
  };

  Asked begin(Client& client, const Op& op) {
    Asked asked{op};
    client.invoke(op, [done = asked.done](Op completion) { *done = std::move(completion); });
    return asked;
  }

  // A client that is late, or can do no more, is gone afterwards.
  Op finish(Asked& asked, std::unique_ptr<Client>& client) {
    return finish(asked, client, plan_.spec.op_timeout);
  }
  Op finish(Asked& asked, std::unique_ptr<Client>& client, Nanos span) {
    await([&] { return asked.done->has_value(); }, span);
    if (!*asked.done) {
      client.reset();
      asked.ours = true;
      return complete(asked.op, OpType::kInfo,
                      {Symbol("timeout"), "no answer within " + format_duration(span), {}, {}});
    }
    if (!client->usable()) client.reset();
    return **asked.done;
  }

  Op ask(std::unique_ptr<Client>& client, const Op& op) {
    if (!client) client = client_to(node());
    if (!client) return complete(op, OpType::kInfo);
    Asked asked = begin(*client, op);
    return finish(asked, client);
  }

  // Until it is ok or the patience is at its end: a store may be electing.
  Op ask_until_ok(std::unique_ptr<Client>& client, const Op& op) {
    const Nanos limit = loop_.now() + kPatience;
    Op done = ask(client, op);
    while (done.type != OpType::kOk && loop_.now() < limit && !stopped()) {
      await([] { return false; }, milliseconds(50));
      done = ask(client, op);
    }
    return done;
  }

  // The first read that shows this value, else the last one.
  Op read_until(std::unique_ptr<Client>& client, const std::string& key, const Value& value,
                Nanos span) {
    const Nanos limit = loop_.now() + span;
    while (true) {
      Op read = ask(client, op_of(f::read, key));
      if (read.type == OpType::kOk && read.value == value) return read;
      await([] { return false; }, milliseconds(50));
      if (loop_.now() >= limit || stopped()) return read;
    }
  }
  // Does a read come to show this value?
  bool shows(std::unique_ptr<Client>& client, const std::string& key, const Value& value,
             Nanos span) {
    const Op read = read_until(client, key, value, span);
    return read.type == OpType::kOk && read.value == value;
  }

  bool serves(Symbol f) const {
    const auto ops = plan_.target->ops();
    return std::find(ops.begin(), ops.end(), f) != ops.end();
  }

  // --- What is said of a step

  void add(const std::string& name, Grade grade, std::string seen, std::string mend = "") {
    if (stopped()) return;
    result_.steps.push_back({name, grade, std::move(seen), std::move(mend)});
    console_.detail(name + ": " + result_.steps.back().seen);
  }
  void note_error(const std::string& situation, const Op& completion, bool ours = false) {
    if (completion.type == OpType::kOk || stopped()) return;
    const bool guess = ours || !completion.error || completion.error->cls.empty() ||
                       completion.error->cls == kUnknown;
    result_.errors.push_back({situation, completion, guess});
  }
  // Whatever the situation, a client that breaks its protocol is named first.
  bool lied(const std::string& name, const Op& op) {
    const bool changed = op.f != f::read && op.value != asked_value_;
    if (op.error && op.error->cls == kLied) {
      add(name, Grade::kWrong, "the client program " + op.error->text,
          "mend the client program: see the protocol in the guide");
      return true;
    }
    if (!changed) return false;
    add(name, Grade::kWrong,
        "the " + std::string(op.f.text()) + " of " + asked_value_.to_json() +
            " came back as one of " + op.value.to_json(),
        "keep the argument: what is not known to have failed is checked by what it tried to write");
    return true;
  }

  // --- The steps

  void try_all() {
    void (Trial::*const steps[])() = {&Trial::absent_key,         &Trial::write_then_read,
                                      &Trial::odd_values,         &Trial::cas,
                                      &Trial::guarded_write,      &Trial::answer_lost,
                                      &Trial::stands_still,       &Trial::killed_in_the_middle,
                                      &Trial::connection_refused, &Trial::started_again};
    for (const auto step : steps) {
      if (stopped() || hopeless_) return;
      (this->*step)();
    }
  }

  void absent_key() {
    const std::string name = "read of a key that nobody wrote";
    const Op read = ask_until_ok(client_, op_of(f::read, "try-absent"));
    note_error(name, read);
    if (lied(name, asked(read, {}))) return give_up();
    if (read.type != OpType::kOk) {
      add(name, Grade::kWrong, "expected ok null, got " + words(read),
          "a key that is not there is an answer: ok with the value null");
      return give_up();
    }
    if (read.value.is_null()) return add(name, Grade::kFine, "ok null");
    add(name, Grade::kWrong, "expected ok null, got " + words(read),
        "answer null for a key that is not there");
  }

  void write_then_read() {
    const std::string name = "a write, then a read";
    if (!serves(f::write)) return add(name, Grade::kNotTried, "writes are not served");
    const Op write = ask_until_ok(client_, op_of(f::write, "try-kept", 1));
    note_error(name, write);
    if (lied(name, asked(write, 1))) return give_up();
    if (write.type != OpType::kOk) {
      add(name, Grade::kWrong, "the write never was ok: " + words(write),
          "see client.log and node.log of n1 in " + folder_.path());
      return give_up();
    }
    if (shows(client_, "try-kept", 1, patience_of_reads())) return add(name, Grade::kFine, "ok 1");
    add(name, Grade::kWrong, "wrote 1, read " + words(ask(client_, op_of(f::read, "try-kept"))),
        "the read must find what the write stored, and give it back as it was given");
    give_up();
  }

  void odd_values() {
    const std::string name = "values of odd shapes";
    if (!serves(f::write)) return add(name, Grade::kNotTried, "writes are not served");
    const std::vector<Value> values = {"",
                                       " ",
                                       "a\"b\\c\n\t/",
                                       "\u00fc\u20ac\U0001F600",
                                       0,
                                       -1,
                                       int64_t{1} << 53,
                                       INT64_MAX,
                                       INT64_MIN,
                                       1.5,
                                       true,
                                       Value::array({}),
                                       Value::array({1, Value::array({nullptr, "x"})}),
                                       Value::object({{Symbol("k"), Value::object({})}}),
                                       std::string(10'000, 'x')};
    int number = 0;
    for (const Value& value : values) {
      const std::string key = "try/odd key \u00fc%20" + std::to_string(++number);
      const Op write = ask(client_, op_of(f::write, key, value));
      std::string shown = value.to_json();
      if (shown.size() > 40) shown = "a text of 10,000 bytes";
      if (write.type != OpType::kOk) {
        note_error(name, write);
        if (lied(name, asked(write, value))) return;
        return add(name, Grade::kWeak, "a write of " + shown + ": " + words(write),
                   "workloads write small whole numbers; others need every JSON value");
      }
      if (shows(client_, key, value, patience_of_reads())) continue;
      const Op read = ask(client_, op_of(f::read, key));
      std::string back = words(read);
      if (back.size() > 60) back = back.substr(0, 60) + "\u2026";
      return add(name, Grade::kWrong, "wrote " + shown + ", read " + back,
                 "store values as JSON text, and give them back as the same JSON");
    }
    add(name, Grade::kFine, std::to_string(values.size()) + " came back as they were written");
  }

  void cas() {
    const std::string name = "compare-and-set";
    if (!serves(f::cas)) return add(name, Grade::kNotTried, "cas is not served");
    if (ask_until_ok(client_, op_of(f::write, "try-cas", 1)).type != OpType::kOk)
      return add(name, Grade::kNotTried, "the write before it was not ok");
    const Value match = Value::pair(1, 2), miss = Value::pair(7, 8);
    const Op done = ask(client_, op_of(f::cas, "try-cas", match));
    note_error(name + " that matches", done);
    if (lied(name + " that matches", asked(done, match))) return;
    if (done.type != OpType::kOk || !shows(client_, "try-cas", 2, patience_of_reads())) {
      add(name + " that matches", Grade::kWrong, "the value was 1, cas [1,2]: " + words(done),
          "where the value is the first of the two, the second replaces it, and the answer is ok");
    } else {
      add(name + " that matches", Grade::kFine, "ok, and a read finds the new value");
    }
    const Op refused = ask(client_, op_of(f::cas, "try-cas", miss));
    note_error(name + " that does not match", refused);
    if (lied(name + " that does not match", asked(refused, miss))) return;
    mismatched(name + " that does not match", refused, kMismatch);
  }

  // What certainly did nothing must be said to have failed.
  void mismatched(const std::string& name, const Op& done, Symbol cls) {
    if (done.type == OpType::kOk)
      return add(name, Grade::kWrong, "ok, though what it compares is not so",
                 "only what was really compared and set is ok");
    if (done.type == OpType::kInfo)
      return add(name, Grade::kWeak, words(done) + ": a mismatch is not unknown",
                 "the store said that it did nothing: answer fail with the class " +
                     std::string(cls.text()) +
                     ". As unknown, each costs a process and hides lost updates");
    if (!done.error || done.error->cls != cls)
      return add(name, Grade::kWeak, words(done), "give it the class " + std::string(cls.text()));
    add(name, Grade::kFine, words(done));
  }

  void guarded_write() {
    const std::string name = "write guarded by a token";
    if (!plan_.target->claims().guarded_write || !serves(f::write))
      return add(name, Grade::kNotTried, "guarded writes are not claimed");
    ask_until_ok(client_, op_of(f::write, "try-guard", 1));
    // A token that is read before the write is seen would be an old one.
    const Op read = read_until(client_, "try-guard", 1, patience_of_reads());
    if (read.type != OpType::kOk || read.value != Value(1))
      return add(name, Grade::kWrong, "wrote 1, read " + words(read),
                 "the read must find what the write stored");
    if (read.revision.none())
      return add(name, Grade::kWrong, "a read gave no revision",
                 "answer reads with the revision of the key, or do not claim guarded_write");
    Op write = op_of(f::write, "try-guard", 2);
    write.expected = read.revision;
    const Op first = ask(client_, write);
    note_error(name, first);
    if (first.type != OpType::kOk)
      return add(name, Grade::kWrong, "with the token that was just read: " + words(first),
                 "compare the token with the key's, and write where they are equal");
    write.value = 3;
    const Op second = ask(client_, write);
    note_error("write guarded by an old token", second);
    add(name, Grade::kFine, "ok");
    mismatched("write guarded by an old token", second, kConflict);
  }

  // The request reaches the server, the answer gets lost.
  void answer_lost() {
    const std::string name = "the connection breaks before the answer";
    if (!plan_.starts_nodes) return add(name, Grade::kNotTried, "no nodes of ours");
    for (const Symbol what : {f::write, f::cas}) {
      if (!serves(what) || !serves(f::write)) continue;
      const std::string step = name + ": " + std::string(what.text());
      relay_ = std::make_unique<Relay>(loop_.context(), node().address, node().client_port);
      NodeInfo behind = node();
      behind.address = "127.0.0.1";
      behind.client_port = relay_->port();
      const std::string key = "try-lost-" + std::string(what.text());
      ask_until_ok(client_, op_of(f::write, key, 1));
      auto client = client_to(behind);
      if (!client) return;
      Asked warm_up = begin(*client, op_of(f::read, key));
      if (finish(warm_up, client, kPatience).type != OpType::kOk) {  // an interpreter starts
        add(step, Grade::kNotTried, "the client does not work through a proxy on 127.0.0.1");
        continue;
      }
      if (!client) client = client_to(behind);
      if (!client) return;
      relay_->lose_next_answer();
      const Value argument = what == f::cas ? Value::pair(1, 2) : Value(2);
      Asked waiting = begin(*client, op_of(what, key, argument));
      const Op done = finish(waiting, client);
      note_error(step, done, waiting.ours);
      if (lied(step, asked(done, argument))) continue;
      judge_lost(step, key, done);
    }
  }

  void judge_lost(const std::string& step, const std::string& key, const Op& done) {
    if (!relay_->lost_one())
      return add(step, Grade::kNotTried, "no answer of the server passed: " + words(done));
    if (relay_->askers() > 1) {
      const bool lie = done.type == OpType::kFail && shows(client_, key, 2, kEcho);
      return add(step, Grade::kWrong,
                 "it was sent " + std::to_string(relay_->askers()) +
                     " times, and the last answer was " + words(done) +
                     (lie ? "; but a read finds the value: the first one was made" : ""),
                 "a hidden retry: switch it off in the client library, also that of its connection "
                 "pool. A second attempt turns an unknown outcome into a wrong one");
    }
    if (done.type == OpType::kFail) {
      const bool lie = shows(client_, key, 2, kEcho);
      return add(
          step, Grade::kWrong,
          words(done) + (lie ? "; but a read finds the value: it was made" : ""),
          "a connection that breaks after the request was sent leaves the outcome unknown: info");
    }
    if (done.type == OpType::kOk)
      return add(step, Grade::kWrong, "ok, and the server's answer never came",
                 "only the server's word makes an operation ok");
    add(step, Grade::kFine, words(done));
  }

  void stands_still() {
    const std::string name = "the server stands still until the time is up";
    if (!cluster_ || !serves(f::write)) return add(name, Grade::kNotTried, "no power over it");
    ask_until_ok(client_, op_of(f::write, "try-still", 1));
    if (!client_) client_ = client_to(node());
    if (!client_ || !use(&NodeCluster::pause)) return;
    Asked waiting = begin(*client_, op_of(f::write, "try-still", 2));
    const Op done = finish(waiting, client_);
    if (!use(&NodeCluster::resume)) return;
    note_error(name, done, waiting.ours);
    if (lied(name, asked(done, 2))) return;
    if (done.type == OpType::kFail) {
      const bool lie = shows(client_, "try-still", 2, kEcho);
      return add(name, Grade::kWrong,
                 words(done) + (lie ? "; but a later read finds the value: it was made"
                                    : "; nobody can know that: it may be made later"),
                 "a time-out is not a failure: answer info");
    }
    if (done.type == OpType::kOk)
      return add(name, Grade::kWrong, "ok, from a server that was stopped",
                 "only the server's word makes an operation ok");
    add(name, Grade::kFine, words(done) + (waiting.ours ? ": Assay's own deadline" : ""));
  }

  void killed_in_the_middle() {
    const std::string name = "the server is killed in the middle of a write";
    if (!cluster_ || !serves(f::write)) return add(name, Grade::kNotTried, "no power over it");
    ask_until_ok(client_, op_of(f::write, "try-killed", 1));
    if (!client_) client_ = client_to(node());
    if (!client_ || !use(&NodeCluster::pause)) return;
    Asked waiting = begin(*client_, op_of(f::write, "try-killed", 2));
    await([&] { return waiting.done->has_value(); }, plan_.spec.op_timeout / 4);
    if (!use(&NodeCluster::kill)) return;
    down_ = true;
    const Op done = finish(waiting, client_);
    note_error(name, done, waiting.ours);
    if (lied(name, asked(done, 2))) return;
    if (done.type == OpType::kFail)
      return add(name, Grade::kWrong, words(done),
                 "the request was sent, and it may have been made before the end: answer info");
    if (done.type == OpType::kOk)
      return add(name, Grade::kWrong, "ok, from a server that was killed before it could answer",
                 "only the server's word makes an operation ok");
    add(name, Grade::kFine, words(done));
  }

  void connection_refused() {
    const std::string name = "the server is not there: connection refused";
    if (!cluster_) return add(name, Grade::kNotTried, "no power over it");
    if (!use(&NodeCluster::kill)) return;
    down_ = true;
    for (const Symbol what : {f::write, f::read}) {
      if (!serves(what)) continue;
      const std::string step = name + ": " + std::string(what.text());
      client_ = client_to(node());
      if (!client_) return;
      const Value argument = what == f::write ? Value(2) : Value();
      // Its connection may be an old one, which breaks first: the outcome of that is unknown.
      Asked waiting;
      Op done;
      for (int attempt = 0; attempt < 3 && done.type != OpType::kFail; ++attempt) {
        if (!client_) client_ = client_to(node());
        if (!client_) return;
        waiting = begin(*client_, op_of(what, "try-refused", argument));
        done = finish(waiting, client_);
      }
      note_error(step, done, waiting.ours);
      if (lied(step, asked(done, argument))) continue;
      if (done.type == OpType::kOk) {
        add(step, Grade::kWrong, "ok, and its server is down",
            "a client speaks to the node of its request alone");
      } else if (done.type == OpType::kInfo) {
        add(step, Grade::kWeak, words(done) + ": nothing was sent",
            "answer fail with the class refused: it certainly never happened. As unknown it costs "
            "a "
            "process, and a run under kills has thousands of them");
      } else if (!done.error || done.error->cls != kRefused) {
        add(step, Grade::kWeak, words(done), "give it the class refused");
      } else {
        add(step, Grade::kFine, words(done));
      }
    }
    client_.reset();
  }

  void started_again() {
    const std::string name = "the server is started again";
    if (!cluster_) return add(name, Grade::kNotTried, "no power over it");
    down_ = false;
    if (!use(&NodeCluster::start)) return;
    const Op write = ask_until_ok(client_, op_of(f::write, "try-again", 1));
    if (write.type != OpType::kOk)
      return add(name, Grade::kWrong,
                 "no write was ok within " + format_duration(kPatience) + ": " + words(write),
                 "see node.log of n1 in " + folder_.path());
    if (plan_.target->claims().durable == "none")
      return add(name, Grade::kFine, "ok; that it keeps its data is not claimed");
    if (shows(client_, "try-kept", 1, kPatience))
      return add(name, Grade::kFine, "ok, and what was written before is there");
    add(name, Grade::kWrong,
        "what was acknowledged before the kill reads as " +
            words(ask(client_, op_of(f::read, "try-kept"))),
        "is its data folder kept? Or claim durable: none");
  }

  Nanos patience_of_reads() const {
    return plan_.target->claims().read == "linearizable" ? Nanos{} : kEcho;
  }
  const Op& asked(const Op& completion, const Value& argument) {
    asked_value_ = argument;
    return completion;
  }
  void give_up() { hopeless_ = true; }

  Plan& plan_;
  const RunFolder& folder_;
  Console& console_;
  RealLoop loop_;
  std::unique_ptr<NodeLogs> logs_;
  std::unique_ptr<NodeCluster> cluster_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Client> client_;  // to the node, when it is there
  Value asked_value_;
  bool hopeless_ = false;
  bool down_ = false;  // the node: then a further kill finds nothing
  TrialResult result_;
};

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

}  // namespace

std::string_view to_string(Grade grade) {
  switch (grade) {
    case Grade::kFine:
      return "fine";
    case Grade::kWeak:
      return "weak";
    case Grade::kWrong:
      return "wrong";
    case Grade::kNotTried:
      return "not tried";
  }
  return "";
}

bool TrialResult::conforms() const {
  return std::none_of(steps.begin(), steps.end(), [](const TrialStep& step) {
    return step.grade == Grade::kWeak || step.grade == Grade::kWrong;
  });
}

TrialResult run_trial(Plan& plan, const RunFolder& folder, Console& console) {
  return Trial(plan, folder, console).run();
}

std::string trial_text(const TrialResult& result) {
  std::string text;
  for (const TrialStep& step : result.steps) {
    text += padded(std::string(to_string(step.grade)), 11) + step.name + "\n";
    text += std::string(11, ' ') + step.seen + "\n";
    if (!step.mend.empty()) text += std::string(11, ' ') + "mend: " + step.mend + "\n";
  }
  if (!result.errors.empty()) {
    text += "\nerrors as seen (?: nobody named this one, so its class is a guess)\n";
    for (const ObservedError& row : result.errors) {
      const Op& op = row.completion;
      text += padded(row.guess ? "  ?" : "", 4) + padded(std::string(to_string(op.type)), 5) +
              padded(op.error ? std::string(op.error->cls.text()) : "-", 14) +
              padded(std::string(op.f.text()), 7) + row.situation +
              (op.error && !op.error->text.empty() ? ": " + op.error->text : "") + "\n";
    }
  }
  return text;
}

Value trial_json(const TrialResult& result) {
  Value::Array steps, errors;
  for (const TrialStep& step : result.steps) {
    steps.push_back(Value::object({{Symbol("step"), Value(step.name)},
                                   {Symbol("grade"), Value(to_string(step.grade))},
                                   {Symbol("seen"), Value(step.seen)},
                                   {Symbol("mend"), Value(step.mend)}}));
  }
  for (const ObservedError& row : result.errors) {
    const Op& op = row.completion;
    errors.push_back(Value::object({{Symbol("situation"), Value(row.situation)},
                                    {Symbol("f"), Value(op.f)},
                                    {Symbol("type"), Value(to_string(op.type))},
                                    {Symbol("class"), op.error ? Value(op.error->cls) : Value()},
                                    {Symbol("text"), op.error ? Value(op.error->text) : Value()},
                                    {Symbol("guess"), Value(row.guess)}}));
  }
  return Value::object({{Symbol("conforms"), Value(result.conforms())},
                        {Symbol("steps"), Value::array(std::move(steps))},
                        {Symbol("errors"), Value::array(std::move(errors))}});
}

}  // namespace assay
