# check_install.sh BUILD BIN LIB INCLUDE: installs the build below a new prefix, from which
# nothing in the build folder can be found, and records a program there.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset MEMVIZ_SHIM
cmake --install "$1" --prefix "$folder/prefix" >"$folder/log"
test -f "$folder/prefix/$3/memviz/libmemviz_capture.so"
test -f "$folder/prefix/$4/memviz.h"
cd "$folder"
memviz=$folder/prefix/$2/memviz
"$memviz" run -q -o preload.bin -- sh -c 'echo "$LD_PRELOAD"' >preload
grep -qF "$(realpath "$folder/prefix/$3")/memviz/libmemviz_capture.so" preload
# If the library is missing, the message names the folder where it should be.
rm "$folder/prefix/$3/memviz/libmemviz_capture.so"
if "$memviz" run true 2>message; then exit 1; fi
grep -q "or in [./]*$3/memviz" message
