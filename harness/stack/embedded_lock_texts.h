// docker/stacks/NAME.toml as text in the program (cmake/ProctorEmbed.cmake).
#pragma once

#include <string_view>

namespace proctor {

std::string_view embedded_cpu_sim();
std::string_view embedded_cuda_12();
std::string_view embedded_cuda_13();
std::string_view embedded_xpu_lts();
std::string_view embedded_xpu_rolling();

}  // namespace proctor
