#include "benchmarks/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/json.h"
#include "benchmarks/measure.h"

namespace semel::bench {

namespace {

// "500k", "10M", "1500000"; zero where it is none of them.
std::size_t count_of(const std::string& text) {
  std::size_t end = 0;
  std::size_t count = 0;
  try {
    count = std::stoul(text, &end);
  } catch (const std::exception&) {
    return 0;
  }
  const std::string unit = text.substr(end);
  if (unit == "M") return count * 1'000'000;
  if (unit == "k") return count * 1'000;
  return unit.empty() ? count : 0;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (word == "--smoke") {
      options.length = Length::kSmoke;
    } else if (word == "--quick") {
      options.length = Length::kQuick;
    } else if (word == "-o" && value() == "json") {
      options.json = true;
    } else if (word == "--folder") {
      options.folder = value();
    } else if (word == "--program") {
      options.program = value();
    } else if (word == "--only") {
      options.only.push_back(value());
    } else if (word == "--preload" && (options.preload = count_of(value())) != 0U) {
      continue;
    } else {
      fmt::print(stderr,
                 "usage: {} [--quick | --smoke] [-o json] [--only CASE] [--preload RECORDS] "
                 "--folder FOLDER [--program SEMEL]\nRECORDS: 1000000, 500k, 10M\n",
                 argv[0]);
      std::exit(64);
    }
  }
  return options;
}

int run_benchmark(int argc, char** argv, const std::function<void(const Options&)>& benchmark) {
  const Options options = parse_options(argc, argv);
  try {
    benchmark(options);
  } catch (const std::exception& failed) {
    give_up(failed.what());
  }
  return 0;
}

namespace {

// A side that yields no rate did not do its work.
double checked(const Case& measured, const char* name, const Side& side) {
  set_running(fmt::format("{}, {}", measured.name, name));
  const double rate = side();
  if (!std::isfinite(rate) || rate <= 0) give_up(fmt::format("a rate of {}", rate));
  set_running({});
  return rate;
}

std::string rate(const std::optional<double>& value) {
  if (!value) return "-";
  return *value >= 10'000 ? fmt::format("{:.1f} k", *value / 1'000) : fmt::format("{:.1f}", *value);
}

std::string ratio(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

}  // namespace

bool Report::wanted(const std::string& name) const {
  return options_.only.empty() ||
         std::any_of(options_.only.begin(), options_.only.end(),
                     [&](const std::string& only) { return name.starts_with(only); });
}

// The table goes where the document does not.
void Report::header(const std::vector<std::string>& lines) {
  std::FILE* const out = options_.json ? stderr : stdout;
  for (const std::string& line : machine(options_.folder)) fmt::print(out, "{}\n", line);
  for (const std::string& line : lines) fmt::print(out, "{}\n", line);
  if (options_.smoke()) fmt::print(out, "smoke: every case once; the figures mean nothing\n");
#ifndef __OPTIMIZE__
  fmt::print(out, "built without optimisation: the figures mean nothing\n");
#endif
}

void Report::print_titles() {
  if (titled_) return;
  titled_ = true;
  fmt::print(options_.json ? stderr : stdout, "\n{:<24}{:>6}{:>12}{:>12}{:>12}{:>8}{:>12}   {}\n",
             "case", "batch", "raw/s", "naive/s", "semel/s", "of raw", "over naive",
             "spread, what");
}

void Report::print(const Row& row, const std::string& note) {
  print_titles();
  std::FILE* const out = options_.json ? stderr : stdout;
  fmt::print(out, "{:<24}{:>6}{:>12}{:>12}{:>12}{:>8}{:>12}   {}\n", row.name, row.batch,
             rate(row.raw), rate(row.naive), rate(row.semel), ratio(row.of_raw),
             ratio(row.over_naive), note);
  std::fflush(out);
}

void Report::run(const Case& measured, std::size_t rounds) {
  if (!wanted(measured.name)) return;
  std::vector<double> raw, naive, semel;
  for (std::size_t round = 0; round < rounds; ++round) {
    if (measured.raw) raw.push_back(checked(measured, "raw", measured.raw));
    if (measured.semel) semel.push_back(checked(measured, "semel", measured.semel));
    if (measured.naive) naive.push_back(checked(measured, "naive", measured.naive));
  }
  const auto middle = [](const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional(median(values));
  };
  Row row{measured.name, measured.batch, middle(raw), middle(naive), middle(semel), {}, {}};
  if (row.semel && row.raw) row.of_raw = *row.semel / *row.raw;
  if (row.semel && row.naive) row.over_naive = *row.semel / *row.naive;
  print(row, fmt::format("±{:.0f} % / ±{:.0f} %, {}", 100 * spread(raw), 100 * spread(semel),
                         measured.what));
  rows_.push_back(std::move(row));
}

void Report::add(const std::string& name, std::size_t batch, std::optional<double> raw,
                 std::optional<double> semel, std::optional<double> of_raw,
                 const std::string& what) {
  for (const auto& value : {raw, semel}) {
    if (value && (!std::isfinite(*value) || *value <= 0)) {
      give_up(fmt::format("{}: {} is no result", name, *value));
    }
  }
  Row row{name, batch, raw, std::nullopt, semel, of_raw, std::nullopt};
  print(row, what);
  rows_.push_back(std::move(row));
}

void Report::finish() const {
  if (rows_.empty()) give_up("no case has such a name");
  if (options_.smoke()) {
    fmt::print(stderr, "smoke: {} cases in {:.1f} s\n", rows_.size(), watch_.seconds());
  }
  if (!options_.json) return;
  json::Writer out;
  const auto number = [&](std::string_view name, const std::optional<double>& value,
                          double digits) {
    out.name(name);
    value ? out.value(std::round(*value * digits) / digits) : out.null();
  };
  out.begin_object().member("schema", "semel.v1.bench").name("rows").begin_array();
  for (const Row& row : rows_) {
    out.begin_object().member("case", row.name).member("batch", row.batch);
    number("raw", row.raw, 10);
    number("naive", row.naive, 10);
    number("semel", row.semel, 10);
    number("of_raw", row.of_raw, 1'000);
    number("over_naive", row.over_naive, 1'000);
    out.end_object();
  }
  out.end_array().end_object();
  fmt::print("{}\n", out.text());
}

}  // namespace semel::bench
