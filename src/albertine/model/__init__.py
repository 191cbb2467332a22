"""Batches → states → logits."""
