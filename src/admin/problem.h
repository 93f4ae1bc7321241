// Error answers of the API.
#pragma once

#include <span>
#include <string>

#include "admin/http_message.h"
#include "config/config.h"
#include "http_server/problem.h"

namespace semel::admin {

using http::problem;
using http::status_of;

// With the errors of a config as member `errors`, each with its place. Excerpts of the file are
// omitted.
HttpResponse problem_of_config(int status, const Error& error,
                               std::span<const config::Diagnostic> diagnostics);

// R344: the request itself is wrong.
HttpResponse bad_request(std::string message, std::string fix, int status = 400);
// R343: there is no such thing.
HttpResponse not_found(std::string message, std::string fix = {});

}  // namespace semel::admin
