// A machine made of files, from a table of a few lines: what doctor's tests examine.
//
//   cards     "0000:03:00.0 8086:e223 xe": address, id, driver ("-": none); Intel's get render nodes,
//   NVIDIA's
//             /dev/nvidiaN, all of them with mode 0660 and group 993 (render) and 0666, and links by path
//   driver    version of NVIDIA's module; libraries: of its libraries ("" there are none); model: of its
//   cards packages  "libze1 1.32.0-1": also makes the library that the package brings kernel, guc, toolkit,
//   cdi, glue_mode, image ("cuda-13", "nvidia 580"), container, id, library_path without   paths that are not
//   in dev.list; mode: of the render nodes; files, links: anything else; absent: files to remove
#pragma once

#include <filesystem>
#include <string>

#include "fixtures/simgpu/spec/toml.h"

namespace proctor {

class SimulatedHost {
 public:
  explicit SimulatedHost(const toml::table& table);
  ~SimulatedHost();
  SimulatedHost(const SimulatedHost&) = delete;
  SimulatedHost& operator=(const SimulatedHost&) = delete;

  std::string root() const { return root_.string(); }

 private:
  void file(const std::string& path, const std::string& text) const;
  void link(const std::string& path, const std::string& target) const;
  void node(const std::string& line, const std::string& path);
  void card(const std::string& address, const std::string& id, const std::string& driver);
  void cards();
  void nvidia();
  void packages();
  void the_rest();
  std::string text(const char* key, const std::string& otherwise = {}) const;
  std::vector<std::string> words(const char* key) const;

  const toml::table& table_;
  std::filesystem::path root_;
  std::string nodes_{};
  int render_nodes_ = 0;
  int nvidia_nodes_ = 0;
};

}  // namespace proctor
