#include "targets/kv/http/value_guards.h"

namespace assay {
namespace {

Value::Array without_revisions(const Value& items) {
  Value::Array out;
  for (const Value& item : items.as_array())
    out.push_back(Value::array({item.as_array()[0], item.as_array()[1], {}}));
  return out;
}

// With one member replaced.
Value with(const Value& object, Symbol name, Value value) {
  Value::Object members;
  for (const auto& [other, old] : object.as_object()) {
    if (other != name) members.emplace_back(other, old);
  }
  members.emplace_back(name, std::move(value));
  return Value::object(std::move(members));
}

const Symbol kGuards{"guards"};

}  // namespace

Op ValueGuards::translated(const Op& op) const {
  const auto value_of = [this](Symbol key) {
    const auto found = last_.find(key);
    return found == last_.end() ? nullptr : &found->second;
  };
  Op sent = op;
  if (op.f == f::write || op.f == f::delete_) {
    const Value* last = value_of(op.key);
    if (!op.expected.none() || op.extra["intent"].is_null() || last == nullptr) return sent;
    sent.f = f::cas;
    sent.value = Value::pair(*last, op.f == f::write ? op.value : Value());
  } else if (op.f == f::txn && op.extra["guards"].is_array()) {
    Value::Array guards;
    for (const Value& guard : op.extra["guards"].as_array()) {
      const Value* last = value_of(guard.as_array()[0].as_symbol());
      const bool by_value = guard.as_array()[1].is_null();
      if (!by_value) guards.push_back(guard);
      // What it has never read it cannot guard.
      if (by_value && last != nullptr)
        guards.push_back(Value::array({guard.as_array()[0], {}, *last}));
    }
    sent.extra = with(op.extra, kGuards, Value::array(std::move(guards)));
  }
  return sent;
}

Op ValueGuards::completed(const Op& op, const Op& done) {
  Op out = complete(op, done.type);
  if (done.type == OpType::kOk) remember(op, done);
  if (op.f == f::list && done.type == OpType::kOk) {
    out.value = Value::array(without_revisions(done.value));
    out.at = done.at;
  } else if (op.f == f::read) {
    out.value = done.value;
  }
  out.error = done.error;
  if (!out.error) return out;
  out.error->current = Token();
  // It was sent as a cas; to its writer it is a guard that did not hold.
  if (op.f != f::cas && out.error->cls == Symbol("mismatch")) {
    out.error->cls = Symbol("conflict");
    out.error->text = "the key has changed";
  }
  return out;
}

void ValueGuards::remember(const Op& op, const Op& done) {
  if (op.f == f::read) last_[op.key] = done.value;
  if (op.f == f::write) last_[op.key] = op.value;
  if (op.f == f::delete_) last_[op.key] = Value();
  if (op.f == f::cas) last_[op.key] = op.value.as_array()[1];
  if (op.f == f::list) remember_list(op.key, done.value);
  if (op.f != f::txn) return;
  for (const Value& write : op.value.as_array())
    last_[write.as_array()[1].as_symbol()] = write.as_array()[2];
}

void ValueGuards::remember_list(Symbol prefix, const Value& items) {
  for (auto& [key, value] : last_) {
    if (key.text().starts_with(prefix.text())) value = Value();
  }
  for (const Value& item : items.as_array())
    last_[item.as_array()[0].as_symbol()] = item.as_array()[1];
}

}  // namespace assay
