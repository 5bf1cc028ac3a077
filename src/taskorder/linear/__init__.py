"""The linear teacher-student model: sample tasks, train on them one after another, watch every error."""
