// Creates the files of a machine from a short TOML table, for tests of doctor. Keys of the table:
//
//   cards      "0000:03:00.0 8086:e223 xe": address, id, driver ("-": none). Intel cards get render nodes with
//              mode 0660 and group 993 (render), and links by path. NVIDIA cards get /dev/nvidiaN with mode
//              0666. N is their position, or a fourth word: the number from the driver
//   driver     version of NVIDIA's module; libraries: version of its libraries ("": none)
//   model      name of the NVIDIA cards
//   packages   "libze1 1.32.0-1": also creates the library of the package
//   image      ("cuda-13", "nvidia 580"); kernel, guc, toolkit, cdi, glue_mode, container, id, library_path
//   mig        "gpu0/mig/gi7/ci0 67": a MIG instance of the driver; caps: more device nodes
//   without    paths that are not in dev.list; mode: mode of the render nodes
//   files      and links: anything else; absent: files to remove
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/temp_dir.h"
#include "harness/base/toml_reader.h"

namespace proctor {

class SimulatedHost {
 public:
  explicit SimulatedHost(const toml::table& table);
  SimulatedHost(const SimulatedHost&) = delete;
  SimulatedHost& operator=(const SimulatedHost&) = delete;

  std::string root() const { return root_.string(); }

 private:
  void file(const std::string& path, const std::string& text) const;
  void link(const std::string& path, const std::string& target) const;
  void node(const std::string& line, const std::string& path);
  void card(const std::string& address, const std::string& id, const std::string& driver, int minor);
  void cards();
  void nvidia();
  void packages();
  void the_rest();
  std::string text(const char* key, const std::string& otherwise = {}) const;
  std::vector<std::string> words(const char* key) const;

  const toml::table& table_;
  const TempDir root_{"/dev/shm"};  // in memory, because there are many small files
  std::string nodes_{};
  int render_nodes_ = 0;
  int nvidia_nodes_ = 0;
};

}  // namespace proctor
