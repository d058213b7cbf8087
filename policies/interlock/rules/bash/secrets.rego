package interlock.rules.bash

# METADATA
# title: Secrets in commands
# description: Commands are given no file that holds secrets; the settings of the class `file` say which these are.
# custom:
#   requirements: [POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "secret_path",
	"message": sprintf("names a file that may hold secrets: %s", [data.interlock.rules.shown(secrets)]),
	"rule": "bash/secrets",
} if {
	count(secrets) > 0
}

secrets contains object.get(path, "given", "a file") if {
	list := data.interlock.settings.file
	some path in script.paths
	is_string(path.normalised)
	secret_path(list, path)
}
