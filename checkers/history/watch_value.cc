#include "checkers/history/watch_value.h"

namespace assay {
namespace {

const Symbol kPrefix{"prefix"}, kFrom{"from"}, kFor{"for"}, kEvents{"events"},
    kProgress{"progress"}, kSplit{"split"}, kStartAt{"start"}, kNextAt{"next"}, kEnd{"end"},
    kCompactRevision{"compact_revision"}, kPut{"put"}, kDelete{"delete"};

constexpr std::string_view kEnds[] = {"done", "cut", "compacted"};

Value to_value(const WatchedEvent& event) {
  Value::Array items{event.revision, event.key, event.deleted ? kDelete : kPut, event.value};
  if (event.before) {
    const auto& [revision, value] = *event.before;
    items.push_back(revision == 0 ? Value() : Value::pair(revision, value));
    if (event.created > 0) items.push_back(event.created);
  }
  return Value::array(std::move(items));
}

std::optional<WatchedEvent::Before> before_in(const Value& value) {
  if (value.is_null()) return WatchedEvent::Before{};
  if (!value.is_array() || value.as_array().size() != 2) return std::nullopt;
  const Value& revision = value.as_array()[0];
  if (!revision.is_int() || revision.as_int() < 1) return std::nullopt;
  return WatchedEvent::Before{revision.as_int(), value.as_array()[1]};
}

std::optional<WatchedEvent> event_in(const Value& value) {
  if (!value.is_array()) return std::nullopt;
  const auto& items = value.as_array();
  if (items.size() < 4 || items.size() > 6 || !items[0].is_int() || items[0].as_int() < 1 ||
      !items[1].is_string() || (items[2] != Value(kPut) && items[2] != Value(kDelete)))
    return std::nullopt;
  WatchedEvent event{.revision = items[0].as_int(),
                     .key = items[1].as_symbol(),
                     .deleted = items[2] == Value(kDelete),
                     .value = items[3]};
  if (items.size() > 4 && !(event.before = before_in(items[4]))) return std::nullopt;
  if (items.size() > 5) {
    if (!items[5].is_int()) return std::nullopt;
    event.created = items[5].as_int();
  }
  return event;
}

// Told apart by how many events came before; a bare revision came after all of them.
std::optional<WatchMark> mark_in(const Value& value, size_t events) {
  if (value.is_int()) return WatchMark{value.as_int(), events};
  if (!value.is_array() || value.as_array().size() != 2) return std::nullopt;
  const Value& revision = value.as_array()[0];
  const Value& count = value.as_array()[1];
  if (!revision.is_int() || !count.is_int() || count.as_int() < 0) return std::nullopt;
  return WatchMark{revision.as_int(), static_cast<size_t>(count.as_int())};
}

bool is_list_or_absent(const Value& value) { return value.is_null() || value.is_array(); }

template <typename Fn>
bool each(const Value& list, Fn fn) {
  if (!list.is_array()) return true;
  for (const Value& item : list.as_array()) {
    if (!fn(item)) return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(WatchEnd end) { return kEnds[static_cast<size_t>(end)]; }

Value to_value(const WatchWish& wish) {
  return Value::object({{kPrefix, wish.prefix}, {kFrom, wish.from}, {kFor, wish.span.count}});
}

std::optional<WatchWish> watch_wish(const Value& value) {
  const Value& span = value["for"];
  const Value& from = value["from"];
  WatchWish wish;
  if (!value["prefix"].is_string() || (!from.is_int() && !from.is_null())) return std::nullopt;
  wish.prefix = value["prefix"].as_symbol();
  wish.from = value.int_or("from", 0);
  if (span.is_int()) {
    wish.span = Nanos{span.as_int()};
  } else {
    const auto duration = span.is_string() ? parse_duration(span.as_text()) : input_error("");
    if (!duration) return std::nullopt;
    wish.span = *duration;
  }
  if (wish.from < 0 || wish.span.count < 0) return std::nullopt;
  return wish;
}

Value to_value(const WatchSeen& seen) {
  Value::Array events, progress;
  events.reserve(seen.events.size());
  for (const WatchedEvent& event : seen.events) events.push_back(to_value(event));
  for (const WatchMark& mark : seen.progress)
    progress.push_back(Value::pair(mark.revision, static_cast<int64_t>(mark.events)));
  Value::Object members{{kEvents, Value::array(std::move(events))},
                        {kProgress, Value::array(std::move(progress))}};
  if (seen.start > 0) members.emplace_back(kStartAt, seen.start);
  if (!seen.split.empty())
    members.emplace_back(kSplit, Value::array({seen.split.begin(), seen.split.end()}));
  members.emplace_back(kNextAt, seen.next);
  members.emplace_back(kEnd, Value(to_string(seen.end)));
  if (seen.end == WatchEnd::kCompacted)
    members.emplace_back(kCompactRevision, seen.compact_revision);
  return Value::object(std::move(members));
}

std::optional<WatchSeen> watch_seen(const Value& value) {
  WatchSeen seen;
  if (!value["events"].is_array() || !is_list_or_absent(value["progress"]) ||
      !is_list_or_absent(value["split"]))
    return std::nullopt;
  seen.events.reserve(value["events"].as_array().size());
  const bool good = each(value["events"],
                         [&](const Value& item) {
                           auto event = event_in(item);
                           if (event) seen.events.push_back(std::move(*event));
                           return event.has_value();
                         }) &&
                    each(value["progress"],
                         [&](const Value& item) {
                           const auto mark = mark_in(item, seen.events.size());
                           if (mark) seen.progress.push_back(*mark);
                           return mark.has_value();
                         }) &&
                    each(value["split"], [&](const Value& item) {
                      if (item.is_int()) seen.split.push_back(item.as_int());
                      return item.is_int();
                    });
  const std::string_view end = value.text_or("end", "");
  seen.end = end == kEnds[1]   ? WatchEnd::kCut
             : end == kEnds[2] ? WatchEnd::kCompacted
                               : WatchEnd::kDone;
  seen.start = value.int_or("start", 0);
  seen.next = watch_next(value);
  seen.compact_revision = value.int_or("compact_revision", 0);
  if (!good || to_string(seen.end) != end) return std::nullopt;
  return seen;
}

int64_t watch_next(const Value& value) { return value.int_or("next", 0); }

}  // namespace assay
