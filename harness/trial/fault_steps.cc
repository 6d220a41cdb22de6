#include "harness/trial/steps.h"

namespace assay::trial {
namespace {

const Symbol kRefused{"refused"};

}  // namespace

// The request reaches the server, the answer gets lost.
void Steps::answer_lost() {
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

void Steps::judge_lost(const std::string& step, const std::string& key, const Op& done) {
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
        step, Grade::kWrong, words(done) + (lie ? "; but a read finds the value: it was made" : ""),
        "a connection that breaks after the request was sent leaves the outcome unknown: info");
  }
  if (done.type == OpType::kOk)
    return add(step, Grade::kWrong, "ok, and the server's answer never came",
               "only the server's word makes an operation ok");
  add(step, Grade::kFine, words(done));
}

void Steps::stands_still() {
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

void Steps::killed_in_the_middle() {
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

void Steps::connection_refused() {
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

void Steps::started_again() {
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

void Steps::own_faults() {
  for (const OwnFault& fault : plan_.target->faults()) {
    const std::string name = "the store's own fault " + fault.kind;
    const std::string by_hand = ": run its commands by hand in the folder of n1, " +
                                folder_.node_path(node().name);
    const auto begun = effect_of(
        [&](auto done) { cluster_->begin_own(fault.kind, node().index, std::move(done)); });
    if (!begun) return;
    const auto ended = effect_of(
        [&](auto done) { cluster_->end_own(fault.kind, node().index, std::move(done)); });
    if (!ended) return;
    if (!begun->installed) {
      add(name, Grade::kWrong, begun->evidence, "\"begin\" must exit 0" + by_hand);
    } else if (!begun->bit) {
      add(name, Grade::kWrong, begun->evidence,
          "\"verify\" must exit 0 while it is in force" + by_hand);
    } else if (!ended->installed) {
      add(name, Grade::kWrong, ended->evidence,
          "\"end\" must exit 0, and \"verify\" must not after it" + by_hand);
    } else {
      add(name, Grade::kFine, begun->evidence);
    }
  }
}

}  // namespace assay::trial
