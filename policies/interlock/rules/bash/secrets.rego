package interlock.rules.bash

# METADATA
# title: Secrets in commands
# description: Commands are given no file that holds secrets; the settings of the class `file` say which these are.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "secret_path",
	"message": sprintf("names a file that may hold secrets: %s", [data.interlock.rules.shown(secrets)]),
	"rule": "bash/secrets",
} if {
	count(secrets) > 0
}

secrets contains object.get(path, "given", "a file") if {
	some path in script.paths
	is_string(path.normalised)
	segments := split(lower(path.normalised), "/")
	data.interlock.rules.file.secret(segments[count(segments) - 1], segments)
}
