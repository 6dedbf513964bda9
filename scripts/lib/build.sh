# Configuring and building CMake presets, quietly unless something is wrong.

# configure_preset PRESET [-DOPTION=VALUE...]: quick when nothing changed.
configure_preset() {
  local preset=$1
  shift
  local log="build/$preset/configure.log"
  mkdir -p "build/$preset"
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}

# build_preset PRESET [TARGET...]: builds a configured preset; everything without targets.
build_preset() {
  local preset=$1
  shift
  if [ "$#" -gt 0 ]; then
    cmake --build "build/$preset" --target "$@"
  else
    cmake --build "build/$preset"
  fi
}
