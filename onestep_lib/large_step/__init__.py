"""large_step"""
