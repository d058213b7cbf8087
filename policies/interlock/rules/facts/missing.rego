package interlock.rules

# METADATA
# title: Facts are missing
# description: |
#   A person decides about a call of a permission class whose facts could not be extracted. The classes `bash`,
#   `file`, `webfetch` and `sql` refuse it by rules of their own, and so is a call whose class is not told.
# custom:
#   requirements: [PIPE-5, POL-3]
declared_findings contains {
	"verdict": missing_verdict,
	"code": "facts_missing",
	"message": "what the call would do could not be told from its input",
	"rule": "facts/missing",
} if {
	not facts_known
	not facts_needless
}

# Of which class it is, is not told: it could be any, and some refuse it. A tool that declares nothing has none.
missing_verdict := "checkpoint" if is_string(input.tool.metadata.permission_class)

else := "checkpoint" if count(input.tool.metadata) == 0

else := "deny"

facts_known if {
	input.call.facts.extracted == true
	input.call.facts.class == object.get(input.tool.metadata, "permission_class", "")
}

# Classes that decide by what the tool declares.
facts_needless if {
	input.tool.metadata.permission_class in data.interlock.settings.facts.needless_classes
} else if {
	class := input.tool.metadata.permission_class
	not class in {"bash", "file", "webfetch", "sql"}
	data.interlock.settings.facts.own_classes[class]
}
