"""small_step"""
