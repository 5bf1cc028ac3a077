"""From tasks and a learner to a plan: pilot, similarity, rehearsal, choice, confidence, warnings."""
