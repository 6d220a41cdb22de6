#include "targets/third_party/look_up.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace assay {

std::string look_up(const std::string& program) {
  namespace fs = std::filesystem;
  const auto runs = [](const fs::path& path) {
    return fs::is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos)
    return runs(program) ? fs::absolute(program).string() : "";
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && runs(fs::path(folder) / program))
      return (fs::path(folder) / program).string();
  }
  return "";
}

}  // namespace assay
