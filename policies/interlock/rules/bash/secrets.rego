package interlock.rules

# METADATA
# title: Secrets in commands
# description: Commands are given no file that holds secrets; the settings of the class `file` say which these are.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "deny",
	"code": "secret_path",
	"message": sprintf("names a file that may hold secrets: %s", [shown(bash_secrets)]),
	"rule": "bash/secrets",
} if {
	bash_call
	count(bash_secrets) > 0
}

bash_secrets contains object.get(path, "given", "a file") if {
	some path in bash_facts.paths
	is_string(path.normalised)
	segments := split(lower(path.normalised), "/")
	file_secret(segments[count(segments) - 1], segments)
}
