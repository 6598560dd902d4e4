"""no_step"""
