# SPDX-License-Identifier: Apache-2.0
# Completion of onnxsurg for bash. `candidates` prints what is possible.
_onnxsurg() {
  local current=${COMP_WORDS[COMP_CWORD]} word files=
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    case $word in
      :files) files=-f ;;
      :folders) files=-d ;;
      "$current"*) COMPREPLY+=("$word") ;;
    esac
  done < <(ONNXSURG=${COMP_WORDS[0]} @CANDIDATES@ "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" \
    2>/dev/null)
  if [ -n "$files" ]; then
    while IFS= read -r word; do
      [ -d "$word" ] && word=$word/
      COMPREPLY+=("$word")
    done < <(compgen $files -- "$current")
  fi
  case ${COMPREPLY[0]-} in */ | *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _onnxsurg onnxsurg
