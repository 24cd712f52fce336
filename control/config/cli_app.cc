#include "control/config/cli_app.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include "base/log.h"
#include "base/shortage.h"
#include "base/unique_fd.h"
#include "control/config/toml_config.h"
#include "control/config/version.h"

namespace splitnic::control {

Refusal refuse(int exit_code, const std::string& program, const std::string& why) {
  std::string line = program + ": " + why;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // one line, whatever was typed
  }
  return {exit_code, line + "\n"};
}

int print_text(int exit_code, const std::string& text) {
  if (exit_code == kExitOk) {
    std::fputs(text.c_str(), stdout);
  } else {
    std::fputs((std::string(base::error_priority()) + text).c_str(), stderr);
  }
  return exit_code;
}

std::unique_ptr<CLI::App> make_app(const std::string& name, const std::string& description) {
  auto app = std::make_unique<CLI::App>(description, name);
  app->set_help_flag("--help,-h", "Print this help and exit");
  app->set_version_flag("-V,--version", version_text(name), "Print the version and exit");
  app->get_formatter()->column_width(32);
  return app;
}

void add_config_file(CLI::App& app) {
  app.set_config("--config", "", "Read options from FILE: the same names, TOML")->type_name("FILE");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.config_formatter(make_toml_config(app));
}

GivenOptions given_options(const CLI::App& app) {
  GivenOptions given;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_config_ptr()) {
      if (option->count() > 0) given.config_path = option->results().back();
    } else if (option->count() > 0 && option->results() != std::vector<std::string>{"false"}) {
      given.values[option->get_single_name()] = option->results();
    }
  }
  return given;
}

namespace {

base::Error empty_value(const std::string& option) {
  return base::Error(option + ": the value is empty: give one, or leave the option out");
}

}  // namespace

base::Status check_not_empty(const GivenOptions& given) {
  for (const auto& [option, values] : given.values) {
    if (std::ranges::count(values, "") > 0) return empty_value("--" + option);
  }
  return {};
}

base::Status check_commands(const CLI::App& app) {
  for (const CLI::App* at = &app; at != nullptr;) {
    const std::vector<CLI::App*> typed = at->get_subcommands();
    const CLI::App* const next = typed.empty() ? nullptr : typed.front();
    for (const CLI::Option* option : at->get_options()) {
      if (option->count() == 0) continue;
      if (next != nullptr) {
        return base::Error(at->get_name() + ": " + option->get_name() + " is in front of " +
                           next->get_name() + ": put it behind");
      }
      const bool is_blank = std::ranges::count(option->results(), "") > 0;
      if (is_blank && !option->get_positional()) return empty_value(option->get_name());
    }
    at = next;
  }
  return {};
}

// The error begins with the name of its option.
std::string with_place(const CLI::App& app, const std::string& error) {
  const std::size_t end = error.find_first_of(": ");
  if (!error.starts_with("--") || end == std::string::npos) return error;
  const auto at = place_in_config(app, error.substr(2, end - 2));
  return at ? "in the configuration file, " + error_at(*at, error).text() : error;
}

// Refuses a file of --config that CLI11 could not read, for which it throws FileError. A service
// that ends with kExitUsage is not started again, so a shortage is no such error.
Refusal refuse_config(const CLI::App& app) {
  const CLI::Option* const config = app.get_config_ptr();
  const std::string path = config == nullptr ? "" : config->as<std::string>();
  const base::UniqueFd folder(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (folder.valid()) {
    return refuse(kExitUsage, app.get_name(), "--config: " + path + ": it is a folder");
  }
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const int error = file.valid() ? EAGAIN : errno;
  const bool may_pass = file.valid() || base::is_shortage(error);
  const std::string hint =
      error == EACCES ? ": make it readable for the user of this program, by chown or chmod" : "";
  return refuse(may_pass ? kExitFailed : kExitUsage, app.get_name(),
                "--config: " + path + ": " + std::generic_category().message(error) + hint);
}

std::optional<Refusal> run_parser(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Refusal{kExitOk, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return Refusal{kExitOk, std::string(version.what()) + "\n"};
  } catch (const CLI::Success&) {
    return Refusal{kExitOk, app.help()};
  } catch (const CLI::FileError&) {
    return refuse_config(app);
  } catch (const CLI::Error& error) {
    return refuse(kExitUsage, app.get_name(), std::string(error.what()) + " (see --help)");
  } catch (const std::exception& error) {  // reading has failed, or there is no memory
    return refuse(kExitFailed, app.get_name(), "reading the options: " + std::string(error.what()));
  }
  return std::nullopt;
}

std::string with_default(std::string text, const std::string& value) {
  return std::move(text) + " (default " + value + ")";
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& into,
                          const std::string& help, const std::string& type) {
  return app.add_option(name, into, help)->type_name(type)->allow_extra_args(false);
}

CLI::Option* add_switch_off(CLI::App& app, const std::string& name, bool& into,
                            const std::string& help) {
  return app.add_flag_callback(
      name, [&into] { into = false; }, help);
}

}  // namespace splitnic::control
