# SPDX-License-Identifier: Apache-2.0
# Completion of onnxsurg for fish. `candidates` prints what is possible.
function __onnxsurg_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -lx ONNXSURG $words[1]
    for line in (@CANDIDATES@ $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :folders
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c onnxsurg -f -a '(__onnxsurg_candidates)'
