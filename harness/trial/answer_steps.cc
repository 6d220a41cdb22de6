#include "harness/trial/steps.h"

namespace assay::trial {
namespace {

const Symbol kMismatch{"mismatch"}, kConflict{"conflict"};

}  // namespace

void Steps::absent_key() {
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

void Steps::write_then_read() {
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

void Steps::odd_values() {
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

void Steps::cas() {
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

void Steps::mismatched(const std::string& name, const Op& done, Symbol cls) {
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

void Steps::guarded_write() {
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

}  // namespace assay::trial
