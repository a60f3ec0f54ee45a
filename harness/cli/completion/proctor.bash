# Completion of bash. What it offers is printed by proctor itself, and never expanded: an id may look like a command. What
# proctor has no words for, bash completes as files. The line is taken apart here: bash breaks its words at the colons
# of ids.
_proctor() {
  local line=${COMP_LINE:0:COMP_POINT} current word
  local -a all
  current=${line##*[[:space:]]}
  read -ra all <<< "${line%"$current"}"
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <("${all[0]/#\~/$HOME}" manual complete -- "${all[@]:1}" "$current" 2> /dev/null)
  if [[ $current == *[:=]* && $COMP_WORDBREAKS == *:* ]]; then # bash replaces only what follows the last of them
    word=${current%"${current##*[:=]}"}
    COMPREPLY=("${COMPREPLY[@]#"$word"}")
  fi
}
complete -o default -F _proctor proctor
