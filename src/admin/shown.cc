#include "admin/shown.h"

namespace semel::admin {

namespace {

core::Disclosure shown_by(const config::Config& config) {
  return config.admin ? config.admin->shows : core::Disclosure();
}

}  // namespace

core::Disclosure shown_to(const ApiCall& call, const ApiSources& sources) {
  const core::Disclosure shows = shown_by(*sources.config);
  return call.has(core::Role::kOperator) ? shows : shows.without_contents();
}

core::Disclosure shown_in_lists(const ApiSources& sources) {
  return shown_by(*sources.config).without_contents();
}

}  // namespace semel::admin
