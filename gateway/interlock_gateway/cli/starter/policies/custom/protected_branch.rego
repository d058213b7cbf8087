package interlock.custom

# METADATA
# title: Protected branches
# description: |
#   An example to replace by your own: a push is denied unless it names a branch, and one that is not protected. What is
#   allowed is spelled out and denied otherwise, so that an input without a branch is denied too.
findings contains {
	"verdict": "deny",
	"code": "protected_branch",
	"message": "name a branch that is not protected; changes to main and release go through review",
	"rule": "custom/protected_branch",
} if {
	input.tool.name == "git_push"
	not pushes_elsewhere
}

pushes_elsewhere if {
	branch := input.call.input.branch
	not branch in {"main", "release"}
}
