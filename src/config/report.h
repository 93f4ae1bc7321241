// Report: collects all errors of a config, each with its place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace semel::config {

// The place of a value. `source` counts the texts of a Report: the file, then each --set.
struct SourceLocation {
  std::size_t source = 0;
  int line = 0;  // from 1; 0: the whole text
  int column = 0;
  std::size_t width = 1;  // of the marker
};

class Report {
 public:
  // `text` is borrowed for the report's life.
  Report(std::string file, std::string_view text);

  // Returns the number of a further text; its line is shown in diagnostics.
  std::size_t add_source(std::string name, std::string text);
  const std::string& name(std::size_t source) const { return sources_[source].name; }
  // The line without its end; empty where there is none.
  std::string_view line(std::size_t source, int line) const;
  // "semel.yaml:4:3", or the name alone.
  std::string spot(const SourceLocation& place) const;

  // The reference is valid until the next call.
  Diagnostic& error(std::string_view code, const SourceLocation& place, std::string path,
                    std::string message);
  Diagnostic& warning(std::string_view code, const SourceLocation& place, std::string path,
                      std::string message);
  bool failed() const noexcept { return errors_ > 0; }
  // More errors than anyone reads: stop looking for suggestions.
  bool full() const noexcept { return entries_.size() >= kMostShown; }

  // Sorted by place; entries about the whole file come first. The last one says how many are left
  // out.
  std::vector<Diagnostic> take();

 private:
  struct Source {
    std::string name;
    std::string owned;
    std::vector<std::string_view> lines;
  };
  struct Entry {
    SourceLocation place;
    Diagnostic diagnostic;
  };
  static constexpr std::size_t kMostShown = 200;
  Diagnostic& add(Diagnostic::Severity severity, std::string_view code, const SourceLocation& place,
                  std::string path, std::string message);
  std::string excerpt(const SourceLocation& place) const;

  std::vector<Source> sources_;
  std::vector<Entry> entries_;
  std::size_t errors_ = 0;
};

// `text` in quotes, with control characters replaced, cut to a length that fits a message.
std::string in_quotes(std::string_view text);

}  // namespace semel::config
