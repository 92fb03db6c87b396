import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import time
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


@dataclass
class HParams:
    side: int = 16
    noise: int = 32
    width: int = 192
    batch: int = 64
    epochs: int = max(1, round(10 * SCALE))
    g_lr: float = 2e-4
    d_lr: float = 2e-4
    n_critic: int = 2
    debug: bool = False


hp = HParams()
tf.config.run_functions_eagerly(hp.debug)
keras.utils.set_random_seed(77)


def sprites(n, side, seed=0):
    """Left-right symmetric little monsters."""
    rng = np.random.default_rng(seed)
    half = rng.random((n, side, side // 2)) < np.linspace(0.15, 0.75, side // 2)
    full = np.concatenate([half, half[:, :, ::-1]], axis=2)
    return (full.astype("float32") * 2 - 1).reshape(n, -1)


def generator():
    m = keras.Sequential([keras.Input((hp.noise,))], name="generator")
    for k in (1, 2, 2):
        m.add(layers.Dense(hp.width * k))
        m.add(layers.BatchNormalization())
        m.add(layers.LeakyReLU(0.2))
    m.add(layers.Dense(hp.side**2, activation="tanh"))
    return m


def critic():
    m = keras.Sequential([keras.Input((hp.side**2,))], name="critic")
    for k in (2, 2, 1):
        m.add(layers.Dense(hp.width * k))
        m.add(layers.LayerNormalization())
        m.add(layers.LeakyReLU(0.2))
    m.add(layers.Dense(1))
    return m


class WGAN:
    def __init__(self):
        self.G, self.D = generator(), critic()
        self.g_opt = keras.optimizers.Adam(hp.g_lr, beta_1=0.5)
        self.d_opt = keras.optimizers.Adam(hp.d_lr, beta_1=0.5)

    @tf.function
    def critic_step(self, real):
        n = tf.shape(real)[0]
        fake = self.G(tf.random.normal((n, hp.noise)), training=True)
        with tf.GradientTape() as tape:
            mix = tf.random.uniform((n, 1))
            between = real * mix + fake * (1 - mix)
            with tf.GradientTape() as inner:
                inner.watch(between)
                d_between = self.D(between, training=True)
            g = inner.gradient(d_between, between)
            gp = tf.reduce_mean((tf.norm(g + 1e-8, axis=1) - 1) ** 2)
            loss = tf.reduce_mean(self.D(fake, training=True)) - tf.reduce_mean(self.D(real, training=True)) + 10 * gp
        v = self.D.trainable_variables
        self.d_opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss

    @tf.function
    def generator_step(self, n):
        with tf.GradientTape() as tape:
            fake = self.G(tf.random.normal((n, hp.noise)), training=True)
            loss = -tf.reduce_mean(self.D(fake, training=True))
        v = self.G.trainable_variables
        self.g_opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss


data = sprites(3200, hp.side)
ds = tf.data.Dataset.from_tensor_slices(data).shuffle(len(data)).batch(hp.batch, drop_remainder=True)
gan = WGAN()
for epoch in range(1, hp.epochs + 1):
    t0 = time.time()
    d_loss, g_loss = keras.metrics.Mean(), keras.metrics.Mean()
    for it, real in enumerate(ds):
        d_loss.update_state(gan.critic_step(real))
        if it % hp.n_critic == 0:
            g_loss.update_state(gan.generator_step(hp.batch))
    print(f"epoch {epoch:3d} | D {float(d_loss.result()):8.4f} | G {float(g_loss.result()):8.4f} | {time.time() - t0:5.2f}s", flush=True)
