"""Names of checks that the process of `check` and its parent know, and words for their failures."""

# the check after whose failure no other makes sense
STOPPING = "callbacks write all of their rows, and nothing else"
# the check after which an environment should get a check_state, and the words that say so
FORGED = "forged snapshots are refused or do no harm"
ADD_CHECK = ". Add check_state, which refuses states that no environment can have"
