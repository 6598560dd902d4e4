"""spiked_features"""
