"""Records key words and bits of JAX's generators. Run with a real JAX:

    python tests/recorded/record_random.py tests/recorded/random_streams.json
"""

import importlib
import json
import sys

# The system under observation; nothing in the project imports it.
jax = importlib.import_module("jax")
random = importlib.import_module("jax.random")


def words(keys) -> list:
    return random.key_data(keys).tolist()


def streams(impl: str) -> dict:
    key = random.key(42, impl=impl)
    three = random.split(key, 3)
    each = jax.vmap
    return {
        "key": words(key),
        "seeds": {str(s): words(random.key(s, impl=impl)) for s in (0, -1, 2**33 + 5)},
        "split": words(random.split(key, (2, 3))),
        "fold_in": words(random.fold_in(key, 7)),
        "bits": {w: random.bits(key, (2, 3), f"uint{w}").tolist() for w in (8, 16, 32, 64)},
        "three": words(three),
        "split_each": words(each(lambda k: random.split(k, 2))(three)),
        "fold_in_each": words(each(random.fold_in)(three, jax.numpy.arange(3))),
        "bits_each": each(lambda k: random.bits(k, (2,), "uint32"))(three).tolist(),
    }


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    found = {tag: streams(impl) for tag, impl in
             (("fry", "threefry2x32"), ("rbg", "rbg"), ("urbg", "unsafe_rbg"))}
    with open(sys.argv[1], "w") as file:
        json.dump({"jax": jax.__version__, **found}, file)
        file.write("\n")
