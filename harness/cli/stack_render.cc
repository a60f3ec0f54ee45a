// proctor stack render: makes Dockerfiles and container files from the locks, or checks that the committed ones
// are the same.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "harness/base/read_file.h"
#include "harness/base/replace_file.h"
#include "harness/cli/stack.h"
#include "harness/journal/exit_code.h"
#include "harness/stack/render_stack.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

struct RenderRequest {
  std::string directory = "docker";
  std::vector<std::string> stacks;
  bool check = false;
};

Result<std::vector<RenderedFile>> render(const RenderRequest& request) {
  const std::string locks = (fs::path(request.directory) / "stacks").string();
  auto names = request.stacks.empty() ? stack_names(locks) : request.stacks;
  if (!names) return names.error();
  std::vector<RenderedFile> files;
  for (const auto& name : *names) {
    const auto lock = read_stack_lock(locks, name);
    if (!lock) return lock.error();
    for (auto& file : render_stack(*lock)) files.push_back(std::move(file));
  }
  files.push_back(render_profile());
  return files;
}

Result<void> write(const fs::path& path, const RenderedFile& file) {
  std::error_code ec;
  fs::create_directories(path.parent_path(), ec);
  if (ec) return Error::system("make " + path.parent_path().string(), ec.value());
  return replace_file(path, file.text);
}

// 1 when a file differs from what its lock renders to.
int check(const RenderRequest& request, const std::vector<RenderedFile>& files) {
  int differing = 0;
  for (const auto& file : files) {
    const std::string path = (fs::path(request.directory) / file.path).string();
    const auto text = read_file(path);
    if (text && *text == file.text) continue;
    ++differing;
    std::cout << fmt::format("{}: {}\n", path,
                             text ? "differs from what its lock renders to" : "cannot " + text.error().what);
  }
  if (differing == 0) {
    std::cout << fmt::format("{} files match their locks\n", files.size());
    return kExitGreen;
  }
  std::cout << fmt::format("Write them again: proctor stack render --dir {}\n", request.directory);
  return kExitRed;
}

int run(const RenderRequest& request) {
  const auto files = render(request);
  if (!files) return fail_stack(files.error());
  if (request.check) return check(request, *files);
  for (const auto& file : *files) {
    const fs::path path = fs::path(request.directory) / file.path;
    if (const auto written = write(path, file); !written) return fail_stack(written.error());
    std::cout << path.string() << '\n';
  }
  return kExitGreen;
}

}  // namespace

void add_stack_render(CLI::App& stack, Action& action) {
  CLI::App* command = stack.add_subcommand("render", "Write Dockerfiles and container files from the locks");
  const auto request = std::make_shared<RenderRequest>();
  command->add_option("STACK", request->stacks, "Names of stacks in DIR/stacks (default: all)")
      ->type_name("STACK");
  command
      ->add_option("--dir", request->directory,
                   "Directory of stacks/, to which the files are written (default: docker)")
      ->type_name("DIR");
  command->add_flag("--check", request->check, "Write nothing; exit with 1 if a file differs");
  command->callback([request, &action] { action = [request] { return run(*request); }; });
}

}  // namespace proctor::cli
