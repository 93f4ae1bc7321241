// The API's description at /api/openapi.json, made from the table of routes.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <semel/version.h>

#include "admin/api_route.h"
#include "base/json.h"

namespace semel::admin {

namespace {

using RoutesByPath = std::vector<std::pair<std::string_view, std::vector<const ApiRoute*>>>;

RoutesByPath routes_by_path() {
  RoutesByPath paths;
  for (const ApiRoute& route : api_routes()) {
    if (paths.empty() || paths.back().first != route.path) paths.push_back({route.path, {}});
    paths.back().second.push_back(&route);
  }
  return paths;
}

void add_parameter(json::Writer& writer, std::string_view name, std::string_view in,
                   std::string_view type, std::string_view meaning) {
  writer.begin_object().member("name", name).member("in", in);
  writer.member("required", in == "path");
  if (!meaning.empty()) writer.member("description", meaning);
  writer.name("schema").begin_object().member("type", type).end_object().end_object();
}

void add_parameters(json::Writer& writer, const ApiRoute& route) {
  writer.name("parameters").begin_array();
  for (auto at = route.path.find('{'); at != std::string_view::npos;
       at = route.path.find('{', at + 1)) {
    const auto end = route.path.find('}', at);
    add_parameter(writer, route.path.substr(at + 1, end - at - 1), "path", "string", {});
  }
  for (const QueryParameter& one : route.query) {
    add_parameter(writer, one.name, "query", one.type, one.meaning);
  }
  writer.end_array();
}

void add_body(json::Writer& writer, const ApiRoute& route) {
  if (route.body.empty()) return;
  writer.name("requestBody").begin_object().name("content").begin_object();
  writer.name("application/json").begin_object().name("schema").begin_object();
  writer.member("type", "object").name("properties").begin_object();
  for (const QueryParameter& one : route.body) {
    writer.name(one.name).begin_object().member("type", one.type);
    writer.member("description", one.meaning).end_object();
  }
  writer.end_object().end_object().end_object().end_object().end_object();
}

void add_response(json::Writer& writer, std::string_view status, std::string_view meaning,
                  std::string_view type, std::string_view schema) {
  writer.name(status).begin_object().member("description", meaning);
  writer.name("content").begin_object().name(type).begin_object();
  writer.name("schema").begin_object();
  if (schema == "problem") {
    writer.member("$ref", "#/components/schemas/problem");
  } else {
    writer.member("type", "object");
    if (!schema.empty()) {
      writer.name("properties").begin_object().name("schema").begin_object();
      writer.member("const", "semel.v1." + std::string(schema)).end_object().end_object();
    }
  }
  writer.end_object().end_object().end_object().end_object();
}

void add_operation(json::Writer& writer, const ApiRoute& route) {
  std::string method(route.method);
  for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
  writer.name(method).begin_object().member("operationId", route.operation);
  writer.member("summary", route.meaning).member("x-semel-role", core::to_string(route.role));
  if (route.claims) writer.member("x-semel-claims", true);
  add_parameters(writer, route);
  add_body(writer, route);
  writer.name("responses").begin_object();
  add_response(writer, "200", "The answer.", "application/json", route.schema);
  if (!route.begun.empty()) {
    add_response(writer, "202", "It has begun.", "application/json", route.begun);
  }
  if (!route.too_much.empty()) {
    add_response(writer, "422", route.too_much, "application/problem+json", "problem");
  }
  add_response(writer, "default", "An error.", "application/problem+json", "problem");
  writer.end_object().end_object();
}

void add_components(json::Writer& writer) {
  writer.name("components").begin_object();
  writer.name("securitySchemes").begin_object().name("token").begin_object();
  writer.member("type", "http").member("scheme", "bearer").end_object().end_object();
  writer.name("schemas").begin_object().name("problem").begin_object().member("type", "object");
  writer.name("properties").begin_object();
  for (const char* name : {"type", "title", "detail", "code", "fix", "docs"}) {
    writer.name(name).begin_object().member("type", "string").end_object();
  }
  writer.name("status").begin_object().member("type", "integer").end_object();
  writer.end_object().end_object().end_object().end_object();
}

}  // namespace

std::string openapi_json() {
  json::Writer writer;
  writer.begin_object().member("openapi", "3.1.0").name("info").begin_object();
  writer.member("title", "Semel").member("version", version()).end_object();
  // Relative to this document's address, so that it also works behind a path prefix.
  writer.name("servers").begin_array().begin_object().member("url", "../").end_object().end_array();
  writer.name("security").begin_array().begin_object().name("token").begin_array().end_array();
  writer.end_object().begin_object().end_object().end_array();
  writer.name("paths").begin_object();
  for (const auto& [path, routes] : routes_by_path()) {
    writer.name(path).begin_object();
    for (const ApiRoute* route : routes) add_operation(writer, *route);
    writer.end_object();
  }
  writer.end_object();
  add_components(writer);
  writer.end_object();
  return writer.text();
}

}  // namespace semel::admin
