#!/bin/bash
# Runs tests: `run.sh FILTER` or `run.sh --skip TARGET`. Of a failed run it says the failures once more at the end, where
# they are seen. Tests of the whole program share the machine with each other; where at most three of them fail they are
# run once more, alone, and their names are printed whatever comes of it. A second failure is final.
set -u
log=.build/last-test.log
mkdir -p .build

if [ "$1" = --skip ]; then arguments=(--skip "$2"); else arguments=(--filter "$1"); fi
swift test "${arguments[@]}" 2>&1 | tee "$log"
[ "${PIPESTATUS[0]}" = 0 ] && exit 0

failed=$(grep -aE '^✘ Test (run )?' "$log" | grep -aE ' failed after ' | grep -avE '^✘ Test run ')
names=$(sed -nE 's/^✘ Test ([A-Za-z0-9_]+)\(.*/\1/p' <<< "$failed" | sort -u)
echo
echo "What failed:"
grep -aE -A3 '^✘|error:|Fatal error|Sanitizer:' "$log" | tail -n 60

# Wrong bytes, a sanitizer's report and a crash get no second chance, and neither do many failures.
if grep -aqE 'alike as far as byte|is wrong at|Sanitizer:|Fatal error' "$log"; then exit 1; fi
count=$(wc -w <<< "$names")
if [ "$1" = --skip ] || [ -z "$failed" ] || [ "$count" != "$(wc -l <<< "$failed")" ] || [ "$count" -gt 3 ] ||
  ! grep -aq '^✘ Test run with' "$log"; then
  exit 1
fi
echo
echo "FAILED BESIDE OTHERS, and run once more alone:" $names
swift test --skip-build --filter "/($(paste -sd '|' <<< "$names"))\\(" 2>&1 | tee -a "$log"
[ "${PIPESTATUS[0]}" = 0 ] || exit 1
echo "PASSED ALONE, AFTER A FAILURE:" $names
