# shellcheck shell=bash
# Builds programs the way users run them. Sourced in the root of the repository, under set -e, by
# scripts that run what they build: ./demo and examples/memory/run.

release_preset() { # clang's, or that of g++ where there is no clang
  if command -v clang++-19 >/dev/null; then echo release; else echo gcc; fi
}

release_program() { # NAME of a program that was built: prints its path
  find "build/$(release_preset)" -type f -name "$1" -perm -u+x | head -n 1
}

# Sets up and builds, and says every tenth of the steps. Returns 2 when the build fails.
build_release() { # WHO (says so) LOG TARGET...
  local who=$1 log=$2 preset jobs=${WINDROW_JOBS:-$(nproc)}
  shift 2
  ./setup
  mkdir -p "$(dirname "$log")"
  preset=$(release_preset)
  # Measured with clang: 6 to 10 core minutes, by the machine. g++ compiles each file alone.
  local core_minutes=(6 10)
  if [[ $preset == gcc ]]; then core_minutes=(20 35); fi
  echo "$who: building, $jobs compilers at a time: $((core_minutes[0] / jobs + 1)) to" \
    "$((core_minutes[1] / jobs + 1)) minutes the first time ($log has the details)"
  if ! {
    cmake --preset "$preset" &&
      cmake --build "build/$preset" -j "$jobs" --target "$@"
  } 2>&1 | show_build_progress "$who" "$log"; then
    tail -n 40 "$log" >&2
    echo "$who: the build failed; all of it: $log" >&2
    return 2
  fi
}

show_build_progress() { # WHO LOG
  awk '{ print > log_file; fflush(log_file) }
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), step, "/")
      tenth = int(10 * step[1] / step[2])
      if (tenth > said && tenth < 10) {
        said = tenth
        print who ": " 10 * tenth " % built"
        fflush()
      }
    }' who="$1" log_file="$2"
}
