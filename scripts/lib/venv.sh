# make_venv DIR REQUIREMENTS [PIP_OPTION...]: a Python environment with pinned packages, remade when the pins
# change.
make_venv() {
  local dir=$1 requirements=$2
  shift 2
  if ! cmp -s "$requirements" "$dir/requirements.txt"; then
    python3 -m venv --clear "$dir"
    "$dir/bin/pip" install --quiet --disable-pip-version-check "$@" -r "$requirements"
    cp "$requirements" "$dir/requirements.txt"
  fi
}
