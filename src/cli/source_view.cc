#include "cli/source_view.h"

#include <fmt/format.h>

#include "cli/run_figures.h"
#include "cli/text.h"
#include "engine/engine.h"

namespace semel::cli {

namespace {

static_assert(operate::kWindowSource == engine::kFrontFigures);

constexpr std::size_t kTextShown = 120;

std::vector<SourceView> views_of(const std::vector<tap::RunFigures>& runs,
                                 std::string_view consumer, bool windows) {
  const auto is_asked_for = [&](const tap::Figures::One& one) {
    if (one.consumer != consumer || one.source == kRunHealth) return false;
    return (one.source == engine::kFrontFigures) == windows;
  };
  std::vector<SourceView> views;
  for (const tap::RunFigures& run : runs) {
    const std::size_t first = views.size();
    for (const tap::Figures::One& one : run.figures.all) {
      if (!is_asked_for(one)) continue;
      if (views.size() == first || views.back().source != one.source) {
        views.push_back({run.pid, one.source, {}});
      }
      views.back().figures.push_back(one.figure);
    }
  }
  return views;
}

}  // namespace

std::vector<SourceView> sources_of(const std::vector<tap::RunFigures>& runs,
                                   std::string_view consumer) {
  return views_of(runs, consumer, false);
}

std::vector<SourceView> windows_of(const std::vector<tap::RunFigures>& runs,
                                   std::string_view consumer) {
  return views_of(runs, consumer, true);
}

std::vector<HealthView> health_of(const std::vector<tap::RunFigures>& runs,
                                  std::string_view consumer) {
  const auto time_of = [](const SourceFigure& figure) {
    return StoreTime(std::chrono::milliseconds(figure.value));
  };
  std::vector<HealthView> views;
  for (const tap::RunFigures& run : runs) {
    HealthView view;
    view.pid = run.pid;
    for (const tap::Figures::One& one : run.figures.all) {
      if (one.consumer != consumer || one.source != kRunHealth) continue;
      if (one.figure.name == kLastEndFigure) view.last_end = time_of(one.figure);
      if (one.figure.name != kTroubleFigure) continue;
      view.troubles.push_back({one.figure.partition, time_of(one.figure), one.figure.text});
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::string source_text(const SourceView& view) {
  std::string text = fmt::format("{} in process {}", printable(view.source, kTextShown), view.pid);
  const char* between = ": ";
  for (const SourceFigure& figure : view.figures) {
    if (!figure.partition.empty()) continue;
    text += fmt::format("{}{} {}", between, printable(figure.name, kTextShown),
                        grouped(static_cast<std::uint64_t>(figure.value)));
    if (!figure.text.empty()) text += fmt::format(" ({})", printable(figure.text, kTextShown));
    between = ", ";
  }
  return text;
}

}  // namespace semel::cli
