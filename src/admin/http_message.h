// The names of the HTTP server, as the API and the pages use them.
#pragma once

#include "http_server/http_message.h"
#include "http_server/http_tls.h"

namespace semel::admin {

using http::HttpHandler;
using http::HttpReply;
using http::HttpRequest;
using http::HttpResponse;
using http::HttpTask;
using http::HttpTls;
using http::internal_error;

}  // namespace semel::admin
