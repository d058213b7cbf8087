package interlock.rules.file

# METADATA
# title: Secrets
# description: |
#   Files that may hold secrets are neither read nor written, nor looked for by their names. The settings say which these
#   are.
# custom:
#   requirements: [POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "secret_path",
	"message": sprintf("may hold secrets: %s", [data.interlock.rules.shown(secrets)]),
	"rule": "file/secret",
} if {
	count(secrets) > 0
}

secrets contains object.get(argument, "given", "a file") if {
	list := data.interlock.settings.file
	some argument in paths.arguments
	names_secret(list, argument)
}

secrets contains object.get(pattern, "given", "a pattern") if {
	list := data.interlock.settings.file
	some pattern in paths.patterns
	aims_at_secret(list, pattern)
}

names_secret(list, argument) if {
	segments := [lower(segment) | some segment in argument.segments]
	secret(list, lower(argument.name), segments)
} else if {
	not argument.given_name == argument.name
	segments := [lower(segment) | some segment in argument.segments]
	secret(list, lower(argument.given_name), segments)
} else if {
	not argument.symlink == false
	secret(list, lower(argument.given_name), split(lower(argument.given), "/"))
}
