package interlock.rules

# METADATA
# title: Facts are missing
# description: |
#   A person decides about a call of a permission class whose facts could not be extracted. The classes `bash`,
#   `file`, `webfetch` and `sql` refuse it by rules of their own.
# custom:
#   requirements: [PIPE-5, POL-3]
declared_findings contains {
	"verdict": "checkpoint",
	"code": "facts_missing",
	"message": "what the call would do could not be told from its input",
	"rule": "facts/missing",
} if {
	not facts_known
	not facts_needless
}

facts_known if {
	input.call.facts.extracted == true
	input.call.facts.class == object.get(input.tool.metadata, "permission_class", "")
}

# Classes that decide by what the tool declares.
facts_needless if input.tool.metadata.permission_class in data.interlock.settings.facts.needless_classes
