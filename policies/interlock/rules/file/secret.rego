package interlock.rules

# METADATA
# title: Secrets
# description: Files that may hold secrets are neither read nor written. The settings say which these are.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "secret_path",
	"message": sprintf("may hold secrets: %s", [shown(file_secrets)]),
	"rule": "file/secret",
} if {
	file_call
	count(file_secrets) > 0
}

file_secrets contains object.get(argument, "given", "a file") if {
	some argument in file_facts.arguments
	segments := [lower(segment) | some segment in argument.segments]
	some name in file_names(argument)
	file_secret(name, segments)
}
