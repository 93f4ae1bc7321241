#include "operate/status.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace semel::operate {

namespace {

// Whether all processes that run the consumer have answered and report a failure. Processes that
// could not be asked may be working.
bool all_fail(const ConsumerStatus& row) {
  return std::ranges::all_of(row.counts.running_pids, [&](std::int64_t pid) {
    return std::ranges::any_of(row.health, [&](const HealthView& view) {
      return view.pid == pid && !view.troubles.empty();
    });
  });
}

// Down: something waits for it and no process runs it.
std::string state_of(const ConsumerStatus& row, bool known) {
  if (row.gate) return gate_word(row.gate);
  if (!row.counts.running_pids.empty()) return std::string(all_fail(row) ? kFailing : kRunning);
  if (row.waiting() > 0) return std::string(kDown);
  if (row.lag && row.lag->error) return std::string(kUnknown);
  return known ? "idle" : "new";
}

void add_ages(ConsumerStatus& row, StoreTime now) {
  if (row.counts.oldest_waiting) {
    row.oldest_age = std::max(now - *row.counts.oldest_waiting, std::chrono::milliseconds(0));
  }
  row.last = row.counts.last_change;
  for (const HealthView& view : row.health) {
    if (view.last_end) row.last = std::max(*view.last_end, row.last.value_or(*view.last_end));
  }
}

void add_pids(json::Writer& writer, const std::vector<std::int64_t>& pids) {
  writer.name("running_pids").begin_array();
  for (const std::int64_t pid : pids) writer.value(pid);
  writer.end_array();
}

void add_times(json::Writer& writer, const TimeText& time, const ConsumerStatus& row) {
  if (row.oldest_age) {
    writer.member("oldest_waiting", time(*row.counts.oldest_waiting));
    writer.member("oldest_waiting_ms", row.oldest_age->count());
  }
  if (row.last) writer.member("last_change", time(*row.last));
}

void add_health(json::Writer& writer, const TimeText& time, const ConsumerStatus& row) {
  add_pids(writer, row.counts.running_pids);
  if (row.lag && !row.lag->error) writer.member("lag", row.lag->messages);
  if (row.lag && row.lag->error) writer.member("lag_error", row.lag->error->message);
  writer.name("troubles").begin_array();
  for (const HealthView& view : row.health) {
    for (const HealthView::Trouble& trouble : view.troubles) {
      writer.begin_object().member("pid", view.pid).member("where", trouble.where);
      writer.member("since", time(trouble.since)).member("error", trouble.text);
      writer.end_object();
    }
  }
  writer.end_array();
}

void add_status_of(json::Writer& writer, const TimeText& time, const ConsumerStatus& row) {
  writer.begin_object().member("name", row.name).member("state", row.state);
  if (row.state != kRemoved) {
    writer.member("source", row.source).member("strategy", row.strategy);
    writer.member("guarantee", row.guarantee);
  }
  writer.member("consuming", row.counts.consuming).member("retrying", row.counts.retrying);
  writer.member("parked", row.counts.parked).member("dead", row.counts.dead);
  writer.member("held", row.counts.held).member("dead_letters", row.counts.dead_letters);
  add_times(writer, time, row);
  add_health(writer, time, row);
  writer.member("gate", gate_word(row.gate));
  if (row.gate) add_gate(writer, time, *row.gate);
  writer.name("sources");
  add_sources(writer, row.sources);
  writer.name("windows");
  add_sources(writer, row.windows);
  writer.end_object();
}

}  // namespace

std::size_t ConsumerStatus::waiting() const noexcept {
  const auto at_source = lag ? static_cast<std::size_t>(lag->messages) : 0;
  return std::max(counts.consuming + counts.retrying,
                  std::max(counts.retrying, counts.held) + at_source);
}

void add_sources(json::Writer& writer, const std::vector<SourceView>& views) {
  writer.begin_array();
  for (const SourceView& view : views) {
    writer.begin_object().member("pid", view.pid).member("source", view.source);
    writer.name("figures").begin_array();
    for (const SourceFigure& figure : view.figures) {
      writer.begin_object().member("name", figure.name).member("value", figure.value);
      if (!figure.partition.empty()) writer.member("partition", figure.partition);
      if (!figure.text.empty()) writer.member("text", figure.text);
      writer.end_object();
    }
    writer.end_array().end_object();
  }
  writer.end_array();
}

Status status_of_store(const StoreStats& stats, std::string where) {
  Status made;
  made.where = std::move(where);
  made.schema_version = stats.schema_version;
  made.epoch = stats.epoch;
  made.bytes = stats.bytes;
  made.running_pids = stats.running_pids;
  for (const StoreStats::Generation& generation : stats.generations) {
    made.completed += generation.records;
  }
  return made;
}

std::string source_name(const config::SourceConfig& source) {
  if (const auto* file = std::get_if<config::FileSource>(&source)) return "file " + file->spec.path;
  return std::string(config::name_of(source));
}

void conclude(ConsumerStatus& row, bool known, StoreTime now) {
  row.state = state_of(row, known);
  add_ages(row, now);
}

ConsumerStatus removed_consumer(const StoreStats::Consumer& counts, StoreTime now) {
  ConsumerStatus row;
  row.name = counts.name;
  row.counts = counts;
  row.state = kRemoved;
  add_ages(row, now);
  return row;
}

json::Writer status_document(const Status& status, const TimeText& time) {
  json::Writer writer = document("status");
  writer.name("store").begin_object().member("where", status.where);
  writer.member("schema_version", status.schema_version).member("epoch", status.epoch);
  writer.member("bytes", status.bytes).member("completed", status.completed).end_object();
  add_pids(writer, status.running_pids);
  writer.name("consumers").begin_array();
  for (const ConsumerStatus& row : status.consumers) add_status_of(writer, time, row);
  writer.end_array().end_object();
  return writer;
}

}  // namespace semel::operate
