# Completion of fish. What it offers is printed by proctor itself. What proctor has no words for is completed as files.
function __proctor_offers
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    set -l offers ($program manual complete -- $words[2..-1] "$current" 2>/dev/null)
    if set -q offers[1]
        printf '%s\n' $offers
    else
        __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
    end
end
complete -c proctor -f -a '(__proctor_offers)'
