# build_preset PRESET [TARGET...]: configures (once) and builds a CMake preset.
build_preset() {
  local preset=$1
  shift
  local log="build/$preset/configure.log"
  mkdir -p "build/$preset"
  if [ ! -f "build/$preset/build.ninja" ]; then
    if ! cmake --preset "$preset" >"$log" 2>&1; then
      cat "$log" >&2
      return 1
    fi
  fi
  if [ "$#" -gt 0 ]; then
    cmake --build "build/$preset" --target "$@"
  else
    cmake --build "build/$preset"
  fi
}
