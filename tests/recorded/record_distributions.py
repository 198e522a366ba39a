"""Record the first draws of the distributions that users expect, and their dtypes and shapes.

Run with an interpreter that has the library of reference:

    python tests/recorded/record_distributions.py LIBRARY > tests/recorded/distributions.json
"""

import importlib
import json
import sys

import numpy as np
from jaxlib.version import __version__ as JAXLIB_VERSION

OF_ALL = (3,) if JAXLIB_VERSION.startswith("0.10.") else ()
"""What a shape of `multinomial` has at its end: JAX 0.10 counts the categories in."""

KEPT = 10
"""So many elements of each are recorded."""
CASES = {
    **{f"{name} {d}": f"R.{name}(k,{given}(40,),{d!r})" for name, given in (
           ("cauchy", ""), ("laplace", ""), ("logistic", ""), ("maxwell", ""),
           ("lognormal", "1.5,"), ("pareto", "2.5,"), ("rayleigh", "2.,"),
           ("weibull_min", "2.,1.5,"), ("triangular", "1.,2.,5.,"))
       for d in ("float32", *(("float16", "bfloat16") if name in ("cauchy", "logistic") else ()))},
    **{f"uniform {d}": f"R.uniform(k,(40,),{d!r}{bounds})"
       for d, bounds in (("float8_e3m4", ""), ("float8_e4m3", ""), ("float8_e4m3fn", ",-2,3"),
                         ("float8_e4m3b11fnuz", ""), ("float8_e5m2", ""), ("float8_e5m2fnuz", ""))},
    "wald": "R.wald(k,1.7,(40,),'float32')",
    "double_sided_maxwell": "R.double_sided_maxwell(k,1.,2.,(40,),'float32')",
    "double_sided_maxwell of arrays": "R.double_sided_maxwell(k,f(1,2,3),2.,(2,))",
    "gumbel high": "R.gumbel(k,(40,),'float32','high')",
    "bernoulli high": "R.bernoulli(k,jnp.asarray(.3,'float16'),(400,),'high')",
    "rademacher": "R.rademacher(k,(40,))",
    "rademacher uint8": "R.rademacher(k,(40,),'uint8')",
    "choice": "R.choice(k,ar,(6,))",
    "choice without": "R.choice(k,ar,(2,3),False)",
    "choice of int": "R.choice(k,10,(2,3),False)",
    "choice p": "R.choice(k,10,(20,),True,pp)",
    "choice p without": "R.choice(k,ar,(2,4),False,pp)",
    "choice p without, high": "R.choice(k,ar,(2,4),False,pp,mode='high')",
    "choice axis": "R.choice(k,ar.reshape(2,5),(3,),True,axis=1)",
    "choice axis without": "R.choice(k,ar.reshape(2,5),(2,2),False,axis=-1)",
    "choice of keys": "R.key_data(R.choice(k,R.split(k,4),(3,)))",
    "permutation axis": "R.permutation(k,ar.reshape(2,5),1)",
    "permutation independent": "R.permutation(k,ar.reshape(2,5),1,True)",
    "categorical high": "R.categorical(k,lo2,mode='high')",
    "categorical axis": "R.categorical(k,lo2,0,(2,10))",
    "categorical of one": "R.categorical(k,lo2[:1],shape=(5,))",
    "categorical without": "R.categorical(k,lo2,shape=(4,3),replace=False)",
    "categorical without, axis": "R.categorical(k,lo2,axis=0,shape=(3,10),replace=False)",
    "rbg": "R.normal(R.key(7,impl='rbg'),(5,))",
    "rbg permutation": "R.permutation(R.key(7,impl='rbg'),9)",
    "unsafe_rbg": "R.normal(R.key(7,impl='unsafe_rbg'),(5,))",
    "rbg raw": "R.PRNGKey(7,impl='rbg')",
    "least seed": "R.key_data(R.key(-2**63))",
    "gamma": "R.gamma(k,np.exp(np.linspace(-5,9,300)).astype('f4'))",
    "gamma small": "R.gamma(k,.3,(200,),'float32')",
    "gamma float16": "R.gamma(k,.3,(200,),'float16')",
    "gamma bfloat16": "R.gamma(k,2.5,(200,),'bfloat16')",
    "loggamma": "R.loggamma(k,np.exp(np.linspace(-7,9,300)).astype('f4'))",
    "gamma edges": "R.gamma(k,f(0,1e30,1e-30))",
    "beta": "R.beta(k,2.,.5,(60,),'float32')",
    "dirichlet": "R.dirichlet(k,np.ones((2,3),'f4'),(4,2))",
    "chisquare": "R.chisquare(k,3.,(60,),'float32')",
    "f": "R.f(k,3.,5.,(60,),'float32')",
    "t": "R.t(k,3.,(60,),'float32')",
    "generalized_normal": "R.generalized_normal(k,1.5,(60,),'float32')",
    "ball": "R.ball(k,3,1.5,(20,),'float32')",
    "poisson": "R.poisson(k,np.exp(np.linspace(-3,12,300)).astype('f4'))",
    "poisson edges": "R.poisson(k,f(-1,np.nan,0,1e12,1e-3))",
    "poisson int8": "R.poisson(k,120.,(20,),'int8')",
    "binomial": "R.binomial(k,np.exp(np.linspace(0,10,300)).astype('i4'),"
                "np.linspace(.01,.99,300).astype('f4'))",
    "binomial edges": "R.binomial(k,f(10,10,10,-1,10,10,np.nan,0,5,20,20),"
                      "f(0,1,-1,.5,2,np.nan,.5,.5,.5,.5,.50001))",
    "multinomial": "R.multinomial(k,np.array([50,60]),f(.2,.3,.5,.1,.1,.8).reshape(2,3),"
                   "shape=(4,2,*of_all))",
    "multinomial of weights": "R.multinomial(k,100,f(2,3,5,0,1),dtype='int32')",
    "geometric": "R.geometric(k,.3,(100,))",
    **{f"multivariate_normal {m}": f"R.multivariate_normal(k,mean,cov,(7,),'float32',{m!r})"
       for m in ("cholesky", "eigh", "svd")},
    "multivariate_normal batch": "R.multivariate_normal(k,np.ones((3,2),'f4'),np.stack([cov]*3),"
                                 "(4,3))",
    **{f"orthogonal {n} {m}": f"R.orthogonal(k,{n},(2,),m={m})"
       for n, m in ((3, None), (3, 2), (2, 3))},
    "orthogonal complex": "R.orthogonal(k,3,(2,),'complex64',m=2)",
    "vmap gamma": "lib.vmap(lambda k:R.gamma(k,2.))(R.split(k,5))",
    "vmap poisson": "lib.vmap(lambda k:R.poisson(k,20.,(3,)))(R.split(k,5))",
    "vmap binomial": "lib.vmap(lambda k:R.binomial(k,100,.3,(3,)))(R.split(k,5))",
}


def scope_of(lib):
    """What the code of the cases refers to."""
    def f(*numbers):
        return np.array(numbers, np.float32)

    p = np.arange(1, 11, dtype="f4") / 55
    logs = np.log(p)
    return {"lib": lib, "R": lib.random, "jnp": lib.numpy, "np": np, "f": f, "pp": p,
            "ar": np.arange(10), "lo2": np.stack([logs, logs[::-1], logs * 0]),
            "of_all": OF_ALL, "mean": f(1, 2), "cov": f(2, .5, .5, 1).reshape(2, 2)}


def described(value):
    """Dtype name, shape, and bytes of the first elements."""
    value = np.asarray(value)
    return [value.dtype.name, list(value.shape), value.ravel()[:KEPT].tobytes().hex()]


if __name__ == "__main__":
    lib = importlib.import_module(sys.argv[1])
    if len(sys.argv) > 2:                             # a folder for compiled programs
        lib.config.update("jax_compilation_cache_dir", sys.argv[2])
        lib.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        lib.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    scope = {**scope_of(lib), "k": lib.random.key(42)}
    json.dump({name: described(eval(code, scope)) for name, code in CASES.items()}, sys.stdout,
              indent=1)
    print()
