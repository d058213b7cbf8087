package interlock.rules

# The rules of a permission class are a package of their own, which is looked at only for calls of that class: its tool
# says so, or its facts do.
findings contains finding if {
	not classless
	some finding in class_findings
}

class_findings contains finding if {
	input.tool.metadata.permission_class == "bash"
	some finding in data.interlock.rules.bash.findings
}

class_findings contains finding if {
	input.tool.metadata.permission_class == "file"
	some finding in data.interlock.rules.file.findings
}

class_findings contains finding if {
	input.tool.metadata.permission_class == "webfetch"
	some finding in data.interlock.rules.webfetch.findings
}

class_findings contains finding if {
	input.tool.metadata.permission_class == "sql"
	some finding in data.interlock.rules.sql.findings
}

# Facts of another class than the tool's.
class_findings contains finding if {
	not usually_declared
	some finding in facts_findings
}

facts_findings contains finding if {
	input.call.facts.class == "bash"
	some finding in data.interlock.rules.bash.findings
}

facts_findings contains finding if {
	input.call.facts.class == "file"
	some finding in data.interlock.rules.file.findings
}

facts_findings contains finding if {
	input.call.facts.class == "webfetch"
	some finding in data.interlock.rules.webfetch.findings
}

facts_findings contains finding if {
	input.call.facts.class == "sql"
	some finding in data.interlock.rules.sql.findings
}

# Said in one place, so that most calls need not be compared with every class.
classless if {
	input.tool.metadata.permission_class == ""
	input.call.facts.class == ""
}

of_class(class) if {
	input.tool.metadata.permission_class == class
} else if {
	input.call.facts.class == class
}

# Values as a person would recognise them, not more than a few.
shown(values) := concat(", ", array.slice(sort(values), 0, 5))
