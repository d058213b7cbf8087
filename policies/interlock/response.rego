package interlock

# METADATA
# title: What a gateway asks an OPA server
# description: |
#   The decision and the policy that it comes from, in one evaluation. Read where OPA loads the policies as a bundle,
#   whose data says what it is; a gateway that evaluates policies itself knows, and reads the decision alone.
# entrypoint: true
# custom:
#   requirements: [ENG-1]
response := {
	"decision": decision,
	"policy": {
		"revision": data.interlock.revision,
		"profile": data.interlock.profile,
		"enforced": data.interlock.enforced,
	},
}
