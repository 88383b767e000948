# bash completion for windrow. Made of --help by generate.py.

_windrow() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local words='' flags='--help'
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words='run exec retry export serve status compare ps chat inspect doctor tokenize memory sessions config keys probe sim-upstream rpc-worker --version --help'
  elif ((COMP_CWORD == 2)); then
    case $before in
      memory) words='retain recall consolidate show --help' ;;
      sessions) words='list show export --help' ;;
      config) words='show --help' ;;
      keys) words='add list --help' ;;
    esac
  fi
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  case ${COMP_WORDS[1]} in
    run) flags='-o --output --sample --preview --no-resume --format --limit --retry-failed --fresh --dry-run --model --upstream --api-key-env --set --report --prompt --prompt-file --system --embed --id --schema --max-tokens --temperature --delimiter --strict --max-failures --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --model-alias --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --unknown-fields --max-tokens-default --call-reasoning --keep-truncated --schema-unknown --no-dedupe --cache --rows-max --batch-tokens --step-ms --ordered --grace --config --no-summary --json --quiet --color --no-color --help' ;;
    exec) flags='--input -o --output --arg --trace --limit --retry-failed --fresh --model --upstream --api-key-env --report --strict --max-failures --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --model-alias --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --program-memory-mb --program-instructions --program-seconds --program-tokens --program-contexts --program-branches --programs-in-flight --program-model --program-embed-model --max-tokens-default --schema-unknown --rows-max --batch-tokens --step-ms --ordered --grace --config --no-summary --json --quiet --color --no-color --help' ;;
    retry) flags='--only --input --limit --model --upstream --api-key-env --set --report --prompt --prompt-file --system --embed --id --schema --max-tokens --temperature --delimiter --strict --max-failures --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --model-alias --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --unknown-fields --max-tokens-default --call-reasoning --keep-truncated --schema-unknown --no-dedupe --cache --rows-max --batch-tokens --step-ms --ordered --grace --config --no-summary --json --quiet --color --no-color --help' ;;
    export) flags='-o --output --input --id --delimiter --quiet --help' ;;
    serve) flags='--model --upstream --api-key-env --listen --data-dir --api-keys --set --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --load --memory --keep-loaded --unload-idle-s --load-wait-s --chat-template --lora --pooling --model-alias --tokenizer --concurrency --serial --rpm --tpm --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --max-batches --max-batch-rows --mixed-models --max-file-mb --max-files-mb --memory-model --memory-embed --memory-set --insecure-no-keys --tls-cert --tls-key --cors-origin --max-body-mb --keep-items-mb --max-queue --refusal-patience --max-linger-us --metrics-open --log --log-prompts --session-upstream --session-history --session-match --session-attempts --session-orphans --session-rows --session-new-rows --session-routed-experts --session-indexer-topk --session-moe-layers --sessions-max --session-idle-s --session-mb-max --sessions-mb-max --session-turns-max --session-body-mb --session-reply-mb --unknown-fields --max-tokens-default --call-reasoning --schema-unknown --no-dedupe --rows-max --batch-tokens --step-ms --grace --config --json --quiet --color --no-color --help' ;;
    status) flags='--watch --prices --histogram --no-histogram --json --help' ;;
    compare) flags='--key --examples --json --help' ;;
    ps) flags='--url --api-key-env --json --help' ;;
    chat) flags='--url --api-key-env --system --model --set --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --max-tokens-default --config --quiet --color --no-color --help' ;;
    inspect) flags='--rpc --json --help' ;;
    doctor) flags='--model --listen --data-dir --api-keys --ctx --kv-type --device --gpu-layers --insecure-no-keys --rows-max --config --json --no-color --help' ;;
    tokenize) flags='--model --messages --chat-template --decode --add-special --count --json --help' ;;
    memory) flags='--tag --embed --max-tokens --verbose --model --upstream --api-key-env --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --model-alias --concurrency --serial --rpm --tpm --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --memory-model --memory-embed --memory-set --rows-max --batch-tokens --step-ms --config --json --quiet --color --no-color --help' ;;
    sessions) flags='-o --output --max-seq-len --records --url --api-key-env --json --help' ;;
    config) flags='--changed --sample --preview --no-resume --format --dry-run --prompt --prompt-file --system --embed --id --schema --max-tokens --temperature --delimiter --keep-truncated --cache --listen --data-dir --api-keys --set --load --memory --keep-loaded --unload-idle-s --load-wait-s --tokenizer --max-batches --max-batch-rows --mixed-models --max-file-mb --max-files-mb --memory-model --memory-embed --memory-set --insecure-no-keys --tls-cert --tls-key --cors-origin --max-body-mb --keep-items-mb --max-queue --refusal-patience --max-linger-us --metrics-open --log --log-prompts --session-upstream --session-history --session-match --session-attempts --session-orphans --session-rows --session-new-rows --session-routed-experts --session-indexer-topk --session-moe-layers --sessions-max --session-idle-s --session-mb-max --sessions-mb-max --session-turns-max --session-body-mb --session-reply-mb --unknown-fields --call-reasoning --no-dedupe --limit --retry-failed --fresh --model --upstream --api-key-env --report --strict --max-failures --ctx --kv-type --flash-attn --kv-cache --no-share --device --gpu-layers --split-mode --tensor-split --rpc --threads --chat-template --lora --pooling --model-alias --concurrency --serial --rpm --tpm --max-cost --prices --request-timeout --max-attempts --no-batching --max-batch-size --batch-window-ms --reply-memory-mb --self-check --program-memory-mb --program-instructions --program-seconds --program-tokens --program-contexts --program-branches --programs-in-flight --program-model --program-embed-model --max-tokens-default --schema-unknown --rows-max --batch-tokens --step-ms --ordered --grace --config --no-summary --json --quiet --color --no-color --help' ;;
    keys) flags='--rpm --tpm --in-flight --priority --weight --admin --json --help' ;;
    probe) flags='--upstream --model --api-key-env --in-flight --seconds-each --requests-each --max-tokens --prompt --input --json --help' ;;
    sim-upstream) flags='--listen --address --port --instant --stats --model --context --ollama --want-key --slots --serial --knee --queue --request-ms --prompt-token-us --token-ms --prefix-blocks --answer --answer-tokens --answer-spread --embedding-size --token-ids --end-token --weight-version --incremental-streaming --routing-layers --routing-topk --routing-experts --routing-drift --routing-twice --indexer-layers --indexer-topk --fault --limit-headers --rpm --tpm --seed --help' ;;
    rpc-worker) flags='--listen --device --threads --insecure-network --help' ;;
  esac
  case $before in
    --color)
      mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$word")
      return
      ;;
    --fault)
      mapfile -t COMPREPLY < <(compgen -W 'no-tokens logprob-count few-rows bad-base64' -- "$word")
      return
      ;;
    --flash-attn)
      mapfile -t COMPREPLY < <(compgen -W 'auto on off' -- "$word")
      return
      ;;
    --format)
      mapfile -t COMPREPLY < <(compgen -W 'jsonl csv tsv json' -- "$word")
      return
      ;;
    --kv-cache)
      mapfile -t COMPREPLY < <(compgen -W 'unified split' -- "$word")
      return
      ;;
    --kv-type)
      mapfile -t COMPREPLY < <(compgen -W 'f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0' -- "$word")
      return
      ;;
    --priority)
      mapfile -t COMPREPLY < <(compgen -W 'interactive normal batch' -- "$word")
      return
      ;;
    --schema-unknown)
      mapfile -t COMPREPLY < <(compgen -W 'annotate refuse' -- "$word")
      return
      ;;
    --session-history)
      mapfile -t COMPREPLY < <(compgen -W 'linear tree' -- "$word")
      return
      ;;
    --session-match)
      mapfile -t COMPREPLY < <(compgen -W 'strict loose_tool_call role_content_only' -- "$word")
      return
      ;;
    --session-orphans)
      mapfile -t COMPREPLY < <(compgen -W 'stop commit' -- "$word")
      return
      ;;
    --session-rows)
      mapfile -t COMPREPLY < <(compgen -W 'first last' -- "$word")
      return
      ;;
    --session-upstream)
      mapfile -t COMPREPLY < <(compgen -W 'auto sglang sglang-chat vllm' -- "$word")
      return
      ;;
    --split-mode)
      mapfile -t COMPREPLY < <(compgen -W 'layer row none' -- "$word")
      return
      ;;
    --unknown-fields)
      mapfile -t COMPREPLY < <(compgen -W 'refuse ignore' -- "$word")
      return
      ;;
    --api-keys | --cache | --chat-template | --config | --data-dir | --embed | --input | --key | --log | --lora | --model | --output | --prices | --prompt-file | --report | --schema | --tls-cert | --tls-key | --tokenizer | --trace | -o)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "${word#*=}")
      return
      ;;
    --address | --answer | --answer-spread | --answer-tokens | --api-key-env | --arg | --batch-tokens | --batch-window-ms | --call-reasoning | --concurrency | --context | --cors-origin | --ctx | --delimiter | --device | --embedding-size | --end-token | --examples | --gpu-layers | --grace | --id | --in-flight | --indexer-layers | --indexer-topk | --keep-items-mb | --keep-loaded | --knee | --limit | --limit-headers | --listen | --load | --load-wait-s | --max-attempts | --max-batch-rows | --max-batch-size | --max-batches | --max-body-mb | --max-cost | --max-failures | --max-file-mb | --max-files-mb | --max-linger-us | --max-queue | --max-seq-len | --max-tokens | --max-tokens-default | --memory | --memory-embed | --memory-model | --memory-set | --model-alias | --only | --pooling | --port | --prefix-blocks | --preview | --program-branches | --program-contexts | --program-embed-model | --program-instructions | --program-memory-mb | --program-model | --program-seconds | --program-tokens | --programs-in-flight | --prompt | --prompt-token-us | --queue | --refusal-patience | --reply-memory-mb | --request-ms | --request-timeout | --requests-each | --routing-experts | --routing-layers | --routing-topk | --rows-max | --rpc | --rpm | --sample | --seconds-each | --seed | --session-attempts | --session-body-mb | --session-idle-s | --session-mb-max | --session-moe-layers | --session-reply-mb | --session-turns-max | --sessions-max | --sessions-mb-max | --set | --slots | --step-ms | --system | --tag | --temperature | --tensor-split | --threads | --token-ids | --token-ms | --tpm | --unload-idle-s | --upstream | --url | --want-key | --weight | --weight-version) return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    return
  fi
  case ${COMP_WORDS[1]} in
    serve | ps | chat | doctor | sessions | config | probe | sim-upstream | rpc-worker) ;;
    *)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
  esac
}

complete -F _windrow windrow
