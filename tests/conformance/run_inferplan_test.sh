#!/bin/sh
# Runs `inferplan test` on a folder of ONNX backend tests, with the known failures of
# expected_failures.txt and the tolerances of tolerances.txt.
#   run_inferplan_test.sh INFERPLAN FOLDER [flags...]
# FOLDER may start with "shared:", the data beside the source tree (or in $INFERD_SHARED).
# Exit status 77, which CTest reports as skipped, where the folder is absent.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
inferplan=$1
folder=$2
shift 2
case $folder in
  shared:*) folder=${INFERD_SHARED:-$here/../../../shared}/${folder#shared:} ;;
esac
if [ ! -d "$folder" ]; then
  echo "skipped: $folder does not exist"
  exit 77
fi
exec "$inferplan" test "$folder" --expect "$here/expected_failures.txt" \
  --tolerances "$here/tolerances.txt" "$@"
