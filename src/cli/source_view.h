// What the sources of a store's runs, and the windows before its records, say of themselves, as
// text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/records.h>

#include "base/json.h"
#include "tap/figures.h"

namespace semel::cli {

// One source of a consumer in one process, or its window.
struct SourceView {
  std::int64_t pid = 0;
  std::string source;
  std::vector<SourceFigure> figures;
};

std::vector<SourceView> sources_of(const std::vector<tap::RunFigures>& runs,
                                   std::string_view consumer);
std::vector<SourceView> windows_of(const std::vector<tap::RunFigures>& runs,
                                   std::string_view consumer);

// The report of one process about its own work on a consumer.
struct HealthView {
  struct Trouble {
    std::string where;  // "store", or the name of a source
    StoreTime since;
    std::string text;
  };
  std::int64_t pid = 0;
  std::optional<StoreTime> last_end;  // when it last ended a delivery
  std::vector<Trouble> troubles;      // those that last
};
std::vector<HealthView> health_of(const std::vector<tap::RunFigures>& runs,
                                  std::string_view consumer);

// "kafka in process 17: lag 3, partitions 6": what is of all that it reads; partitions are JSON's.
std::string source_text(const SourceView& view);
// An array, as the value of a name.
void add_sources(json::Writer& writer, const std::vector<SourceView>& views);

}  // namespace semel::cli
