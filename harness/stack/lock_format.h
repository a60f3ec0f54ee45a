// Checks the format of values in a lock. All values are inserted into Dockerfiles and shell lines, so the rules also
// prevent injection.
#pragma once

#include <string_view>

namespace proctor {

bool is_stack_name(std::string_view text);       // "cuda-13.1"; also a part of an image's name
bool is_sha256(std::string_view text);           // 64 lower-case hex digits
bool is_image_digest(std::string_view text);     // "sha256:" and 64 lower-case hex digits
bool is_key_fingerprint(std::string_view text);  // 40 upper-case hex digits
bool is_snapshot(std::string_view text);         // "20261120T000000Z"
bool is_date(std::string_view text);             // "2026-11-20"
bool is_image_with_tag(std::string_view text);   // "ubuntu:24.04"; not ":latest"
bool is_package_name(std::string_view text);     // Debian Policy 5.6.1
bool is_wheel_name(std::string_view text);       // name of a Python package: letters, digits and . _ -
bool is_exact_version(std::string_view text);    // Debian Policy 5.6.12
bool is_web_address(
    std::string_view text);                 // http:// or https://, without characters that a shell interprets
bool is_plain_word(std::string_view text);  // letters, digits, and . _ / -
bool is_variable_name(std::string_view text);
bool is_size(std::string_view text);        // "8g"
bool is_label_text(std::string_view text);  // one line without quotes, $ and backslashes

}  // namespace proctor
