"""People: who can be asked, what they are shown, and what they answer (CHK-1 to CHK-10)."""
