package interlock.rules

# METADATA
# title: Reading is allowed
# description: A declared tool that only reads needs nobody's permission, unless its permission class has its own rules.
# custom:
#   requirements: [POL-4]
findings contains {
	"verdict": "allow",
	"code": "read_only",
	"message": "",
	"rule": "readonly/allow",
} if {
	read_only
	not owned
}
