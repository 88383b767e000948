# bash completion for windrow. Made of --help by generate.py.

_windrow() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'run exec retry export serve status compare inspect doctor tokenize memory sessions config keys probe sim-upstream rpc-worker --version --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == config ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'show --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == keys ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'add list --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == memory ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'retain recall consolidate show --help' -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ $before == sessions ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'list show export --help' -- "$word")
    return
  fi
  local flags='--json --help'
  case ${COMP_WORDS[1]} in
    run | config) flags='-o --output --sample --preview --no-resume --format --prompt --prompt-file --system --embed --id --schema --max-tokens --temperature --delimiter --limit --strict --retry-failed --fresh --dry-run --model --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --upstream --model-alias --api-key-env --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --set --unknown-fields --max-tokens-default --call-reasoning --keep-truncated --schema-unknown --no-dedupe --cache --rows-max --batch-tokens --step-ms --ordered --grace --report --no-summary --json --quiet --color --no-color --help' ;;
    exec) flags='-o --output --input --arg --trace --limit --strict --retry-failed --fresh --model --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --upstream --model-alias --api-key-env --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --program-memory-mb --program-instructions --program-seconds --program-tokens --program-contexts --program-branches --programs-in-flight --program-model --program-embed-model --max-tokens-default --schema-unknown --rows-max --batch-tokens --step-ms --ordered --grace --report --no-summary --json --quiet --color --no-color --help' ;;
    retry) flags='--only --input --prompt --prompt-file --system --embed --id --schema --max-tokens --temperature --delimiter --limit --strict --model --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --upstream --model-alias --api-key-env --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --set --unknown-fields --max-tokens-default --call-reasoning --keep-truncated --schema-unknown --no-dedupe --cache --rows-max --batch-tokens --step-ms --ordered --grace --report --no-summary --json --quiet --color --no-color --help' ;;
    serve) flags='--load --memory --keep-loaded --unload-idle-s --load-wait-s --tokenizer --listen --data-dir --max-batches --max-batch-rows --mixed-models --max-file-mb --max-files-mb --memory-model --memory-embed --memory-set --api-keys --insecure-no-keys --tls-cert --tls-key --cors-origin --max-body-mb --keep-items-mb --max-queue --refusal-patience --max-linger-us --metrics-open --log --log-prompts --session-upstream --session-history --session-match --session-attempts --session-orphans --session-rows --session-new-rows --session-routed-experts --session-indexer-topk --session-moe-layers --sessions-max --session-idle-s --session-mb-max --sessions-mb-max --session-turns-max --session-body-mb --session-reply-mb --model --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --upstream --model-alias --api-key-env --concurrency --serial --rpm --tpm --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --set --unknown-fields --max-tokens-default --call-reasoning --schema-unknown --no-dedupe --rows-max --batch-tokens --step-ms --grace --json --quiet --color --no-color --help' ;;
    status) flags='--watch --prices --histogram --no-histogram --json --help' ;;
    doctor) flags='--model --ctx --kv-type --device --gpu-layers --listen --data-dir --api-keys --insecure-no-keys --rows-max --json --help' ;;
    compare) flags='--key --examples --json --help' ;;
    export) flags='--input --id --delimiter --quiet --help' ;;
    tokenize) flags='--model --messages --chat-template --decode --add-special --count --json --help' ;;
    memory) flags='--tag --embed --max-tokens --verbose --model --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --upstream --model-alias --api-key-env --concurrency --serial --rpm --tpm --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --memory-model --memory-embed --memory-set --rows-max --batch-tokens --step-ms --json --quiet --color --no-color --help' ;;
    sessions) flags='-o --output --max-seq-len --records --url --api-key-env --json --help' ;;
    keys) flags='--rpm --tpm --in-flight --priority --weight --admin --json --help' ;;
    probe) flags='--upstream --model --api-key-env --in-flight --seconds-each --requests-each --max-tokens --prompt --input --json --help' ;;
    sim-upstream) flags='--listen --address --port --instant --stats --model --context --ollama --want-key --slots --serial --knee --queue --request-ms --prompt-token-us --token-ms --prefix-blocks --answer --answer-tokens --answer-spread --embedding-size --token-ids --end-token --weight-version --incremental-streaming --routing-layers --routing-topk --routing-experts --routing-drift --routing-twice --indexer-layers --indexer-topk --fault --limit-headers --rpm --tpm --seed --help' ;;
    rpc-worker) flags='--listen --device --threads --insecure-network --help' ;;
    inspect) flags='--rpc --json --help' ;;
  esac
  case $before in
    --format) mapfile -t COMPREPLY < <(compgen -W 'jsonl csv tsv json' -- "$word") && return ;;
    --unknown-fields) mapfile -t COMPREPLY < <(compgen -W 'refuse ignore' -- "$word") && return ;;
    --schema-unknown) mapfile -t COMPREPLY < <(compgen -W 'annotate refuse' -- "$word") && return ;;
    --session-upstream) mapfile -t COMPREPLY < <(compgen -W 'auto sglang sglang-chat vllm' -- "$word") && return ;;
    --session-history) mapfile -t COMPREPLY < <(compgen -W 'linear tree' -- "$word") && return ;;
    --session-match) mapfile -t COMPREPLY < <(compgen -W 'strict loose_tool_call role_content_only' -- "$word") && return ;;
    --session-orphans) mapfile -t COMPREPLY < <(compgen -W 'stop commit' -- "$word") && return ;;
    --session-rows) mapfile -t COMPREPLY < <(compgen -W 'first last' -- "$word") && return ;;
    --kv-type) mapfile -t COMPREPLY < <(compgen -W 'f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0' -- "$word") && return ;;
    --flash-attn) mapfile -t COMPREPLY < <(compgen -W 'auto on off' -- "$word") && return ;;
    --kv-cache) mapfile -t COMPREPLY < <(compgen -W 'unified split' -- "$word") && return ;;
    --split-mode) mapfile -t COMPREPLY < <(compgen -W 'layer row none' -- "$word") && return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$word") && return ;;
    --priority) mapfile -t COMPREPLY < <(compgen -W 'interactive normal batch' -- "$word") && return ;;
    --answer) mapfile -t COMPREPLY < <(compgen -W 'text echo json' -- "$word") && return ;;
    --limit-headers) mapfile -t COMPREPLY < <(compgen -W 'retry-after x-ratelimit none' -- "$word") && return ;;
    -o|--output|--prompt-file|--schema|--cache|--trace|--report|--tokenizer|--tls-cert|--tls-key|--log|--prices|--key|--data-dir|--api-keys|--chat-template|--lora|--input|--model)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "${word#*=}")
      return
      ;;
    --sample|--preview|--system|--temperature|--set|--call-reasoning|--arg|--limit|--max-cost|--reply-memory-mb|--program-memory-mb|--program-instructions|--program-seconds|--program-tokens|--program-contexts|--program-branches|--programs-in-flight|--program-model|--program-embed-model|--max-tokens-default|--grace|--load|--memory|--keep-loaded|--unload-idle-s|--load-wait-s|--max-batches|--max-batch-rows|--max-file-mb|--max-files-mb|--cors-origin|--max-body-mb|--keep-items-mb|--max-queue|--refusal-patience|--max-linger-us|--session-attempts|--session-moe-layers|--sessions-max|--session-idle-s|--session-mb-max|--sessions-mb-max|--session-turns-max|--session-body-mb|--session-reply-mb|--only|--id|--delimiter|--examples|--tag|--embed|--ctx|--gpu-layers|--tensor-split|--rpc|--pooling|--model-alias|--concurrency|--request-timeout|--max-attempts|--max-batch-size|--batch-window-ms|--memory-model|--memory-embed|--memory-set|--rows-max|--batch-tokens|--step-ms|--max-seq-len|--url|--weight|--upstream|--api-key-env|--in-flight|--seconds-each|--requests-each|--max-tokens|--prompt|--address|--port|--context|--want-key|--slots|--knee|--queue|--request-ms|--prompt-token-us|--token-ms|--prefix-blocks|--answer-tokens|--answer-spread|--embedding-size|--token-ids|--end-token|--weight-version|--routing-layers|--routing-topk|--routing-experts|--indexer-layers|--indexer-topk|--fault|--rpm|--tpm|--seed|--listen|--device|--threads) return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}

complete -F _windrow windrow
