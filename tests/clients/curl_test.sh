#!/bin/bash
# The server through curl: what goes over the wire, byte for byte where that matters.
# shellcheck disable=SC2317 # `finish` is called by the trap
set -euo pipefail

program=$1
models=$2
folder=$(mktemp -d)
finish() {
  if [[ -n ${server:-} ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap finish EXIT

fail() {
  echo "curl_test: $*" >&2
  exit 1
}

mkfifo "$folder/says"
"$program" serve --listen 127.0.0.1:0 --json --model "$models/qwen3-f32.gguf" \
  --max-body-mb 1 --cors-origin https://page.example >"$folder/says" &
server=$!
exec 3<"$folder/says"
url=
while read -r -u 3 line; do
  if [[ $line =~ \"url\":\ *\"(http[^\"]*)\" ]]; then url=${BASH_REMATCH[1]}; fi
  if [[ $line == *ready* ]]; then break; fi
done
[[ -n $url ]] || fail "the server did not start"

get() { curl --silent --show-error --max-time 60 "$@"; }
status() {
  get --output "$folder/body" --dump-header "$folder/head" --write-out '%{http_code}' "$@"
}
expect() { # WHAT WANTED GOT
  [[ $2 == "$3" ]] || fail "$1: wanted $2, got $3: $(head -c 600 "$folder/body")"
}
body_has() { grep -q -- "$1" "$folder/body" || fail "no $1 in $(head -c 600 "$folder/body")"; }
head_has() { grep -qi -- "$1" "$folder/head" || fail "no $1 in $(cat "$folder/head")"; }

chats=$url/v1/chat/completions
chat='{"messages":[{"role":"user","content":"Hi"}],"max_tokens":5,"temperature":0'

expect health 200 "$(status "$url/health")"
expect ready 200 "$(status "$url/ready")"
expect "HEAD of health" 200 "$(status --head "$url/health")"
expect metrics 200 "$(status "$url/metrics")"
head_has 'content-type: text/plain; version=0.0.4'
expect openapi 200 "$(status "$url/openapi.json")"
expect chat 200 "$(status "$chats" -H 'Content-Type: application/json' -d "$chat}")"
head_has 'x-request-id:'

# A stream: its type, its events, its end.
expect stream 200 "$(status --no-buffer "$chats" -d "$chat,\"stream\":true}")"
head_has 'content-type: text/event-stream'
head_has 'cache-control: no-cache'
grep -q '^data: \[DONE\]$' "$folder/body" || fail "no end of $(tail -c 300 "$folder/body")"
if grep -v -e '^data: ' -e '^$' -e '^:' "$folder/body"; then fail "a line that is no event"; fi

# Errors have their status and a message.
expect "no such route" 404 "$(status "$url/v1/nothing")"
body_has '"error"'
expect "wrong method" 405 "$(status -X DELETE "$chats")"
head_has 'allow: .*POST'
expect "no JSON" 400 "$(status "$chats" -d '{"messages":')"
body_has '"type":"invalid_request_error"'
expect "a field nobody knows" 400 "$(status "$chats" -d "$chat,\"temprature\":1}")"
body_has '"param":"temprature"'
expect "an empty body" 400 "$(status -X POST "$chats")"
head -c 2000000 /dev/zero | tr '\0' ' ' >"$folder/large"
expect "a large body" 413 "$(status "$chats" --data-binary "@$folder/large")"
expect "a large body in chunks" 413 \
  "$(status "$chats" -H 'Transfer-Encoding: chunked' --data-binary "@$folder/large")"
printf '%s' "$chat}" | gzip >"$folder/packed"
expect "a packed body" 200 \
  "$(status "$chats" -H 'Content-Encoding: gzip' --data-binary "@$folder/packed")"
gzip -9 <"$folder/large" >"$folder/bomb"
expect "a body that unpacks to much" 413 \
  "$(status "$chats" -H 'Content-Encoding: gzip' --data-binary "@$folder/bomb")"
expect "a body packed otherwise" 415 \
  "$(status "$chats" -H 'Content-Encoding: br' --data-binary "@$folder/packed")"
expect "a base URL that has /v1 twice" 404 "$(status "$url/v1/v1/models")"
body_has "such as $url/v1"
deep=$(printf '[%.0s' {1..5000})
expect "a deep body" 400 "$(status "$chats" -d "{\"messages\":$deep")"

# Other pages: only the one that may.
expect preflight 204 "$(status -X OPTIONS "$chats" \
  -H 'Origin: https://page.example' -H 'Access-Control-Request-Method: POST')"
head_has 'access-control-allow-origin: https://page.example'
status "$url/v1/models" -H 'Origin: https://other.example' >"$folder/code"
if grep -qi 'access-control-allow-origin' "$folder/head"; then fail "another page may ask"; fi

# It ends when it is told to, and well.
kill -TERM "$server"
outcome=0
wait "$server" || outcome=$?
server=
[[ $outcome == 0 ]] || fail "it ended with $outcome"
echo "curl_test: all is well"
