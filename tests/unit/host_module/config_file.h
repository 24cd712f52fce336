// A file of settings that is there as long as this.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace splitnic::host {

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) {
    static int number = 0;
    path_ = ::testing::TempDir() + "splitnic-host-" + std::to_string(::getpid()) + "-" +
            std::to_string(number++) + ".toml";
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace splitnic::host
