#include "telemetry/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace semel::telemetry {

namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

const char* type_word(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kHistogram:
      return "histogram";
    case MetricType::kGauge:
      break;
  }
  return "gauge";
}

class Exposition {
 public:
  explicit Exposition(MetricsFormat format) : open_(format == MetricsFormat::kOpenMetrics) {}

  void write(const MetricFamily& family) {
    if (family.samples.empty()) return;
    // The newer format names the family, the older one its samples.
    const bool counter = family.type == MetricType::kCounter;
    const std::string name = family.name + (counter && !open_ ? "_total" : "");
    put("# HELP {} ", name);
    escape(family.help, open_);
    put("\n# TYPE {} {}\n", name, type_word(family.type));
    for (const Sample& sample : family.samples) {
      if (family.type == MetricType::kHistogram) {
        write_histogram(family.name, sample);
      } else {
        write_line(family.name + (counter ? "_total" : ""), sample.labels, {},
                   number_text(sample.value));
      }
    }
  }

  std::string finish() && {
    if (open_) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void escape(std::string_view text, bool quotes) {
    for (const char c : text) {
      if (c == '\\' || (c == '"' && quotes)) text_ += '\\';
      if (c == '\n') {
        text_ += "\\n";
      } else {
        text_ += c;
      }
    }
  }

  void write_line(std::string_view name, const Labels& labels, std::string_view bound,
                  std::string_view value) {
    text_ += name;
    char before = '{';
    const auto label = [&](std::string_view key, std::string_view text) {
      put("{}{}=\"", before, key);
      escape(text, true);
      text_ += '"';
      before = ',';
    };
    for (const auto& [key, text] : labels) label(key, text);
    if (!bound.empty()) label("le", bound);
    if (before == ',') text_ += '}';
    put(" {}\n", value);
  }

  void write_histogram(const std::string& name, const Sample& sample) {
    const HistogramValue& histogram = sample.histogram;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < histogram.buckets.size(); ++i) {
      count += histogram.buckets[i];
      const double bound = i < histogram.bounds.size() ? histogram.bounds[i] : INFINITY;
      write_line(name + "_bucket", sample.labels, number_text(bound), std::to_string(count));
    }
    write_line(name + "_sum", sample.labels, {}, number_text(histogram.sum));
    write_line(name + "_count", sample.labels, {}, std::to_string(count));
  }

  const bool open_;
  std::string text_;
};

}  // namespace

std::string exposition(std::span<const MetricFamily> families, MetricsFormat format) {
  Exposition writer(format);
  for (const MetricFamily& family : families) writer.write(family);
  return std::move(writer).finish();
}

}  // namespace semel::telemetry
