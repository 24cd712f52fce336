#!/bin/sh
# Candidates for the next word of a command line, for the completion of all shells: one per line, a tab, and its description. A line
# "@file" stands for files. Everything comes from the --help of the program, so a new option is known at once.
#   complete.sh PROGRAM WORD...      the words in front of the cursor, but for the one that is being typed
program=$1
shift
command=
case $program in
  splitnic | */splitnic)
    for word in "$@"; do
      case $word in -*) continue ;; esac
      if [ -z "$command" ]; then
        command=$word
        continue
      fi
      # A command may have commands, such as "capture start".
      "$program" "$command" --help 2>/dev/null | awk -v word="$word" '
        /^[A-Z].*:$/ { section = $1 }
        section == "Subcommands:" && /^  [^ ]/ && $1 == word { found = 1 }
        END { exit !found }' && command="$command $word"
      break
    done
    ;;
esac
words=$(printf '%s\n' "$@")
# shellcheck disable=SC2086  # no command is no word, and two are two
"$program" $command --help 2>/dev/null | awk -v words="$words" -v command="$command" '
  # Prints the words of "mode: rdma or send (default rdma)"; returns how many there are.
  function values(text, list, n, i) {
    sub(/ *\(.*/, "", text)
    sub(/.*: /, "", text)
    gsub(/,? or /, ", ", text)
    n = split(text, list, /, /)
    for (i = 1; i <= n; ++i) if (list[i] !~ /^[a-z]+$/) return 0
    for (i = 1; n > 1 && i <= n; ++i) print list[i]
    return n > 1
  }
  function value_of(option, list, n, i) {
    if (index(type[option], "|") == 0) {
      if (!values(text[option])) print "@" type[option]
      return
    }
    n = split(type[option], list, "|")
    for (i = 1; i <= n; ++i) if (list[i] ~ /^[a-z]/) print list[i]
  }
  /^[A-Z].*:$/ { section = $1; next }
  !/^  [^ ]/ { next }
  {
    line = substr($0, 3)
    at = match(line, /  +/)
    if (at == 0) at = length(line) + 1
    about = substr(line, at)
    sub(/^ +/, "", about)
    split(substr(line, 1, at - 1), left, " ")
    name = left[1]
    if (section == "Subcommands:") { commands[++command_count] = name; text[name] = about; next }
    if (section == "Positionals:") { positional[++positional_count] = about; next }
    sub(/^-[a-z],/, "", name)
    options[++option_count] = name
    text[name] = about
    type[name] = left[2]
  }
  END {
    count = split(words, given, "\n")
    named_count = split(command, named, " ")
    expected = ""
    at = 1
    for (i = 1; i <= count; ++i) {
      if (expected != "") expected = ""
      else if (given[i] in type) expected = type[given[i]] == "" ? "" : given[i]
      else if (given[i] !~ /^-/ && given[i] != "" && !(skipped < named_count && given[i] == named[skipped + 1] && ++skipped)) ++at
    }
    if (expected != "") { value_of(expected); exit }
    for (i = 1; i <= command_count; ++i) print commands[i] "\t" text[commands[i]]
    if (at <= positional_count && !values(positional[at])) print "@" positional[at]
    for (i = 1; i <= option_count; ++i) print options[i] "\t" text[options[i]]
  }' | while IFS= read -r line; do
  case $line in
    @IF | @PORT | @NAME | @The\ interface*) ls /sys/class/net ;;
    @NODE | @Its\ --name*)
      for socket in /run/splitnic/*.sock; do
        name=${socket##*/}
        [ ! -S "$socket" ] || echo "${name%.sock}"
      done
      ;;
    @FILE | @F.pcapng | @PATH | @File*) echo @file ;;
    @*) ;;
    *) printf '%s\n' "$line" ;;
  esac
done
