"""Variational autoencoder for insurance-claim screening (hand-written loop).

Claims with a high negative ELBO go to a human. The KL weight is annealed with a
cosine over the whole run, which avoids posterior collapse on this data.
"""
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import math
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf
from keras import layers


@dataclass
class Config:
    n_claims: int = 24_000
    n_features: int = 48
    latent: int = 8
    hidden: int = 96
    batch_size: int = 256
    epochs: int = max(1, round(40 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    lr: float = 1e-3
    beta_max: float = 0.8
    seed: int = 17


def make_claims(cfg):
    rng = np.random.default_rng(cfg.seed)
    z = rng.normal(size=(cfg.n_claims, cfg.latent))
    w = rng.normal(size=(cfg.latent, cfg.n_features)) / math.sqrt(cfg.latent)
    x = np.tanh(z @ w) + 0.15 * rng.normal(size=(cfg.n_claims, cfg.n_features))
    return x.astype("float32")


def build_encoder(cfg):
    inp = keras.Input((cfg.n_features,))
    h = layers.Dense(cfg.hidden, activation="gelu")(inp)
    h = layers.Dense(cfg.hidden, activation="gelu")(h)
    mu = layers.Dense(cfg.latent, name="mu")(h)
    logvar = layers.Dense(cfg.latent, name="logvar")(h)
    return keras.Model(inp, [mu, logvar], name="encoder")


def build_decoder(cfg):
    inp = keras.Input((cfg.latent,))
    h = layers.Dense(cfg.hidden, activation="gelu")(inp)
    h = layers.Dense(cfg.hidden, activation="gelu")(h)
    return keras.Model(inp, layers.Dense(cfg.n_features)(h), name="decoder")


class ClaimVAE:
    def __init__(self, cfg):
        self.cfg = cfg
        self.encoder = build_encoder(cfg)
        self.decoder = build_decoder(cfg)
        self.variables = (
            self.encoder.trainable_variables + self.decoder.trainable_variables
        )
        self.optimizer = keras.optimizers.Adam(cfg.lr)
        self.optimizer.build(self.variables)

    @tf.function
    def train_step(self, x, beta):
        with tf.GradientTape() as tape:
            mu, logvar = self.encoder(x, training=True)
            eps = tf.random.normal(tf.shape(mu))
            z = mu + tf.exp(0.5 * logvar) * eps
            recon = self.decoder(z, training=True)
            rec_loss = tf.reduce_mean(tf.reduce_sum(tf.square(recon - x), axis=-1))
            kl = -0.5 * tf.reduce_sum(1.0 + logvar - tf.square(mu) - tf.exp(logvar), axis=-1)
            kl_loss = tf.reduce_mean(kl)
            loss = rec_loss + beta * kl_loss
        grads = tape.gradient(loss, self.variables)
        self.optimizer.apply(grads, self.variables)
        return rec_loss, kl_loss


def kl_weight(cfg, step, total_steps):
    return cfg.beta_max * 0.5 * (1.0 - math.cos(math.pi * step / total_steps))


def train(cfg):
    keras.utils.set_random_seed(cfg.seed)
    claims = make_claims(cfg)
    vae = ClaimVAE(cfg)
    rng = np.random.default_rng(cfg.seed + 1)
    steps_per_epoch = len(claims) // cfg.batch_size
    total_steps = steps_per_epoch * cfg.epochs

    step = 0
    for epoch in range(cfg.epochs):
        order = rng.permutation(len(claims))
        for i in range(steps_per_epoch):
            rows = order[i * cfg.batch_size : (i + 1) * cfg.batch_size]
            x = tf.convert_to_tensor(claims[rows])
            beta = kl_weight(cfg, step, total_steps)
            rec, kl = vae.train_step(x, beta)
            if step % 50 == 0:
                print(
                    f"epoch {epoch:2d} step {step:5d} beta {beta:.4f} "
                    f"rec {float(rec):.3f} kl {float(kl):.3f}",
                    flush=True,
                )
            step += 1
    return vae


if __name__ == "__main__":
    train(Config())
