// Loads a shared library at run time and resolves a table of its functions. Example:
//
//   struct Api {
//     int (*init)(unsigned flags);
//     const char* (*error_name)(int);
//   };
//   constexpr std::array kSymbols{symbol<&Api::init>("xyzInit"), symbol<&Api::error_name>("xyzErrorName")};
//
//   std::string load(Api& api) {
//     const SharedLibrary library("libxyz.so.1");
//     if (!library.loaded()) return library.error();
//     const char* missing = library.find_all(kSymbols, api);
//     return missing == nullptr ? "" : "symbol_missing:" + std::string(missing);
//   }
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <string>

namespace proctor {

// A row of the table: the name of a function, and the member of Api that stores its address.
template <typename Api>
struct Symbol {
  const char* name;
  void (*set)(Api& api, void* address);
};

template <auto kMember>
struct SymbolMember;
template <typename Api, typename Function, Function* Api::*kMember>
struct SymbolMember<kMember> {
  static constexpr Symbol<Api> symbol(const char* name) {
    return {name, [](Api& api, void* address) { api.*kMember = reinterpret_cast<Function*>(address); }};
  }
};

template <auto kMember>
constexpr auto symbol(const char* name) {
  return SymbolMember<kMember>::symbol(name);
}

// A loaded library. It is never unloaded, because drivers and collective libraries have threads.
class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) error_ = last_error();
  }

  bool loaded() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }  // message of the loader, or ""
  void* handle() const { return handle_; }

  // Returns the path of the file that was loaded.
  std::string path() const {
    ::link_map* map = nullptr;
    return ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
  }

  // Returns false if the function does not exist. The member is null then.
  template <typename Api>
  bool find(const Symbol<Api>& wanted, Api& api) const {
    void* const address = ::dlsym(handle_, wanted.name);
    wanted.set(api, address);
    return address != nullptr;
  }

  // Returns the name of the first missing function, or null. last_error() has the message of the loader.
  template <typename Symbols, typename Api>
  const char* find_all(const Symbols& symbols, Api& api) const {
    for (const auto& wanted : symbols) {
      if (!find(wanted, api)) return wanted.name;
    }
    return nullptr;
  }

  // Returns the last error in this thread and clears it.
  static std::string last_error() {
    const char* const error = ::dlerror();
    return error != nullptr ? error : "";
  }

 private:
  void* handle_;
  std::string error_;
};

}  // namespace proctor
