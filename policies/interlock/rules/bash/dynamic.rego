package interlock.rules

# METADATA
# title: Commands known only at run time
# description: |
#   What is run must be written down. A program named by a variable, a script made of expansions, a sourced file that
#   is not known, and characters that nobody sees are refused.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
findings contains {
	"verdict": "deny",
	"code": "bash_dynamic",
	"message": "what the command runs is only known at run time; write the program and its script out",
	"rule": "bash/dynamic",
} if {
	bash_facts
	not bash_written_out
}

bash_written_out if {
	bash_facts.dynamic_name == false
	not bash_denied_hazard
	not bash_unknown_script
}

bash_denied_hazard if {
	some hazard in bash_facts.hazards
	hazard in data.interlock.settings.bash.denied_hazards
}

bash_unknown_script if {
	some command in bash_facts.commands
	command.interprets.source in {"file", "unknown"}
	not is_string(object.get(command.interprets, "script", null))
}
