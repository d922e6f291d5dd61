"""An Analysis of Categorical Biases in Word Embeddings; Caliskan et al. (2017), Science 356."""
