// The files of control/metrics/page, which are part of the program: docs/page.md. The build writes
// the source (cmake/embed_text.cmake).
#pragma once

#include <span>
#include <string_view>

namespace splitnic::control {

struct PageFile {
  std::string_view target;  // "/page.css"
  std::string_view type;    // Content-Type
  std::string_view text;
};
std::span<const PageFile> page_files();

}  // namespace splitnic::control
