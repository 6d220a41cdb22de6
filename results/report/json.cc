#include "results/report/json.h"

#include "checkers/history/json_text.h"

namespace assay {
namespace {

class Members {
 public:
  Members& put(const char* name, Value value) {
    members_.emplace_back(Symbol(name), std::move(value));
    return *this;
  }
  Value take() { return Value::object(std::move(members_)); }

 private:
  Value::Object members_;
};

Value milliseconds_value(const std::optional<Nanos>& time) {
  if (!time) return {};
  return static_cast<double>(time->count / 1000) / 1000;  // microseconds are exact enough
}

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value operation_value(const Operation& operation) {
  Members out;
  out.put("index", operation.invoke_index()).put("process", operation.process().id);
  out.put("f", operation.f()).put("type", to_string(operation.type()));
  if (!operation.key().empty()) out.put("key", operation.key());
  if (!operation.node().empty()) out.put("node", operation.node());
  out.put("argument", operation.argument()).put("result", operation.result());
  if (operation.invoke_time() >= Nanos{0}) {
    out.put("invoked_ns", operation.invoke_time().count);
    if (operation.return_position() != kOpen) {
      out.put("returned_ns", operation.return_time().count);
    }
  }
  return out.take();
}

Value order_value(const LastOrder& order, const History& history) {
  const auto index = [&](size_t id) { return history[id].invoke_index(); };
  Value::Array steps;
  for (const OrderStep& step : order.steps) {
    if (step.operation >= history.size()) continue;
    steps.push_back(Members().put("index", index(step.operation)).put("state", step.state).take());
  }
  Members out;
  if (!order.of.empty()) out.put("of", order.of);
  out.put("before", static_cast<int64_t>(order.before)).put("start", order.start);
  out.put("steps", Value::array(std::move(steps)));
  if (order.breaks && *order.breaks < history.size()) out.put("breaks", index(*order.breaks));
  return out.take();
}

Value witness_value(const Report& report) {
  if (report.witness.verdict == nullptr) return {};
  Value::Array operations;
  for (const Operation& operation : report.witness_operations) {
    operations.push_back(operation_value(operation));
  }
  const Witness& witness = *report.witness.verdict->witness;
  Members out;
  out.put("path", report.witness.path);
  out.put("text", Value::array({witness.lines.begin(), witness.lines.end()}));
  out.put("operations", Value::array(std::move(operations)));
  if (witness.order) out.put("last_order", order_value(*witness.order, report.history));
  return out.take();
}

Value operations_value(const report::Digest& digest) {
  return Members()
      .put("ok", digest.all.ok)
      .put("fail", digest.all.fail)
      .put("info", digest.all.info)
      .put("keys", digest.keys)
      .take();
}

Value faults_value(const report::Digest& digest) {
  Value::Object kinds;
  for (const report::FaultCount& fault : digest.faults) {
    kinds.emplace_back(Symbol(fault.kind), Members()
                                               .put("started", fault.started)
                                               .put("installed", fault.installed)
                                               .put("bit", fault.bit)
                                               .put("healed", fault.healed)
                                               .take());
  }
  return Value::object(std::move(kinds));
}

}  // namespace

std::string json_report(const Report& report) {
  const RunInfo& info = report.info;
  Members out;
  out.put("format", "assay-result").put("version", 1);
  out.put("verdict", to_string(report.headline.outcome));
  out.put("safety", to_string(report.verdict.safety));
  out.put("progress", to_string(report.verdict.progress));
  out.put("reason", info.failure.empty() ? report.verdict.reason : info.failure);
  if (!info.expected.empty()) {
    out.put("expected", info.expected).put("as_expected", info.as_expected);
  }
  out.put("witness", witness_value(report));
  const auto& weaker = report.evidence.weaker;
  if (!weaker.empty()) out.put("weaker", Value::array({weaker.begin(), weaker.end()}));
  out.put("operations", operations_value(report.digest));
  out.put("faults", faults_value(report.digest));
  out.put("read_ms", milliseconds_value(info.read_time));
  out.put("check_ms", milliseconds_value(info.check_time));
  out.put("run_folder", text_or_null(info.folder));
  out.put("seed", info.seed ? Value(static_cast<int64_t>(*info.seed)) : Value());
  out.put("target", report.history.header().target);
  out.put("workload", report.history.header().workload);
  return pretty_json(out.take());
}

}  // namespace assay
