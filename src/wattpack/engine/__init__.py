"""What HAPPENS: the state, the decision in six steps, the arrival run. The only room that changes state."""
