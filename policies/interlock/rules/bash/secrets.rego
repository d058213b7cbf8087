package interlock.rules.bash

# METADATA
# title: Secrets in commands
# description: |
#   Commands are given no file that holds secrets, by its name or by a pattern that stands for it, whether or not the
#   gateway sees such a file. The settings of the class `file` say which these are.
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
	secret_path(list, path)
	not only_named(path)
}

secrets contains sprintf("%s, which %s stands for", [match, object.get(path, "given", "a pattern")]) if {
	list := data.interlock.settings.file
	some path in script.paths
	path.glob
	some match in matched_secrets(list, path)
	not shows_names(path)
}

secrets contains word if some word in secret_words

# Nobody sees a file there; that it is listed or asked about shows nothing of it.
only_named(path) if {
	not placed(path)
	shows_names(path)
}

# Words that are named like files with secrets, whether or not the gateway sees such a file.
secret_words contains operand if {
	list := data.interlock.settings.file
	some command in script.commands
	not names_only(command)
	some index, operand in command.operands
	secret_text(list, operand)
	not searched_for(command, index)
}

secret_words contains word if {
	list := data.interlock.settings.file
	some command in script.commands
	some word in command.argv
	long_option(word)
	secret_text(list, option_value(word))
	not regex.match(`^--exclude(-dir)?=`, word)
}

# Seen at once in most scripts: no option is long enough to name a file, and no operand, as it stands, is named like a
# secret. One with a colon would be read in another way.
no_secret_words if {
	count(secret_operands) == 0
	every command in script.commands {
		every word in command.argv {
			not long_option(word)
		}
		every operand in command.operands {
			is_string(operand)
			not contains(operand, ":")
		}
	}
} else if {
	count(secret_words) == 0
}

long_option(word) if {
	is_string(word)
	startswith(word, "-")
	count(word) > 4
}

# What a search looks for is no file.
searched_for(command, 0) if command.name in {"egrep", "fgrep", "grep", "rg"}

option_value(word) := substring(word, indexof(word, "=") + 1, -1) if contains(word, "=")

else := substring(word, 2, -1)
