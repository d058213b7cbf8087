package interlock.rules.bash

# METADATA
# title: Commands known only at run time
# description: |
#   What is run must be written down. A program named by a variable, a script made of expansions, a sourced file that
#   is not known, and characters that nobody sees are refused.
# custom:
#   requirements: [PIPE-5, POL-3, POL-4]
hazard_findings contains {
	"verdict": "deny",
	"code": "bash_dynamic",
	"message": "what the command runs is only known at run time; write the program and its script out",
	"rule": "bash/dynamic",
} if {
	script
	not written_out
}

written_out if {
	script.dynamic_name == false
	not denied_hazard
	not unknown_script
}

denied_hazard if {
	some hazard in script.hazards
	hazard in data.interlock.settings.bash.denied_hazards
}

unknown_script if {
	some command in script.commands
	command.interprets.source in {"file", "unknown"}
	not script_is_read(command)
}

script_is_read(command) if is_string(command.interprets.script)
