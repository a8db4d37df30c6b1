#!/bin/bash
# Runs every fuzzer: `run.sh PROGRAM FOLDER seconds N` each for N seconds, `… minutes N` each for N minutes of processor
# time. What they learn goes to FOLDER/corpus, what they find to FOLDER/findings.
set -eu
program=$1 folder=$2 unit=$3 count=$4
seeds=$(dirname "$0")/Corpus
[ "$unit" = minutes ] && budget=$((count * 60)) || budget=$count
export SWIFT_BACKTRACE=enable=no
mkdir -p "$folder/findings"
for path in "$seeds"/*; do
  name=$(basename "$path") spent=0 runs=0
  mkdir -p "$folder/corpus/$name"
  while [ "$spent" -lt "$budget" ]; do
    log=$folder/$name.log
    before=$(awk '{ print int(($16 + $17) / 100) }' "/proc/$$/stat")
    if ! "$program" "$name" "$folder/corpus/$name" "$path" -max_total_time=$((budget - spent)) -timeout=20 \
      -max_len=4096 -print_final_stats=1 -artifact_prefix="$folder/findings/$name-" > "$log" 2>&1; then
      tail -40 "$log"
      echo "$name: a finding, see $folder/findings" >&2
      exit 1
    fi
    after=$(awk '{ print int(($16 + $17) / 100) }' "/proc/$$/stat")
    # Seconds of a clock are enough for a short run; a long one goes on until it has had its processor time.
    if [ "$unit" = minutes ]; then spent=$((spent + after - before)); else spent=$budget; fi
    runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log")))
  done
  echo "$name: $runs runs in $spent s, no finding"
done
