# cmake -D IN=defaults.toml -D OUT=defaults_toml.cc -P embed_defaults.cmake : the file as a string in the program.
file(READ "${IN}" text)
if(text MATCHES "\\)toml\"")
  message(FATAL_ERROR "${IN} contains the end mark of the raw string")
endif()
file(WRITE "${OUT}" "#include \"harness/plan/config.h\"\n\nnamespace proctor {\n\n"
     "std::string_view embedded_defaults() { return R\"toml(${text})toml\"; }\n\n}  // namespace proctor\n")
