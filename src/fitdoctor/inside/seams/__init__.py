"""Every touch of Keras, TensorFlow, JAX, torch, grain and h5py that is not public."""
