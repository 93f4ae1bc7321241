// The run as a whole: its doctor, its config, and the description of the API.
#include <string>

#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/problem.h"
#include "base/json.h"
#include "operate/views.h"

namespace semel::admin::api {

HttpResponse run_doctor(const ApiCall&, const ApiSources& sources) {
  return with_store(sources, [&](const operate::StoreAccess& access) {
    auto report = sources.doctor(access.store);
    return report ? json_answer(*std::move(report)) : problem(report.error());
  });
}

HttpResponse show_config(const ApiCall&, const ApiSources& sources) {
  json::Writer writer = operate::document("config");
  writer.member("file", sources.config->file).name("values").begin_array();
  for (const config::EffectiveValue& each : sources.config->effective) {
    writer.begin_object().member("path", each.path).member("value", each.value);
    writer.member("origin", each.origin).end_object();
  }
  writer.end_array().end_object();
  return json_answer(writer.text());
}

HttpResponse show_openapi(const ApiCall&, const ApiSources&) { return json_answer(openapi_json()); }

}  // namespace semel::admin::api
