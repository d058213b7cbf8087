package interlock.rules

# METADATA
# title: Apply what was previewed
# description: What was previewed may be applied, unless another rule objects.
# custom:
#   requirements: [PREV-6]
declared_findings contains {
	"verdict": "allow",
	"code": "previewed",
	"message": "",
	"rule": "preview/applied",
} if {
	applying
	previewable
}
