#!/usr/bin/env bash
# Compares two runs and says so: outputs, the job's summary, and one comment on the pull request that is kept up to date.
# What comes from outside comes by the environment, and is never a part of a command.
set -euo pipefail
: "${OUT:?the folder for what is written}" "${BASELINE:?}" "${CANDIDATE:?}"
mkdir -p "$OUT"
rm -f "$OUT"/{result,brief}.json "$OUT"/{comment.md,junit.xml,page.html,words}

python -c 'import os, shlex; print("".join(f"{word}\0" for word in shlex.split(os.environ.get("ARGS", ""))), end="")' > "$OUT/words"
words=(compare)
while IFS= read -r -d '' word; do words+=("$word"); done < "$OUT/words"
rm "$OUT/words"
# Behind them, since the last of a repeated option counts: what is read below is written.
words+=("--format=json" "--output=$OUT/result.json" "--junit=$OUT/junit.xml")
add() { # a word for each line of a value, behind an option's name
  while IFS= read -r line; do
    [ -z "$line" ] || words+=("$1$line")
  done <<< "$2"
}
add --metric= "${METRIC:-}"
add --margin= "${MARGIN:-}"
add --cluster= "${CLUSTER:-}"
add --fail-on= "${FAIL_ON:-}"
[ "${PAGE:-true}" != true ] || words+=("--report=$OUT/page.html")
if [ -n "${DATA:-}" ]; then
  words+=("--baseline=$BASELINE" "--candidate=$CANDIDATE" --)
  add "" "$DATA"
else
  words+=(-- "$BASELINE" "$CANDIDATE")
fi

status=0
evalstats "${words[@]}" || status=$?
if [ -s "$OUT/result.json" ]; then
  evalstats show --format=brief "$OUT/result.json" > "$OUT/brief.json"
  evalstats show --format=comment "--comment-key=${KEY:-compare}" "$OUT/result.json" > "$OUT/comment.md"
else
  echo '{"verdict": "no answer"}' > "$OUT/brief.json"
  python -c 'import os; from evalstats.document.comment import marker; print(marker(os.environ.get("KEY") or "compare"))' > "$OUT/comment.md"
  printf '\n**No answer.** The comparison ended with status %s; the log of the job says why.\n' "$status" >> "$OUT/comment.md"
fi
run="${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY/actions/runs/${GITHUB_RUN_ID:-}"
printf '\n[Page and log](%s)\n' "$run" >> "$OUT/comment.md"
cat "$OUT/comment.md" >> "$GITHUB_STEP_SUMMARY"
python -c '
import json, sys
brief = json.load(open(sys.argv[1], encoding="utf-8"))
for name in ("verdict", "estimate", "low", "high", "p"):
    print(name, brief.get(name, ""), sep="=")
print("comment", sys.argv[2], sep="=")
' "$OUT/brief.json" "$OUT/comment.md" >> "$GITHUB_OUTPUT"

post() { # renew the comment that begins with the marker, or write the first one
  local issues="repos/$GITHUB_REPOSITORY/issues" id
  MARKER=$(head -n 1 "$OUT/comment.md")
  export MARKER
  # A stranger can write the marker, too: what is renewed is a bot's, or of someone who may write here.
  id=$(gh api --paginate "$issues/$PULL/comments?per_page=100" --jq '.[]
    | select(.body | startswith(env.MARKER))
    | select(.user.type == "Bot" or (.author_association | IN("OWNER", "MEMBER", "COLLABORATOR")))
    | .id') || return 1
  id=${id%%$'\n'*}
  if [ -n "$id" ]; then
    gh api --silent --method PATCH "$issues/comments/$id" -F "body=@$OUT/comment.md"
  else
    gh api --silent --method POST "$issues/$PULL/comments" -F "body=@$OUT/comment.md"
  fi
}
if [ "${COMMENT:-true}" = true ] && [ -n "${PULL:-}" ]; then
  post || echo "::notice title=evalstats::No comment was posted: a fork may not. The summary of the job has it."
fi
exit "$status"
