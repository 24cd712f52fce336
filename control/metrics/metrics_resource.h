// The resources at the address of --metrics, and whether a request for one may have come from the
// page of a stranger: docs/metrics.md, docs/page.md. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace splitnic::control {

struct MetricsResource {
  enum class Kind : std::uint8_t { kMetrics, kState, kFile };
  Kind kind = Kind::kMetrics;
  std::string_view type;  // Content-Type
  std::string_view file;  // kFile: the text; the others are made of a snapshot
};
// Returns the resource with exactly this target.
std::optional<MetricsResource> resource_at(std::string_view target);

// Whether a browser sends this Host when its user addresses this machine: localhost, a name that
// ends in .localhost or an address, each with or without a port. Anybody can have a name of theirs
// resolve to 127.0.0.1 (DNS rebinding); a browser then sends that name.
bool is_local_host(std::string_view host);

// Sent with every response, for browsers: nothing from elsewhere, nothing in a frame of others,
// nothing for pages of others, and no script in the text of names.
inline constexpr auto kSecurityHeaders =
    std::to_array<std::pair<std::string_view, std::string_view>>({
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
         "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
        {"Referrer-Policy", "no-referrer"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
    });

}  // namespace splitnic::control
