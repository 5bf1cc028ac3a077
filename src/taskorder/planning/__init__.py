"""From tasks and a learner to a plan: pilot or race, retention, the law as measured, choice, confidence, warnings."""
