update lake_state set erasures = erasures + 1
